import { useEffect, useMemo, useState } from "preact/compat";
import { Link, useLocation } from "wouter";
import { client, epoch, graphql, useRead } from "../api";
import { Curve } from "../curve";
import { Results } from "../explain";
import { human, measure, money, number, place } from "../format";
import MapView, { fitView, type Mark, type View } from "../mapview";
import { type Viewer } from "../shell";
import { Terms } from "../terms";
import { t } from "../texts";
import { Card, Choice, Empty, Facts, Id, Load, Page, Status, When } from "../ui";

const coversQuery = graphql(`query Covers($after: String, $filter: PolicyFilter) {
	policies(first: 100, after: $after, filter: $filter) {
		nodes { id partner partnerReference productKey limit { amount currency } limitRemaining { amount currency } coverPhase cover { place { kind latitude longitude radiusKm west south east north station } trigger { kind } } }
		pageInfo { hasNextPage endCursor }
	}
}`);

const occurrencesQuery = graphql(`query RecentOccurrences($filter: OccurrenceFilter) {
	occurrences(first: 40, filter: $filter) { nodes { id source sourceEventId kind occurredAt lastAt stage station sandbox observations(first: 1) { nodes { location { latitude longitude } measures { name value unit } } } } }
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
		id source sourceEventId kind occurredAt lastAt stage sourceVersion station definition sandbox
		observations(first: 12) { nodes { id location { latitude longitude } occurredAt stage measures { name value unit } } }
		policies(first: 50, after: $after, nearMisses: $nearMisses) { nodes { partner policyId productKey met pays index { value unit } threshold { value unit } missedBy { value unit } factor payable { amount currency } distanceKm sentences claim { id status } } pageInfo { hasNextPage endCursor } }
	}
}`);

type Cover = { id: string; partner: string; partnerReference: string | null; productKey: string; limitRemaining: { amount: number; currency: string }; cover: { place: { kind: string; latitude: number | null; longitude: number | null; radiusKm: number | null; west: number | null; south: number | null; east: number | null; north: number | null; station: string | null }; trigger: { kind: string } } };

const most = 10_000;
const perils = [["accent", "EARTHQUAKE"], ["note", "WINDSTORM"], ["good", "RAINFALL"], ["warn", "TEMPERATURE"]] as const;
const perilTones: Record<string, string> = Object.fromEntries(perils.map(([tone, kind]) => [kind, tone]));

// useCovers reads active covers page by page and shows what it has meanwhile.
export function useCovers(product?: string): { covers: Cover[]; done: boolean } {
	const [state, setState] = useState<{ covers: Cover[]; done: boolean }>({ covers: [], done: false });
	const now = epoch.use();
	useEffect(() => {
		let stopped = false;
		void (async () => {
			const covers: Cover[] = [];
			for (let after: string | null = null; covers.length < most; ) {
				const answer: { data?: { policies: { nodes: readonly any[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } } | null } } = await client.query(coversQuery, { filter: { status: "ACTIVE", ...(product ? { product } : {}) }, ...(after ? { after } : {}) }, { requestPolicy: "network-only" }).toPromise();
				const page = answer.data?.policies;
				if (stopped || !page) return;
				covers.push(...page.nodes);
				if (!page.pageInfo.hasNextPage || covers.length % 1000 === 0) setState({ covers: [...covers], done: !page.pageInfo.hasNextPage });
				if (!page.pageInfo.hasNextPage) return;
				after = page.pageInfo.endCursor;
			}
			setState({ covers, done: true });
		})();
		return () => { stopped = true; };
	}, [product, now]);
	return state;
}

export function coverMarks(covers: readonly Cover[], only?: string): Mark[] {
	return covers.flatMap((c): Mark[] => {
		const p = c.cover.place;
		if (only && c.cover.trigger.kind !== only) return [];
		const tone = perilTones[c.cover.trigger.kind] ?? "accent";
		if (p.kind === "BOX") return [{ id: c.id, latitude: (p.south! + p.north!) / 2, longitude: (p.west! + p.east!) / 2, box: [p.west!, p.south!, p.east!, p.north!], tone }];
		if (p.latitude === null || p.longitude === null) return [];
		return [{ id: c.id, latitude: p.latitude, longitude: p.longitude, radiusKm: p.radiusKm ?? undefined, tone }];
	});
}

