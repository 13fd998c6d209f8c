// A chart of claims and payouts by day, with uPlot.
import { useEffect, useRef } from "preact/compat";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { minorDigits, money } from "./format";
import { t } from "./texts";

interface Point { from: string; claimsOpened: number; payoutsReleased: { amount: number; currency: string } }

export default function Chart({ points }: { points: readonly Point[] }) {
	const holder = useRef<HTMLDivElement>(null);
	useEffect(() => {
		const element = holder.current!;
		const color = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
		const currency = points[0]?.payoutsReleased.currency ?? "USD";
		const scale = 10 ** minorDigits(currency);
		const axis = { stroke: color("--faint"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
		const plot = new uPlot({
			width: element.clientWidth, height: 210, padding: [12, 8, 0, 0], cursor: { y: false },
			scales: { count: { range: (_u, _min, max) => [0, Math.max(4, max)] }, money: { range: (_u, _min, max) => [0, Math.max(1, max) * 1.1] } },
			axes: [axis, { ...axis, scale: "count", size: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 1000, 10000] }, { ...axis, scale: "money", side: 1, size: 72, grid: { show: false }, values: (_u, all) => all.map((v) => new Intl.NumberFormat("en-GB", { notation: "compact" }).format(v)) }],
			series: [
				{ value: "{YYYY}-{MM}-{DD}" },
				{ label: t.home.claimsOpened, scale: "count", stroke: color("--accent"), width: 2, fill: color("--accent-soft"), paths: uPlot.paths.bars!({ size: [0.55, 22] }), points: { show: false } },
				{ label: t.home.released, scale: "money", stroke: color("--note"), width: 2, points: { show: false }, value: (_u, v) => (v === null ? "–" : money({ amount: Math.round(v * scale), currency })) },
			],
		}, [points.map((p) => new Date(p.from).getTime() / 1000), points.map((p) => p.claimsOpened), points.map((p) => p.payoutsReleased.amount / scale)], element);
		const resize = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: 210 }));
		resize.observe(element);
		return () => { resize.disconnect(); plot.destroy(); };
	}, [points]);
	return <div class="chart" ref={holder} role="img" aria-label={t.home.chart} />;
}
