import { useEffect, useState } from "preact/compat";
import { Link } from "wouter";
import { follow, graphql, useRead } from "../api";
import { Lines } from "../explain";
import { type Amount, human, measure, money, number, point } from "../format";
import { FeedLine } from "../lines";
import MapView, { type Mark } from "../mapview";
import { type Viewer } from "../shell";
import { t } from "../texts";
import { Act, Card, Choice, type Column, Facts, Id, List, Load, Money, Page, Status, Table, When } from "../ui";
import { mainMeasure, touchedQuery } from "./map";
import { declareMutation, moratoriumFields, moratoriumInput } from "./capacity";

const listQuery = graphql(`query EventDesk($after: String, $filter: OccurrenceFilter) {
	occurrences(first: 20, after: $after, filter: $filter) {
		nodes { id source sourceEventId kind occurredAt lastAt stage station sandbox location { latitude longitude } mainMeasure { name value unit } progress { status settled candidates decided claimsOpened } }
		pageInfo { hasNextPage endCursor }
	}
}`);
const latestQuery = graphql(`query Latest { latestEvents(first: 12) { nodes { id sequence type partner occurredAt subject { type id } } } }`);
const owedQuery = graphql(`query OwedByProduct($id: ID!) { occurrence(id: $id) { owedByProduct { partner product currency claimsOpened owed { amount currency } pending { amount currency } blocked { amount currency } released { amount currency } } } }`);
const progressDocument = graphql(`subscription Progress($occurrenceId: ID!) { occurrenceProgress(occurrenceId: $occurrenceId) { status settled candidates decided claimsOpened lines { partner currency candidates decided claimsOpened owed { amount currency } pending { amount currency } blocked { amount currency } released { amount currency } } hasMore } }`);

interface Progress { status: string; settled: boolean; candidates: number; decided: number; claimsOpened: number; lines: readonly (Owed & { partner: string; currency: string; candidates: number; decided: number })[] }
interface Owed { claimsOpened: number; owed: Amount; pending: Amount; blocked: Amount; released: Amount }

const owedColumns: Column<Owed>[] = [
	{ title: t.nav.pages.claims, cell: (l) => number(l.claimsOpened), end: true }, { title: t.fields.owed, cell: (l) => <Money of={l.owed} />, end: true },
	{ title: t.desk.pending, cell: (l) => money(l.pending), end: true }, { title: t.desk.blocked, cell: (l) => money(l.blocked), end: true }, { title: t.desk.released, cell: (l) => money(l.released), end: true },
];

export default function Events({ viewer, id }: { viewer: Viewer; id?: string }) {
	return id ? <One viewer={viewer} id={id} /> : <All />;
}

function All() {
	const [kind, setKind] = useState("");
	const filter = kind ? { kind: kind as "EARTHQUAKE" } : {};
	const read = useRead(listQuery, { filter }, { every: 15_000 }), latest = useRead(latestQuery, {}, { every: 4000 });
	const marks = (read.data?.occurrences?.nodes ?? []).flatMap((o): Mark[] => (o.location ? [{ id: o.id, ...o.location, tone: o.progress?.settled ? "note" : "bad", solid: true }] : []));
	return (
		<Page title={t.nav.pages.events} lead={t.desk.lead}>
			<div class="grid two"><MapView key={String(marks.length > 0)} fit label={t.desk.map} marks={marks} legend={[["bad", t.desk.running], ["note", t.desk.settled]]} />
				<Card title={t.home.feed}><ul class="rows">{(latest.data?.latestEvents?.nodes ?? []).slice(0, 8).map((e) => <FeedLine key={e.id} event={e} partner />)}</ul></Card>
			</div>
			<Card class="flush">
				<div class="filters"><Choice label={t.fields.peril} value={kind} onValue={setKind} options={["", "EARTHQUAKE", "STORM_FIX", "STATION_DAY"]} /></div>
				<List query={listQuery} variables={{ filter }} pick={(d) => d.occurrences} name={t.nav.pages.events} empty={t.map.noEvents} every={15_000} columns={[
					{ title: t.fields.event, cell: (o) => <Link href={`/events/${o.id}`}>{o.source} {o.sourceEventId}</Link> }, { title: t.fields.what, cell: (o) => mainMeasure(o.mainMeasure) ?? human(o.kind) },
					{ title: t.fields.place, cell: (o) => (o.location ? point(o.location.latitude, o.location.longitude) : (o.station ?? "–")) }, { title: t.fields.at, cell: (o) => <When at={o.occurredAt} /> }, { title: t.claims.stage, cell: (o) => <Status code={o.stage} /> },
					{ title: t.desk.progress, cell: (o) => (o.progress ? <><Status code={o.progress.status} /> {o.progress.decided}/{o.progress.candidates}</> : "–") }, { title: t.nav.pages.claims, cell: (o) => number(o.progress?.claimsOpened ?? 0), end: true },
				]} />
			</Card>
		</Page>
	);
}

