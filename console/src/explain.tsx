// Which covers an event touches, pays or misses, as a table with the API's sentences.
import { measure, money, percent } from "./format";
import { t } from "./texts";
import { Empty, Id, Status, Table } from "./ui";

export interface Line { partner: string; policyId: string; productKey: string; met: boolean; pays: boolean; index: { value: string; unit: string } | null; threshold: { value: string; unit: string }; missedBy: { value: string; unit: string } | null; factor: string; payable: { amount: number; currency: string }; distanceKm: number | null; sentences: readonly string[]; claim?: { id: string; status: string } | null }

export function Lines({ rows, name, operator }: { rows: readonly Line[]; name: string; operator: boolean }) {
	return (
		<Table name={name} rows={rows} keyOf={(l) => l.policyId} empty={t.explain.none} columns={[
			{ title: t.fields.policy, cell: (l) => <Id id={l.policyId} href={`/policies/${l.policyId}`} /> },
			...(operator ? [{ title: t.fields.partner, cell: (l: Line) => l.partner }] : []),
			{ title: t.fields.product, cell: (l) => l.productKey },
			{ title: t.explain.result, cell: (l) => <span class={`status ${tone(l)}`}>{result(l)}</span> },
			{ title: t.fields.index, cell: (l) => measure(l.index), end: true }, { title: t.fields.threshold, cell: (l) => measure(l.threshold), end: true },
			{ title: t.fields.distance, cell: (l) => (l.distanceKm === null ? "–" : `${l.distanceKm.toFixed(0)} km`), end: true }, { title: t.fields.share, cell: (l) => percent(l.factor), end: true },
			{ title: t.fields.payable, cell: (l) => money(l.payable), end: true }, { title: t.fields.claim, cell: (l) => (l.claim ? <><Id id={l.claim.id} href={`/claims/${l.claim.id}`} /> <Status code={l.claim.status} /></> : "–") },
		]} />
	);
}

const tone = (l: Line) => (l.pays ? "good" : l.met ? "warn" : "plain");
const result = (l: Line) => (l.pays ? t.explain.pays : l.met ? t.explain.met : t.explain.misses(measure(l.missedBy)));

// Results is Lines for a narrow place.
export function Results({ rows, name, operator }: { rows: readonly Line[]; name: string; operator: boolean }) {
	if (rows.length === 0) return <Empty>{t.explain.none}</Empty>;
	return (
		<ul class="results" aria-label={name}>
			{rows.map((l) => (
				<li key={l.policyId}>
					<span><span class={`status ${tone(l)}`}>{result(l)}</span></span><strong class="money">{money(l.payable)}</strong>
					<p><Id id={l.policyId} href={`/policies/${l.policyId}`} /> <span class="faint">{operator ? `${l.partner} · ${l.productKey}` : l.productKey}</span></p>
					<p class="faint">{t.explain.measured(measure(l.index), measure(l.threshold))}{l.distanceKm !== null && ` · ${l.distanceKm.toFixed(0)} km`}{l.pays && ` · ${percent(l.factor)}`}</p>
					{l.claim && <p><Id id={l.claim.id} href={`/claims/${l.claim.id}`} /> <Status code={l.claim.status} /></p>}
				</li>
			))}
		</ul>
	);
}
