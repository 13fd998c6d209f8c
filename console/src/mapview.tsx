// A map without a tile server: the world's land from world-atlas, drawn on a canvas with d3.
// Drag or the arrow keys move it, the wheel or + and - zoom. Ten thousand covers stay fluid:
// a circle is drawn in pixels, not as a polygon.
import { geoDistance, geoGraticule10, geoMercator, geoPath } from "d3-geo";
import { useEffect, useRef, useState } from "preact/compat";
import { feature } from "topojson-client";
import land110 from "world-atlas/land-110m.json";
import { compact } from "./format";
import { store } from "./store";
import { t } from "./texts";

// The coast: coarse at first, finer once a map has been near.
let land: any = feature(land110 as any, (land110 as any).objects.land);
let finer: Promise<unknown> | null = null;
const graticule = geoGraticule10();
const kmPerDegree = 111.195;

export interface Mark { id: string; latitude: number; longitude: number; radiusKm?: number; box?: [number, number, number, number]; tone?: string; label?: string; solid?: boolean; count?: number }
export interface View { latitude: number; longitude: number; zoom: number }

// The last view survives a change of page.
export const lastView = store<View>({ latitude: 18, longitude: 0, zoom: 1 });

interface Props { marks: readonly Mark[]; track?: readonly { latitude: number; longitude: number }[]; pin?: { latitude: number; longitude: number } | null; onPlace?: (at: { latitude: number; longitude: number }) => void; onPick?: (id: string) => void; onDrag?: (index: number, at: { latitude: number; longitude: number }) => void; view?: View; class?: string; legend?: readonly (readonly [string, string])[]; label: string; fit?: boolean; onArea?: (area: Area) => void }

// Area is what a map shows, and how fine its cells can be: 45 / 2^zoom degrees.
export interface Area { west: number; south: number; east: number; north: number; zoom: number }

