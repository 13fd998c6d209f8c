import { useEffect, useMemo, useRef, useState } from "preact/compat";
import { Link, useLocation } from "wouter";
import { client, epoch, graphql, useRead } from "../api";
import { Curve } from "../curve";
import { Results } from "../explain";
import { human, measure, money, number, place, point } from "../format";
import MapView, { type Area, fitView, lastView, type Mark, type View } from "../mapview";
import { type Viewer } from "../shell";
import { chosenPartner } from "../store";
import { Terms } from "../terms";
import { t } from "../texts";
import { Card, Choice, Empty, Facts, Id, Load, Page, Status, When } from "../ui";

const coversQuery = graphql(`query Covers($box: BoxInput!, $zoom: Int!, $partner: String) {
	coverMap(box: $box, zoom: $zoom, partner: $partner) {
		policies
		covers { policyId partner productKey peril place { kind latitude longitude radiusKm west south east north } }
		cells { west south center { latitude longitude } policies }
	}
}`);

const stationProductsQuery = graphql(`query StationProducts { products(first: 100) { nodes { key place trigger { kind } } } }`);
const stationCoversQuery = graphql(`query StationCovers($filter: PolicyFilter) { policies(first: 50, filter: $filter) { nodes { id partnerReference productKey cover { place { station } trigger { kind } } } } }`);

const occurrencesQuery = graphql(`query RecentOccurrences($filter: OccurrenceFilter) {
	occurrences(first: 40, filter: $filter) { nodes { id source sourceEventId kind occurredAt lastAt stage station sandbox location { latitude longitude } mainMeasure { name value unit } } }
}`);

const coverQuery = graphql(`query Cover($id: ID!) {
	policy(id: $id) {
		id productKey quoteId coverPhase status effectiveAt expiresAt limit { amount currency } limitRemaining { amount currency }
		cover { waitingPeriod reportingWindow place { kind latitude longitude radiusKm west south east north station } trigger { kind index unit direction strict decidesOn maximumDepthKm } payoutCurves { radiusShare points { index before reached } } measurement { sources { source stage } wait challengeWindow } }
		quote { history { occurredAt } basis { firstYear lastYear } }
	}
}`);

export const touchedQuery = graphql(`query Touched($id: ID!, $after: String, $nearMisses: Boolean!) {
	occurrence(id: $id) {
		id source sourceEventId kind occurredAt lastAt stage sourceVersion station definition sandbox location { latitude longitude } mainMeasure { name value unit }
		observations(first: 12) { nodes { id location { latitude longitude } occurredAt stage measures { name value unit } } }
		policies(first: 50, after: $after, nearMisses: $nearMisses) { nodes { partner policyId productKey met pays index { value unit } threshold { value unit } missedBy { value unit } factor payable { amount currency } distanceKm sentences claim { id status } } pageInfo { hasNextPage endCursor } }
	}
}`);

const perils = [["accent", "EARTHQUAKE"], ["note", "WINDSTORM"], ["good", "RAINFALL"], ["warn", "TEMPERATURE"]] as const;
const perilTones: Record<string, string> = Object.fromEntries(perils.map(([tone, kind]) => [kind, tone]));

const world: Area = { west: -180, south: -90, east: 180, north: 90, zoom: 1 };

// useCovers draws the covers of the area that a map shows: one by one, or as sums when there are many.
export function useCovers(only = "", partner = ""): { marks: Mark[]; count: number; all: number; onArea: (area: Area) => void; kinds: Set<string>; ready: boolean } {
	const [area, setArea] = useState<Area>(world);
	const variables = ({ zoom, ...box }: Area) => ({ box, zoom, ...(partner ? { partner } : {}) });
	const everywhere = useRead(coversQuery, variables(world));
	const read = useRead(coversQuery, variables(area));
	const last = useRef(read.data?.coverMap);
	last.current = read.data?.coverMap ?? last.current;
	const found = last.current;
	const marks = useMemo(() => [
		...(found?.covers ?? []).filter((c) => !only || c.peril === only).map((c): Mark => {
			const p = c.place, tone = perilTones[c.peril] ?? "accent";
			if (p.kind === "BOX") return { id: c.policyId, latitude: (p.south! + p.north!) / 2, longitude: (p.west! + p.east!) / 2, box: [p.west!, p.south!, p.east!, p.north!], tone };
			return { id: c.policyId, latitude: p.latitude!, longitude: p.longitude!, radiusKm: p.radiusKm ?? undefined, tone };
		}),
		...(found?.cells ?? []).map((c): Mark => ({ id: `cell ${c.west} ${c.south}`, ...c.center, count: c.policies })),
	], [found, only]);
	const kinds = useMemo(() => new Set((found?.covers ?? []).map((c) => c.peril as string)), [found]);
	return { marks, count: found?.policies ?? 0, all: everywhere.data?.coverMap?.policies ?? 0, onArea: setArea, kinds, ready: Boolean(everywhere.data) };
}

export interface StationCover { id: string; name: string; station: string; kind: string }

// useStations lists covers at stations, which are not on the map.
export function useStations(partner = ""): StationCover[] {
	const products = useRead(stationProductsQuery, {});
	const [covers, setCovers] = useState<StationCover[]>([]);
	const now = epoch.use();
	useEffect(() => {
		let gone = false;
		const keys = (products.data?.products?.nodes ?? []).filter((p) => p.place === "STATION").map((p) => p.key);
		void Promise.all(keys.map((product) => client.query(stationCoversQuery, { filter: { status: "ACTIVE", product, ...(partner ? { partner } : {}) } }, { requestPolicy: "network-only" }).toPromise())).then((answers) => {
			if (!gone) setCovers(answers.flatMap((a) => (a.data?.policies?.nodes ?? []).map((p) => ({ id: p.id, name: p.partnerReference ?? p.productKey, station: p.cover.place.station ?? "", kind: p.cover.trigger.kind as string }))));
		});
		return () => { gone = true; };
	}, [products.data, now, partner]);
	return covers;
}