function One({ viewer, id }: { viewer: Viewer; id: string }) {
	const [near, setNear] = useState(false);
	const read = useRead(touchedQuery, { id, nearMisses: near });
	const [progress, setProgress] = useState<Progress | null>(null);
	const owed = useRead(owedQuery, { id }, { every: progress?.settled ? undefined : 4000 });
	useEffect(() => follow(progressDocument, () => ({ occurrenceId: id }), (d) => setProgress(d.occurrenceProgress)), [id]);
	return (
		<Load from={read}>
			{({ occurrence: o }) => {
				if (!o) return null;
				const fixes = (o.observations?.nodes ?? []).flatMap((x) => (x.location ? [{ ...x.location, at: x.occurredAt }] : [])).sort((a, b) => (a.at < b.at ? -1 : 1));
				const last = fixes.at(-1);
				return (
					<Page title={`${o.source} ${o.sourceEventId}`} back={["/events", t.nav.pages.events]} lead={<><Status code={o.stage} /> <When at={o.occurredAt} /> {mainMeasure(o.mainMeasure)}{o.sandbox && <> · {t.rehearsal}</>}</>} actions={<Act name={t.capacity.declare} tone="danger" mutation={declareMutation} lead={t.capacity.declareLead} fields={moratoriumFields({ kind: o.kind === "EARTHQUAKE" ? "EARTHQUAKE" : o.kind === "STORM_FIX" ? "WINDSTORM" : "RAINFALL", latitude: last?.latitude, longitude: last?.longitude, station: o.station })} input={moratoriumInput} />}>
						{progress && (
							<Card title={t.desk.progress} actions={<><Status code={progress.settled ? "COMPLETED" : progress.status} />{!progress.settled && <span class="live">{t.home.live}</span>}</>}>
								<label>{t.desk.decided(number(progress.decided), number(progress.candidates), number(progress.claimsOpened))}<progress max={Math.max(1, progress.candidates)} value={progress.decided} /></label>
								<Table name={t.desk.owed} rows={progress.lines} keyOf={(l) => l.partner + l.currency} empty={t.desk.noMoney} columns={[
									{ title: t.fields.partner, cell: (l) => l.partner }, { title: t.desk.covers, cell: (l) => `${l.decided}/${l.candidates}`, end: true }, ...owedColumns,
								]} />
							</Card>
						)}
						<Card title={t.desk.byProduct} class="flush">
							<Load from={owed}>{(d) => <Table name={t.desk.byProduct} rows={d.occurrence?.owedByProduct ?? []} keyOf={(l) => l.partner + l.product + l.currency} empty={t.desk.noMoney} columns={[
								{ title: t.fields.partner, cell: (l) => l.partner }, { title: t.fields.product, cell: (l) => l.product }, ...owedColumns,
							]} />}</Load>
						</Card>
						<div class="grid two">
							<MapView fit label={t.desk.map} marks={last ? [{ id: "last", ...last, tone: "bad", solid: true, radiusKm: 0 }] : []} track={fixes.length > 1 ? fixes : undefined} pin={fixes.length === 1 ? last : null} />
							<Card title={t.desk.readings}>
								<Facts rows={[o.station && [t.codes.STATION, o.station], o.definition && [t.desk.definition, o.definition], [t.claims.stage, t.claims.revision(o.sourceVersion)], [t.fields.id, <Id id={o.id} />]]} />
								<ul class="rows">{(o.observations?.nodes ?? []).slice(0, 8).map((x) => <li key={x.id}><span>{x.measures.map((m) => `${human(m.name)} ${measure(m)}`).join(", ")}</span><span class="faint"><Status code={x.stage} /> <When at={x.occurredAt} short /></span></li>)}</ul>
							</Card>
						</div>
						<Card title={t.map.touched} class="flush" actions={<label class="check"><input type="checkbox" checked={near} onChange={(e) => setNear(e.currentTarget.checked)} /> {t.map.nearMisses}</label>}>
							<Lines rows={o.policies?.nodes ?? []} name={t.map.touched} operator={viewer.kind === "OPERATOR"} />
							{o.policies?.pageInfo.hasNextPage && <p class="faint">{t.map.more}</p>}
						</Card>
					</Page>
				);
			}}
		</Load>
	);
}