export default function MapPage({ viewer, id }: { viewer: Viewer; id?: string }) {
	const [, go] = useLocation();
	const [peril, setPeril] = useState("");
	const { covers, done } = useCovers();
	const occurrences = useRead(occurrencesQuery, { filter: {} });
	const marks = useMemo(() => {
		const events = (occurrences.data?.occurrences?.nodes ?? []).flatMap((o): Mark[] => {
			const at = o.observations?.nodes[0]?.location;
			return at ? [{ id: o.id, latitude: at.latitude, longitude: at.longitude, tone: "bad", solid: true }] : [];
		});
		return [...coverMarks(covers, peril), ...events];
	}, [covers, occurrences.data, peril]);
	const [view, setView] = useState<{ at: View | undefined; key: number }>({ at: undefined, key: 0 });
	const pick = (picked: string) => go(`/map/${picked}`, { replace: Boolean(id) });
	const stations = covers.filter((c) => c.cover.place.kind === "STATION");
	return (
		<Page title={t.nav.pages.map} lead={t.map.lead(number(covers.length), done)}>
			<div class="filters"><Choice label={t.fields.peril} value={peril} onValue={setPeril} options={["", "EARTHQUAKE", "WINDSTORM", "RAINFALL", "TEMPERATURE"]} /></div>
			<div class="grid two map-page">
				<MapView key={`${view.key}${covers.length > 0}`} class="tall" fit view={view.at} marks={marks} onPick={pick} label={t.map.label} legend={[...perils.filter(([, kind]) => covers.some((c) => c.cover.trigger.kind === kind && c.cover.place.kind !== "STATION")).map(([tone, kind]) => [tone, human(kind)] as const), ["bad", t.map.events]]} />
				<div class="stack">
					{id?.startsWith("pol_") && <CoverCard id={id} />}
					{id?.startsWith("occ_") && <OccurrenceCard id={id} viewer={viewer} />}
					<Card title={t.map.recent}>
						<Load from={occurrences}>
							{(d) => d.occurrences?.nodes.length ? (
								<ul class="rows">{d.occurrences.nodes.slice(0, 12).map((o) => {
									const first = o.observations?.nodes[0];
									return <li key={o.id}><Link href={`/map/${o.id}`} onClick={() => first?.location && setView({ at: fitView([{ ...first.location, radiusKm: 400 }]), key: view.key + 1 })}>{o.sourceEventId}</Link><span class="faint">{mainMeasure(first?.measures) ?? o.station ?? human(o.kind)} · <When at={o.occurredAt} short /></span></li>;
								})}</ul>
							) : <Empty>{t.map.noEvents}</Empty>}
						</Load>
					</Card>
					{stations.length > 0 && <Card title={t.map.stations}><ul class="rows">{stations.slice(0, 12).map((c) => <li key={c.id}><Link href={`/map/${c.id}`}>{c.partnerReference ?? c.productKey}</Link><span class="faint">{c.cover.place.station}</span></li>)}</ul></Card>}
				</div>
			</div>
		</Page>
	);
}

// mainMeasure is the measure that says how strong an event was.
export function mainMeasure(measures: readonly { name: string; value: string; unit: string }[] | undefined): string | null {
	const main = ["magnitude", "wind", "sustained_wind", "wind_kn", "precipitation", "precipitation_mm", "temperature_max"].map((name) => measures?.find((m) => m.name === name)).find(Boolean) ?? measures?.[0];
	return main ? `${human(main.name)} ${measure(main)}` : null;
}

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
					<Facts rows={[[t.fields.at, <When at={o.occurredAt} />], [t.claims.stage, <Status code={o.stage} />], [t.fields.what, mainMeasure(o.observations?.nodes[0]?.measures)], o.station && [t.codes.STATION, o.station]]} />
					<label class="check"><input type="checkbox" checked={near} onChange={(e) => setNear(e.currentTarget.checked)} /> {t.map.nearMisses}</label>
					<Results rows={o.policies?.nodes ?? []} name={t.map.touched} operator={viewer.kind === "OPERATOR"} />
					{o.policies?.pageInfo.hasNextPage && <p class="faint">{t.map.more}</p>}
				</Card>
			)}
		</Load>
	);
}
