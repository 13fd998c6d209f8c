// Which covers an event touches, pays or misses, as a table with the API's sentences.
import { measure, money, percent } from "./format";
import { t } from "./texts";
import { Id, Status, Table } from "./ui";

export interface Line { partner: string; policyId: string; productKey: string; met: boolean; pays: boolean; index: { value: string; unit: string } | null; threshold: { value: string; unit: string }; missedBy: { value: string; unit: string } | null; factor: string; payable: { amount: number; currency: string }; distanceKm: number | null; sentences: readonly string[]; claim?: { id: string; status: string } | null }

export function Lines({ rows, name, operator }: { rows: readonly Line[]; name: string; operator: boolean }) {
	return (
		<Table name={name} rows={rows} keyOf={(l) => l.policyId} empty={t.explain.none} columns={[
			{ title: t.fields.policy, cell: (l) => <Id id={l.policyId} href={`/policies/${l.policyId}`} /> },
			...(operator ? [{ title: t.fields.partner, cell: (l: Line) => l.partner }] : []),
			{ title: t.fields.product, cell: (l) => l.productKey },
			{ title: t.explain.result, cell: (l) => <span class={`status ${l.pays ? "good" : l.met ? "warn" : "plain"}`}>{l.pays ? t.explain.pays : l.met ? t.explain.met : t.explain.misses(measure(l.missedBy))}</span> },
			{ title: t.fields.index, cell: (l) => measure(l.index), end: true }, { title: t.fields.threshold, cell: (l) => measure(l.threshold), end: true },
			{ title: t.fields.distance, cell: (l) => (l.distanceKm === null ? "–" : `${l.distanceKm.toFixed(0)} km`), end: true }, { title: t.fields.share, cell: (l) => percent(l.factor), end: true },
			{ title: t.fields.payable, cell: (l) => money(l.payable), end: true }, { title: t.fields.claim, cell: (l) => (l.claim ? <><Id id={l.claim.id} href={`/claims/${l.claim.id}`} /> <Status code={l.claim.status} /></> : "–") },
		]} />
	);
}
