import { lazy, Suspense, useMemo, useState } from "preact/compat";
import { graphql, useRead } from "../api";
import { duration, human, money, percent, place, toMinor } from "../format";
import { type Mark } from "../mapview";
import { t } from "../texts";
import { Act, Card, type FormField, List, Load, Page, Status, Table, When } from "../ui";

const MapView = lazy(() => import("../mapview"));

const capacitiesQuery = graphql(`query Capacities($after: String) { capacities(first: 50, after: $after) { nodes { product cell limit { amount currency } atRisk { amount currency } updatedAt author } pageInfo { hasNextPage endCursor } } }`);
const moratoriaQuery = graphql(`query Moratoria($filter: MoratoriumFilter) {
	moratoria(first: 50, filter: $filter) { nodes { id kind place { kind latitude longitude radiusKm west south east north station } startsAt endsAt liftedAt reason author occurrenceId } }
	moratoriumRules { kind measure minimum radiusKm lasts author updatedAt }
}`);
const setMutation = graphql(`mutation SetCapacity($input: SetCapacityInput!) { setCapacity(input: $input) { capacity { product } } }`);
export const declareMutation = graphql(`mutation DeclareMoratorium($input: DeclareMoratoriumInput!) { declareMoratorium(input: $input) { moratorium { id } } }`);
const liftMutation = graphql(`mutation LiftMoratorium($input: LiftMoratoriumInput!) { liftMoratorium(input: $input) { moratorium { id } } }`);

export function moratoriumFields(at: { kind?: string; latitude?: number; longitude?: number; station?: string | null }): FormField[] {
	return [
		{ name: "kind", label: t.fields.peril, kind: "choice", options: [["", t.capacity.every], "EARTHQUAKE", "WINDSTORM", "RAINFALL", "TEMPERATURE"], initial: at.kind ?? "" },
		...(at.station ? [{ name: "station", label: t.codes.STATION, initial: at.station }] : [
			{ name: "latitude", label: t.quotes.latitude, initial: at.latitude?.toFixed(2) ?? "", hint: t.capacity.everywhere }, { name: "longitude", label: t.quotes.longitude, initial: at.longitude?.toFixed(2) ?? "" }, { name: "radiusKm", label: t.capacity.radius, initial: "300" },
		]),
		{ name: "endsAt", label: t.fields.ends, type: "datetime-local", required: true }, { name: "reason", label: t.reason, kind: "area", required: true },
	];
}

export function moratoriumInput(v: Record<string, string>) {
	if (!v.endsAt) return t.capacity.needsEnd;
	const at = v.station ? { station: v.station } : v.latitude && v.longitude ? { circle: { latitude: Number(v.latitude), longitude: Number(v.longitude), radiusKm: Number(v.radiusKm) } } : null;
	return { ...(v.kind ? { kind: v.kind as "EARTHQUAKE" } : {}), ...(at ? { place: at } : {}), endsAt: new Date(v.endsAt).toISOString(), reason: v.reason };
}

export default function Capacity() {
	const [past, setPast] = useState(false), [at, setAt] = useState<{ latitude: number; longitude: number } | null>(null);
	const read = useRead(moratoriaQuery, { filter: { past } });
	const marks = useMemo(() => (read.data?.moratoria?.nodes ?? []).flatMap((m): Mark[] => (m.place?.latitude != null && m.place.longitude != null ? [{ id: m.id, latitude: m.place.latitude, longitude: m.place.longitude, radiusKm: m.place.radiusKm ?? undefined, tone: m.liftedAt ? "faint" : "bad" }] : [])), [read.data]);
	return (
		<Page title={t.nav.pages.capacity} lead={t.capacity.lead} actions={<>
			<Act name={t.capacity.set} mutation={setMutation} lead={t.capacity.setLead} fields={[{ name: "product", label: t.fields.product, required: true }, { name: "cell", label: t.capacity.cell, hint: t.capacity.cellHint }, { name: "currency", label: t.fields.currency, initial: "USD", required: true }, { name: "amount", label: t.fields.limit, hint: t.capacity.amountHint }]} input={(v) => {
				const amount = v.amount ? toMinor(v.amount, v.currency.toUpperCase()) : null;
				return Number.isNaN(amount) ? t.claims.badAmount : { product: v.product, cell: v.cell || null, currency: v.currency.toUpperCase(), amount };
			}} />
			<Act key={`${at?.latitude}${at?.longitude}`} name={t.capacity.declare} tone="danger" mutation={declareMutation} lead={t.capacity.declareLead} fields={moratoriumFields(at ?? {})} input={moratoriumInput} />
		</>}>
			<Suspense fallback={<div class="map" />}><MapView label={t.capacity.map} marks={marks} pin={at} onPlace={setAt} legend={[["bad", t.capacity.moratoria]]} /></Suspense>
			<p class="faint">{t.capacity.mapHint}</p>
			<Card title={t.capacity.moratoria} class="flush" actions={<label class="check"><input type="checkbox" checked={past} onChange={(e) => setPast(e.currentTarget.checked)} /> {t.capacity.past}</label>}>
				<Load from={read}>{(d) => (
					<Table name={t.capacity.moratoria} rows={d.moratoria?.nodes ?? []} empty={t.capacity.none} columns={[
						{ title: t.fields.peril, cell: (m) => (m.kind ? human(m.kind) : t.capacity.every) }, { title: t.fields.place, cell: (m) => (m.place ? place(m.place) : t.capacity.world) }, { title: t.fields.starts, cell: (m) => <When at={m.startsAt} /> }, { title: t.fields.ends, cell: (m) => <When at={m.liftedAt ?? m.endsAt} /> }, { title: t.reason, cell: (m) => m.reason, wide: true }, { title: t.fields.who, cell: (m) => m.author ?? t.system },
						{ title: t.inbox.action, cell: (m) => (m.liftedAt || new Date(m.endsAt).getTime() < Date.now() ? <Status code="COMPLETED" /> : <Act name={t.capacity.lift} mutation={liftMutation} lead={m.reason} input={() => ({ moratoriumId: m.id })} />), end: true },
					]} />
				)}</Load>
			</Card>
			<div class="grid">
				<Card title={t.capacity.capacities} class="flush">
					<List query={capacitiesQuery} variables={{}} pick={(d) => d.capacities} name={t.capacity.capacities} empty={t.capacity.noCapacity} columns={[
						{ title: t.fields.product, cell: (c) => c.product }, { title: t.capacity.cell, cell: (c) => c.cell ?? t.capacity.eachCell }, { title: t.home.atRisk, cell: (c) => money(c.atRisk), end: true }, { title: t.fields.limit, cell: (c) => money(c.limit), end: true }, { title: t.capacity.used, cell: (c) => (c.atRisk && c.limit.amount ? percent(c.atRisk.amount / c.limit.amount) : "–"), end: true },
					]} />
				</Card>
				<Card title={t.capacity.rules} class="flush">
					<Load from={read}>{(d) => <Table name={t.capacity.rules} rows={d.moratoriumRules ?? []} keyOf={(r) => r.kind} columns={[{ title: t.fields.peril, cell: (r) => human(r.kind) }, { title: t.capacity.from, cell: (r) => `${human(r.measure)} ${Number(r.minimum)}`, end: true }, { title: t.capacity.radius, cell: (r) => `${r.radiusKm} km`, end: true }, { title: t.capacity.lasts, cell: (r) => duration(r.lasts), end: true }]} />}</Load>
				</Card>
			</div>
		</Page>
	);
}