export default function MapView({ marks, track, pin, onPlace, onPick, onDrag, view: given, class: more = "", legend, label, fit, onArea }: Props) {
	const canvas = useRef<HTMLCanvasElement>(null);
	const [view, setViewState] = useState<View>(given ?? lastView.get());
	const [size, setSize] = useState<[number, number]>([0, 0]);
	const fitted = useRef(false);
	const setView = (next: View) => {
		const kept = { latitude: Math.max(-80, Math.min(80, next.latitude)), longitude: ((next.longitude + 540) % 360) - 180, zoom: Math.max(1, Math.min(200, next.zoom)) };
		if (!given) lastView.set(kept);
		setViewState(kept);
	};
	const projection = geoMercator().rotate([-view.longitude, 0]).center([0, view.latitude]).scale((Math.max(size[0], 320) / (2 * Math.PI)) * view.zoom).translate([size[0] / 2, size[1] / 2]);
	useEffect(() => {
		const element = canvas.current!;
		const watch = new ResizeObserver(() => setSize([element.clientWidth, element.clientHeight]));
		watch.observe(element);
		return () => watch.disconnect();
	}, []);
	useEffect(() => {
		const points = pin ? [pin] : track?.length ? track : marks;
		if (!fit || fitted.current || points.length === 0 || size[0] === 0) return;
		fitted.current = true;
		setView(fitView(points));
	}, [marks, size, track]);
	const [scheme, setScheme] = useState(0);
	useEffect(() => {
		const dark = matchMedia("(prefers-color-scheme: dark)");
		const changed = () => setScheme((n) => n + 1);
		dark.addEventListener("change", changed);
		const theme = new MutationObserver(changed);
		theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
		return () => { dark.removeEventListener("change", changed); theme.disconnect(); };
	}, []);
	useEffect(() => {
		if (view.zoom < 3) return;
		finer ??= import("./land50").then((found) => { land = found.default; });
		let gone = false;
		void finer.then(() => { if (!gone) setScheme((n) => n + 1); });
		return () => { gone = true; };
	}, [view.zoom < 3]);
	useEffect(() => {
		const frame = requestAnimationFrame(() => canvas.current && draw(canvas.current, size, projection, marks, track, pin));
		return () => cancelAnimationFrame(frame);
	}, [marks, track, pin, view, size, scheme]);

	useEffect(() => {
		if (!onArea || size[0] === 0) return;
		const timer = setTimeout(() => {
			const half = (180 * size[0]) / (Math.max(size[0], 320) * view.zoom);
			const north = projection.invert!([size[0] / 2, 0])![1], south = projection.invert!([size[0] / 2, size[1]])![1];
			const wrap = (longitude: number) => ((longitude + 540) % 360) - 180;
			const [west, east] = half >= 179 ? [-180, 180] : [wrap(view.longitude - half), wrap(view.longitude + half)];
			const round = (n: number) => Number(n.toFixed(2));
			onArea({ west: round(west), east: round(east), south: Math.max(-90, round(south)), north: Math.min(90, round(north)), zoom: Math.max(0, Math.min(12, Math.floor(Math.log2((view.zoom * size[0]) / 360 / 1.1)))) });
		}, 200);
		return () => clearTimeout(timer);
	}, [view, size]);

	const at = (e: { clientX: number; clientY: number }): [number, number] => {
		const box = canvas.current!.getBoundingClientRect();
		return [e.clientX - box.left, e.clientY - box.top];
	};
	const invert = (xy: [number, number]) => {
		const [longitude, latitude] = projection.invert!(xy)!;
		return { latitude: Number(latitude.toFixed(4)), longitude: Number(longitude.toFixed(4)) };
	};
	const drag = useRef<{ from: [number, number]; view: View; moved: boolean; index: number } | null>(null);
	const down = (e: PointerEvent) => {
		canvas.current!.setPointerCapture(e.pointerId);
		const xy = at(e);
		const index = onDrag ? (track ?? (pin ? [pin] : [])).findIndex((p) => near(projection([p.longitude, p.latitude])!, xy, 14)) : -1;
		drag.current = { from: xy, view, moved: false, index };
	};
	const move = (e: PointerEvent) => {
		const d = drag.current;
		if (!d) return;
		const [x, y] = at(e);
		const [dx, dy] = [x - d.from[0], y - d.from[1]];
		if (Math.hypot(dx, dy) > 4) d.moved = true;
		if (!d.moved || d.index >= 0) return;
		const start = geoMercator().rotate([-d.view.longitude, 0]).center([0, d.view.latitude]).scale(projection.scale()).translate([size[0] / 2, size[1] / 2]);
		const [longitude, latitude] = start.invert!([size[0] / 2 - dx, size[1] / 2 - dy])!;
		setView({ ...d.view, longitude, latitude });
	};
	const up = (e: PointerEvent) => {
		const d = drag.current;
		drag.current = null;
		if (!d) return;
		const xy = at(e);
		if (d.index >= 0 && onDrag && d.moved) return onDrag(d.index, invert(xy));
		if (d.moved) return;
		if (onPick) {
			let best: Mark | undefined, least = Infinity;
			for (const mark of marks) {
				const p = projection([mark.longitude, mark.latitude]);
				if (!p) continue;
				const far = Math.hypot(p[0] - xy[0], p[1] - xy[1]), reach = mark.count ? 16 : Math.max(9, pixels(mark.radiusKm ?? 0, mark.latitude, projection.scale()));
				if (far < reach && far < least) [best, least] = [mark, far];
			}
			if (best) return onPick(best.id);
		}
		onPlace?.(invert(xy));
	};
	const key = (e: KeyboardEvent) => {
		const step = 40 / view.zoom;
		const next = { ArrowLeft: { longitude: view.longitude - step }, ArrowRight: { longitude: view.longitude + step }, ArrowUp: { latitude: view.latitude + step / 2 }, ArrowDown: { latitude: view.latitude - step / 2 }, "+": { zoom: view.zoom * 1.5 }, "=": { zoom: view.zoom * 1.5 }, "-": { zoom: view.zoom / 1.5 } }[e.key];
		if (e.key === "Enter" && onPlace) return onPlace({ latitude: Number(view.latitude.toFixed(4)), longitude: Number(view.longitude.toFixed(4)) });
		if (!next) return;
		e.preventDefault();
		setView({ ...view, ...next });
	};
	useEffect(() => {
		const element = canvas.current!;
		const wheel = (e: WheelEvent) => {
			if (!e.ctrlKey && document.activeElement !== element) return; // the page scrolls until the map was clicked
			e.preventDefault();
			setView({ ...view, zoom: view.zoom * Math.exp(-e.deltaY * 0.0015) });
		};
		element.addEventListener("wheel", wheel, { passive: false });
		return () => element.removeEventListener("wheel", wheel);
	});
	return (
		<div class={`map ${more}`}>
			<canvas ref={canvas} tabIndex={0} role="application" aria-label={`${label}. ${t.map.keys}`} class={onPlace ? "placing" : ""} onPointerDown={down} onPointerMove={move} onPointerUp={up} onPointerCancel={() => { drag.current = null; }} onKeyDown={key} />
			<div class="tools">
				<button type="button" aria-label={t.map.closer} onClick={() => setView({ ...view, zoom: view.zoom * 1.8 })}>+</button>
				<button type="button" aria-label={t.map.farther} onClick={() => setView({ ...view, zoom: view.zoom / 1.8 })}>−</button>
				<button type="button" aria-label={t.map.everything} onClick={() => setView(marks.length ? fitView(marks) : { latitude: 18, longitude: 0, zoom: 1 })}>⤢</button>
			</div>
			{legend && legend.length > 0 && <div class="key">{legend.map(([tone, text]) => <span key={text}><i class={`tone-${tone}`} />{text}</span>)}</div>}
		</div>
	);
}

const near = (a: [number, number], b: [number, number], within: number) => Math.hypot(a[0] - b[0], a[1] - b[1]) < within;
const pixels = (km: number, latitude: number, scale: number) => ((km / kmPerDegree) * (Math.PI / 180) * scale) / Math.max(0.17, Math.cos((latitude * Math.PI) / 180));

