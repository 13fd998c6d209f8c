// A chart of claims and payouts by day, with uPlot.
import { useEffect, useRef } from "preact/compat";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { compact, dayMonth, minorDigits, money } from "./format";
import { t } from "./texts";

interface Point { from: string; claimsOpened: number; payoutsReleased: { amount: number; currency: string } }

export default function Chart({ points }: { points: readonly Point[] }) {
	const holder = useRef<HTMLDivElement>(null), about = useRef<HTMLSpanElement>(null);
	useEffect(() => {
		const element = holder.current!;
		const color = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
		const scale = 10 ** minorDigits(points[0]?.payoutsReleased.currency ?? "USD");
		const axis = { stroke: color("--faint"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
		const describe = (index: number | null | undefined) => {
			const point = index == null ? undefined : points[index];
			about.current!.textContent = point ? t.home.ofDay(dayMonth(point.from), point.claimsOpened, money(point.payoutsReleased)) : "";
		};
		const plot = new uPlot({
			width: element.clientWidth, height: 200, padding: [12, 4, 0, 0], cursor: { y: false }, legend: { show: false }, hooks: { setCursor: [(u) => describe(u.cursor.idx)] },
			scales: { x: { range: (_u, from, to) => [from - 43_200, to + 43_200] }, count: { range: (_u, _min, max) => [0, Math.max(4, max)] }, money: { range: (_u, _min, max) => [0, Math.max(100, max) * 1.1] } },
			axes: [{ ...axis, size: 28, values: (_u, all) => all.map((v) => dayMonth(v * 1000)) }, { ...axis, scale: "count", size: 36, incrs: [1, 2, 5, 10, 20, 50, 100, 1000, 10000] }, { ...axis, scale: "money", side: 1, size: 58, grid: { show: false }, values: (_u, all) => all.map(compact) }],
			series: [
				{}, { scale: "count", stroke: color("--accent"), width: 1, fill: color("--accent"), paths: uPlot.paths.bars!({ size: [0.55, 22] }), points: { show: false } }, { scale: "money", stroke: color("--note"), width: 2, points: { show: false } },
			],
		}, [points.map((p) => new Date(p.from).getTime() / 1000), points.map((p) => p.claimsOpened), points.map((p) => p.payoutsReleased.amount / scale)], element);
		const resize = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: 200 }));
		resize.observe(element);
		return () => { resize.disconnect(); plot.destroy(); };
	}, [points]);
	return (
		<figure>
			<figcaption class="legend"><span><i class="tone-accent" />{t.home.claimsOpened}</span><span><i class="tone-note" />{t.home.released}</span><span ref={about} /></figcaption>
			<div class="chart" ref={holder} role="img" aria-label={t.home.chart} />
		</figure>
	);
}
