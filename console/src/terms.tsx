// The terms of a cover in words.
import { type Amount, duration, human, money, percent, place } from "./format";
import { t } from "./texts";

interface Cover {
	limit: Amount; term?: string; waitingPeriod: string; reportingWindow?: string;
	place: Parameters<typeof place>[0];
	trigger: { kind: string; index: string; unit: string; direction: string; strict: boolean; decidesOn: string; maximumDepthKm: string | null };
	payoutCurves: readonly { points: readonly { index: string; before: string; reached: string }[] }[];
	measurement?: { sources: readonly { source: string; stage: string }[]; wait: string; challengeWindow: string } | null;
}

export function Terms({ cover }: { cover: Cover }) {
	const { trigger } = cover;
	const points = cover.payoutCurves[0]?.points ?? [];
	const paying = points.filter((p) => Number(p.reached) > 0);
	const mildest = trigger.direction === "AT_MOST" ? Math.max(...paying.map((p) => Number(p.index))) : Math.min(...paying.map((p) => Number(p.index)));
	const most = Math.max(0, ...points.map((p) => Number(p.reached)));
	const unit = t.units[trigger.unit] ?? trigger.unit;
	return (
		<div class="stack">
			<p>{t.terms.first(human(trigger.index).toLowerCase(), trigger.direction === "AT_MOST", `${mildest} ${unit}`, place(cover.place))} {t.terms.pays(money({ ...cover.limit, amount: Math.round(cover.limit.amount * most) }), percent(most))}</p>
			<p class="faint">
				{t.terms.waiting(duration(cover.waitingPeriod))}{trigger.maximumDepthKm ? ` ${t.terms.depth(Number(trigger.maximumDepthKm))}` : ""} {t.terms.decides(human(trigger.decidesOn).toLowerCase())}
				{cover.measurement && ` ${t.terms.sources(cover.measurement.sources.map((s) => `${s.source} (${human(s.stage).toLowerCase()})`).join(", "))}`}
			</p>
		</div>
	);
}
