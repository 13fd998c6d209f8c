// The payout curve of a cover: the share of the limit by the measured index.
import { percent } from "./format";
import { t } from "./texts";

interface Shape { radiusShare: string | null; points: readonly { index: string; before: string; reached: string }[] }

const [width, height, left, bottom, top] = [460, 190, 44, 28, 12];

export function Curve({ curves, unit, direction }: { curves: readonly Shape[]; unit: string; direction: string }) {
	const indexes = curves.flatMap((c) => c.points.map((p) => Number(p.index)));
	if (indexes.length === 0) return null;
	const span = Math.max(...indexes) - Math.min(...indexes) || Math.max(1, Math.abs(indexes[0]) * 0.1);
	const [low, high] = [Math.min(...indexes) - span * 0.35, Math.max(...indexes) + span * 0.35];
	const x = (index: number) => left + ((index - low) / (high - low)) * (width - left - 8);
	const y = (share: number) => height - bottom - share * (height - bottom - top);
	const rising = direction !== "AT_MOST";
	const label = t.units[unit] ?? unit;
	return (
		<figure>
			<svg class="curve" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={t.curve.label(curves.map((c) => c.points.map((p) => `${Number(p.index)} ${label}: ${percent(p.reached)}`).join(", ")).join("; "))}>
				{[0, 0.5, 1].map((share) => <g key={share}><line class="axis" x1={left} x2={width - 8} y1={y(share)} y2={y(share)} /><text x={left - 6} y={y(share) + 4} text-anchor="end">{percent(share)}</text></g>)}
				{curves.map((curve, n) => {
					const points = [...curve.points].sort((a, b) => Number(a.index) - Number(b.index));
					const path = points.flatMap((p) => {
						const [before, reached] = [Number(p.before), Number(p.reached)];
						return (rising ? [before, reached] : [reached, before]).map((share) => [x(Number(p.index)), y(share)]);
					});
					const first = rising ? points[0].before : points[0].reached, last = rising ? points.at(-1)!.reached : points.at(-1)!.before;
					const line = [[left, y(Number(first))], ...path, [width - 8, y(Number(last))]].map(([px, py]) => `${px.toFixed(1)},${py.toFixed(1)}`);
					return <g key={n} opacity={1 - n * 0.45}>{n === 0 && <polygon class="area" points={[...line, `${width - 8},${y(0)}`, `${left},${y(0)}`].join(" ")} />}<polyline class="line" points={line.join(" ")} /></g>;
				})}
				{[...new Set(indexes)].sort((a, b) => a - b).filter((_, n, all) => all.length < 8 || n % Math.ceil(all.length / 7) === 0).map((index) => <text key={index} x={x(index)} y={height - 10} text-anchor="middle">{index}</text>)}
				<text x={width - 8} y={height - 10} text-anchor="end">{label}</text>
			</svg>
			{curves.length > 1 && <figcaption class="faint">{t.curve.rings(curves.map((c) => percent(c.radiusShare)))}</figcaption>}
		</figure>
	);
}