export default function MapPage({ viewer, id }: { viewer: Viewer; id?: string }) {
	const [, go] = useLocation();
	const [peril, setPeril] = useState("");
	const partner = chosenPartner.use(), covers = useCovers(peril, partner), stations = useStations(partner);
	const occurrences = useRead(occurrencesQuery, { filter: {} });
	const marks = useMemo(() => {
		const events = (occurrences.data?.occurrences?.nodes ?? []).flatMap((o): Mark[] => {
			return o.location ? [{ id: o.id, ...o.location, tone: "bad", solid: true }] : [];
		});
		return [...covers.marks, ...events];
	}, [covers.marks, occurrences.data]);
	const [view, setView] = useState<{ at: View | undefined; key: number }>({ at: undefined, key: 0 });
	const shown = id?.startsWith("occ_") ? occurrences.data?.occurrences?.nodes.find((o) => o.id === id) : undefined;
	useEffect(() => { if (shown?.location) setView((v) => ({ at: fitView([{ ...shown.location!, radiusKm: 400 }]), key: v.key + 1 })); }, [shown?.id]);
	const pick = (picked: string) => {
		const mark = marks.find((m) => m.id === picked);
		if (mark?.count) return setView({ at: { ...mark, zoom: lastView.get().zoom * 2.5 }, key: view.key + 1 });
		go(`/map/${picked}`, { replace: Boolean(id) });
	};
	return (
		<Page title={t.nav.pages.map} lead={t.map.lead(number(covers.all + stations.length))}>
			<div class="filters"><Choice label={t.fields.peril} value={peril} onValue={setPeril} options={["", "EARTHQUAKE", "WINDSTORM"]} /></div>
			<div class="grid two map-page">
				<MapView key={`${view.key}${covers.ready}`} class="tall" fit={view.at === undefined} view={view.at} marks={marks} onArea={covers.onArea} onPick={pick} label={t.map.label} legend={[...perils.filter(([, kind]) => covers.kinds.has(kind)).map(([tone, kind]) => [tone, human(kind)] as const), ["bad", t.map.events]]} />
				<div class="stack">
					{id?.startsWith("pol_") && <CoverCard id={id} />}
					{id?.startsWith("occ_") && <OccurrenceCard id={id} viewer={viewer} />}
					<Card title={t.map.recent}>
						<Load from={occurrences}>
							{(d) => d.occurrences?.nodes.length ? (
								<ul class="rows">{d.occurrences.nodes.slice(0, 12).map((o) => {
									return <li key={o.id}><Link href={`/map/${o.id}`}>{[mainMeasure(o.mainMeasure) ?? human(o.kind), o.station].filter(Boolean).join(" · ")}</Link><span class="faint">{o.location && `${point(o.location.latitude, o.location.longitude)} · `}<When at={o.occurredAt} short /></span></li>;
								})}</ul>
							) : <Empty>{t.map.noEvents}</Empty>}
						</Load>
					</Card>
					{stations.length > 0 && <Card title={t.map.stations}><ul class="rows">{stations.slice(0, 12).map((c) => <li key={c.id}><Link href={`/map/${c.id}`}>{c.name}</Link><span class="faint">{c.station}</span></li>)}</ul></Card>}
				</div>
			</div>
		</Page>
	);
}

// mainMeasure says how strong an event was.
export const mainMeasure = (m: { name: string; value: string; unit: string } | null | undefined) => (m ? `${human(m.name)} ${measure(m)}` : null);

function CoverCard({ id }: { id: string }) {
	const read = useRead(coverQuery, { id });
	return (
		<Load from={read}>
			{({ policy: p }) => p && (
				<Card title={p.productKey} actions={<Id id={p.id} href={`/policies/${p.id}`} />}>
					<Terms cover={{ ...p.cover, limit: p.limit }} />
					<Curve curves={p.cover.payoutCurves} unit={p.cover.trigger.unit} direction={p.cover.trigger.direction} />
					<Facts rows={[[t.fields.status, <Status code={p.status === "ACTIVE" ? p.coverPhase : p.status} />], [t.fields.place, place(p.cover.place)], [t.fields.remaining, money(p.limitRemaining)], [t.fields.ends, <When at={p.expiresAt} />], p.quote && [t.map.history, <Link href={`/quotes/${p.quoteId}`}>{t.map.wouldHavePaid(p.quote.history.length, p.quote.basis.firstYear)}</Link>]]} />
				</Card>
			)}
		</Load>
	);
}

function OccurrenceCard({ id, viewer }: { id: string; viewer: Viewer }) {
	const [near, setNear] = useState(true);
	const read = useRead(touchedQuery, { id, nearMisses: near });
	return (
		<Load from={read}>
			{({ occurrence: o }) => o && (
				<Card title={`${o.source} ${o.sourceEventId}`}>
					<Facts rows={[[t.fields.at, <When at={o.occurredAt} />], [t.claims.stage, <Status code={o.stage} />], [t.fields.what, mainMeasure(o.mainMeasure)], o.station && [t.codes.STATION, o.station]]} />
					<label class="check"><input type="checkbox" checked={near} onChange={(e) => setNear(e.currentTarget.checked)} /> {t.map.nearMisses}</label>
					<Results rows={o.policies?.nodes ?? []} name={t.map.touched} operator={viewer.kind === "OPERATOR"} />
					{o.policies?.pageInfo.hasNextPage && <p class="faint">{t.map.more}</p>}
				</Card>
			)}
		</Load>
	);
}