// fitView shows all points, around the densest of them when they are spread over the world.
export function fitView(points: readonly { latitude: number; longitude: number; radiusKm?: number }[]): View {
	const south = Math.min(...points.map((p) => p.latitude)), north = Math.max(...points.map((p) => p.latitude));
	const west = Math.min(...points.map((p) => p.longitude)), east = Math.max(...points.map((p) => p.longitude));
	const reach = Math.max(1.5, ...points.map((p) => (p.radiusKm ?? 0) / kmPerDegree)) * 2.4;
	const span = Math.max(east - west + reach, (north - south + reach) * 2.4);
	return { latitude: (south + north) / 2, longitude: (west + east) / 2, zoom: Math.max(1, Math.min(60, 340 / span)) };
}

function draw(canvas: HTMLCanvasElement, [width, height]: [number, number], projection: ReturnType<typeof geoMercator>, marks: readonly Mark[], track: Props["track"], pin: Props["pin"]) {
	const began = performance.now(), ratio = devicePixelRatio || 1;
	canvas.width = Math.round(width * ratio);
	canvas.height = Math.round(height * ratio);
	const pen = canvas.getContext("2d")!;
	const style = getComputedStyle(document.documentElement);
	const color = (name: string) => style.getPropertyValue(`--${name}`).trim();
	const tones: Record<string, string> = { accent: color("accent"), bad: color("bad"), warn: color("warn"), note: color("note"), good: color("good"), faint: color("faint") };
	pen.scale(ratio, ratio);
	pen.fillStyle = color("sea");
	pen.fillRect(0, 0, width, height);
	const path = geoPath(projection.clipExtent([[-50, -50], [width + 50, height + 50]]), pen);
	pen.beginPath(); path(graticule); pen.strokeStyle = color("line"); pen.lineWidth = 0.6; pen.stroke();
	pen.beginPath(); path(land); pen.fillStyle = color("land"); pen.fill();
	const scale = projection.scale(), card = color("card");
	pen.font = "600 11px system-ui, sans-serif"; pen.textAlign = "center"; pen.textBaseline = "middle";
	projection.clipExtent(null);
	for (const mark of marks) {
		const tone = tones[mark.tone ?? "accent"];
		pen.fillStyle = tone;
		pen.strokeStyle = tone;
		if (mark.box) {
			const [west, south, east, north] = mark.box;
			const a = projection([west, north]), b = projection([east, south]);
			if (!a || !b) continue;
			pen.globalAlpha = 0.16; pen.fillRect(a[0], a[1], b[0] - a[0], b[1] - a[1]);
			pen.globalAlpha = 0.9; pen.lineWidth = 1; pen.strokeRect(a[0], a[1], b[0] - a[0], b[1] - a[1]);
			continue;
		}
		const p = projection([mark.longitude, mark.latitude]);
		if (!p || p[0] < -400 || p[1] < -400 || p[0] > width + 400 || p[1] > height + 400) continue;
		if (mark.count) {
			const r = 7 + 3.2 * Math.log10(mark.count) ** 1.5;
			pen.globalAlpha = 0.82; pen.beginPath(); pen.arc(p[0], p[1], r, 0, 7); pen.fill();
			pen.globalAlpha = 1; pen.fillStyle = card; pen.fillText(compact(mark.count), p[0], p[1] + 0.5);
			continue;
		}
		const r = pixels(mark.radiusKm ?? 0, mark.latitude, scale);
		if (r > 4) {
			pen.beginPath(); pen.arc(p[0], p[1], r, 0, 7);
			pen.globalAlpha = 0.15; pen.fill(); pen.globalAlpha = 0.75; pen.lineWidth = 1; pen.stroke();
		}
		pen.globalAlpha = mark.solid ? 1 : 0.9;
		pen.beginPath(); pen.arc(p[0], p[1], mark.solid ? 6 : r > 4 ? 2 : 3.2, 0, 7); pen.fill();
		if (mark.solid) { pen.lineWidth = 1.5; pen.strokeStyle = color("card"); pen.stroke(); }
	}
	pen.globalAlpha = 1;
	if (track && track.length > 0) {
		pen.beginPath(); path({ type: "LineString", coordinates: track.map((p) => [p.longitude, p.latitude]) });
		pen.strokeStyle = tones.bad; pen.lineWidth = 2.5; pen.stroke();
		for (const fix of track) dot(pen, projection([fix.longitude, fix.latitude]), 6, tones.bad, color("card"));
	}
	if (pin) dot(pen, projection([pin.longitude, pin.latitude]), 7, tones.bad, color("card"));
	canvas.dataset.drawn = String(marks.length);
	canvas.dataset.milliseconds = String(performance.now() - began);
}

function dot(pen: CanvasRenderingContext2D, p: [number, number] | null, r: number, fill: string, edge: string) {
	if (!p) return;
	pen.beginPath(); pen.arc(p[0], p[1], r, 0, 7); pen.fillStyle = fill; pen.fill(); pen.lineWidth = 2; pen.strokeStyle = edge; pen.stroke();
}

export const kmBetween = (a: { latitude: number; longitude: number }, b: { latitude: number; longitude: number }) => geoDistance([a.longitude, a.latitude], [b.longitude, b.latitude]) * 6371.0088;
