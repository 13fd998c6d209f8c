import { useEffect, useRef, useState } from "preact/compat";
import { useLocation } from "wouter";
import { client, graphql, type Problem, toProblem, useChange } from "../api";
import { config } from "../config";
import { Lines, type Line } from "../explain";
import { money, number, percent } from "../format";
import MapView from "../mapview";
import { type Viewer } from "../shell";
import { chosenPartner } from "../store";
import { t } from "../texts";
import { Card, Empty, Errors, Field, Note, Page, Table, Tabs, Text, useDraft } from "../ui";
import { useCovers, useStations } from "./map";

const exposureQuery = graphql(`query WhatIf($occurrence: WhatIfInput!, $partner: String) {
	exposure(occurrence: $occurrence, partner: $partner) {
		totals { currency touched nearMisses paying owed { amount currency } payable { amount currency } }
		bands { currency from to claims payable { amount currency } }
		policies(first: 50, nearMisses: true) { nodes { partner policyId productKey met pays index { value unit } threshold { value unit } missedBy { value unit } factor payable { amount currency } distanceKm sentences } pageInfo { hasNextPage } }
	}
}`);

const sumsQuery = graphql(`query WhatIfSums($occurrence: WhatIfInput!, $partner: String) {
	exposure(occurrence: $occurrence, partner: $partner) { totals { currency touched nearMisses paying owed { amount currency } payable { amount currency } } bands { currency from to claims payable { amount currency } } }
}`);

const rehearseMutation = graphql(`mutation Rehearse($input: RehearseObservationsInput!) { rehearseObservations(input: $input) { results { id result errors { pointer detail } } } }`);
const clockQuery = graphql(`query Clock { portfolio { asOf } }`);
const recordedQuery = graphql(`query Recorded($id: ID!) { observation(id: $id) { occurrenceId } }`);

interface Point { latitude: number; longitude: number }
type Answer = { totals: readonly { currency: string; touched: number; nearMisses: number; paying: number; owed: { amount: number; currency: string }; payable: { amount: number; currency: string } }[]; bands: readonly { currency: string; from: string; to: string; claims: number; payable: { amount: number; currency: string } }[]; policies?: { nodes: readonly Line[] } | null };

const spacing = 250; // milliseconds between two requests: at most four a second
const manyCovers = 5000;

// useExposure asks for the newest event only: one that a later one replaces is cancelled.
function useExposure(occurrence: unknown, partner: string, sumsOnly: boolean) {
	const [state, setState] = useState<{ answer: Answer | null; problem: Problem | null; busy: boolean }>({ answer: null, problem: null, busy: false });
	const key = JSON.stringify([occurrence, partner, sumsOnly]);
	const last = useRef(0);
	useEffect(() => {
		if (!occurrence) return;
		const abort = new AbortController();
		const timer = setTimeout(async () => {
			last.current = Date.now();
			setState((s) => ({ ...s, busy: true }));
			const variables = { occurrence: occurrence as any, ...(partner ? { partner } : {}) };
			const result = await client.query<any>(sumsOnly ? sumsQuery : exposureQuery, variables, { requestPolicy: "network-only", fetchOptions: { signal: abort.signal } }).toPromise();
			if (!abort.signal.aborted) setState((s) => ({ answer: result.data?.exposure ?? s.answer, problem: toProblem(result.error), busy: false }));
		}, Math.max(60, last.current + spacing - Date.now()));
		return () => { clearTimeout(timer); abort.abort(); };
	}, [key]);
	return state;
}

const first = {
	peril: "earthquake", quake: { latitude: 23.9, longitude: 121.6 } as Point, magnitude: "7.0", depth: "10", wind: "120", pressure: "930", track: [{ latitude: 23.5, longitude: -76.5 }, { latitude: 25.4, longitude: -79.6 }, { latitude: 27.8, longitude: -82.4 }] as Point[],
	station: "", rain: "80", days: "5", warm: "38",
};

export default function WhatIf({ viewer }: { viewer: Viewer }) {
	const operator = viewer.kind === "OPERATOR";
	const [d, setD] = useDraft("what-if", first);
	const partner = chosenPartner.use(); // a partner's own choice stays empty
	const covers = useCovers({ earthquake: "EARTHQUAKE", storm: "WINDSTORM" }[d.peril], partner), stationCovers = useStations(partner);
	const stations = [...new Set(stationCovers.filter((c) => c.kind === (d.peril === "rain" ? "RAINFALL" : "TEMPERATURE")).map((c) => c.station))];
	const station = d.station || stations[0] || "";
	const { answer, problem, busy } = useExposure(scenario(d, station), partner, covers.all > manyCovers);
	const set = (more: Partial<typeof d>) => setD({ ...d, ...more });
	const onMap = d.peril === "earthquake" || d.peril === "storm";
	return (
		<Page title={t.nav.pages["what-if"]} lead={t.whatIf.lead}>
			<Tabs name={t.fields.peril} value={d.peril} onValue={(peril) => set({ peril })} options={[["earthquake", t.whatIf.quake], ["storm", t.whatIf.storm], ["rain", t.whatIf.rain], ["temperature", t.whatIf.temperature]]} />
			<div class="grid two">
				<div class="stack">
					{onMap && <MapView key={d.peril} class="tall" fit label={t.whatIf.map} marks={covers.marks} onArea={covers.onArea} pin={d.peril === "earthquake" ? d.quake : null} track={d.peril === "storm" ? d.track : undefined}
						onPlace={(at) => set(d.peril === "earthquake" ? { quake: at } : { track: [...d.track, at].slice(-40) })}
						onDrag={(n, at) => set(d.peril === "earthquake" ? { quake: at } : { track: d.track.map((p, m) => (m === n ? at : p)) })} legend={[["accent", t.whatIf.covers], ["bad", d.peril === "storm" ? t.whatIf.track : t.whatIf.epicentre]]} />}
					<Card>
						{d.peril === "earthquake" && <>
							<div class="pair"><Text label={t.quotes.latitude} inputMode="decimal" value={String(d.quake.latitude)} onValue={(v) => set({ quake: { ...d.quake, latitude: v as any } })} /><Text label={t.quotes.longitude} inputMode="decimal" value={String(d.quake.longitude)} onValue={(v) => set({ quake: { ...d.quake, longitude: v as any } })} /><Text label={t.whatIf.depth} inputMode="decimal" value={d.depth} onValue={(depth) => set({ depth })} /></div>
							<Slide label={t.whatIf.magnitude} min={4} max={9.5} step={0.1} value={d.magnitude} onValue={(magnitude) => set({ magnitude })} />
						</>}
						{d.peril === "storm" && <>
							<Slide label={t.whatIf.wind} min={30} max={185} step={5} value={d.wind} onValue={(wind) => set({ wind })} /><Slide label={t.whatIf.pressure} min={870} max={1010} step={1} value={d.pressure} onValue={(pressure) => set({ pressure })} />
							<div class="actions"><span class="faint">{t.whatIf.fixes(d.track.length)}</span><button class="small" disabled={d.track.length < 2} onClick={() => set({ track: d.track.slice(0, -1) })}>{t.whatIf.undo}</button><button class="small" onClick={() => set({ track: [] })}>{t.whatIf.restart}</button></div>
						</>}
						{!onMap && (stations.length === 0 ? <Empty>{t.whatIf.noStations}</Empty> : <>
							<Field label={t.codes.STATION}>{(a) => <select {...a} value={station} onChange={(e) => set({ station: e.currentTarget.value })}>{stations.map((s) => <option key={s} value={s}>{s}</option>)}</select>}</Field>
							<Slide label={t.whatIf.days} min={1} max={31} step={1} value={d.days} onValue={(days) => set({ days })} />
							{d.peril === "rain" ? <Slide label={t.whatIf.rainADay} min={0} max={300} step={5} value={d.rain} onValue={(rain) => set({ rain })} /> : <Slide label={t.whatIf.warmest} min={20} max={50} step={0.5} value={d.warm} onValue={(warm) => set({ warm })} />}
						</>)}
						<Errors problem={problem} />
						{config.rehearsal && !operator && viewer.scopes.includes("claims:write") && <Rehearse draft={d} station={station} />}
					</Card>
				</div>
				<div class="stack" aria-live="polite" aria-busy={busy}>
					{answer?.totals.length === 0 && <Card><Empty>{t.whatIf.nothing}</Empty></Card>}
					{answer?.totals.map((total) => (
						<Card key={total.currency} title={total.currency}>
							<dl class="figures"><div><dt>{t.whatIf.paying}</dt><dd>{number(total.paying)}<small>{t.whatIf.touched(total.touched, total.nearMisses)}</small></dd></div><div><dt>{t.fields.payable}</dt><dd>{money(total.payable)}<small>{total.owed.amount !== total.payable.amount ? t.whatIf.beforeLimits(money(total.owed)) : ""}</small></dd></div></dl>
							<Table name={t.whatIf.bands} rows={answer.bands.filter((b) => b.currency === total.currency && b.claims > 0)} keyOf={(b) => b.from} empty={t.whatIf.noneReached} columns={[{ title: t.fields.share, cell: (b) => t.whatIf.band(percent(b.from), percent(b.to)) }, { title: t.nav.pages.claims, cell: (b) => number(b.claims), end: true }, { title: t.fields.payable, cell: (b) => money(b.payable), end: true }]} />
						</Card>
					))}
					{covers.all > manyCovers && <Note>{t.whatIf.sumsOnly}</Note>}
				</div>
			</div>
			{(answer?.policies?.nodes.length ?? 0) > 0 && <Card title={t.whatIf.lines}><Lines rows={answer!.policies!.nodes} name={t.whatIf.lines} operator={operator} /></Card>}
		</Page>
	);
}

function Slide({ label, value, onValue, ...range }: { label: string; value: string; onValue: (value: string) => void; min: number; max: number; step: number }) {
	return <Field label={label}>{(a) => <div class="slide"><input type="range" {...a} {...range} value={value} onInput={(e) => onValue(e.currentTarget.value)} /><output>{value}</output></div>}</Field>;
}

// Rehearse records the event for this partner alone: claims open, as they would for a real one.
function Rehearse({ draft, station }: { draft: typeof first; station: string }) {
	const change = useChange(rehearseMutation);
	const [, go] = useLocation();
	const [own, setOwn] = useState("");
	const run = async () => {
		setOwn("");
		const clock = await client.query(clockQuery, {}, { requestPolicy: "network-only" }).toPromise();
		const input = observations(draft, station, new Date(clock.data?.portfolio?.asOf ?? Date.now()).getTime());
		if (!input) return;
		const results = (await change.run(input))?.rehearseObservations?.results ?? [];
		const refused = results.flatMap((r) => r.errors);
		if (refused.length > 0) return setOwn(refused.map((e) => e.detail).join(" "));
		const last = results.at(-1)?.id;
		const found = last ? await client.query(recordedQuery, { id: last }, { requestPolicy: "network-only" }).toPromise() : null;
		if (found?.data?.observation?.occurrenceId) go(`/map/${found.data.observation.occurrenceId}`);
	};
	return (
		<>
			<Errors problem={change.problem} />
			{own && <Note tone="bad">{own}</Note>}
			<div class="actions"><button onClick={run} disabled={change.busy}>{change.busy ? t.working : t.whatIf.rehearse}</button><span class="faint">{t.whatIf.rehearseLead}</span></div>
		</>
	);
}

// observations is the event as its source would report it, ending at an instant.
function observations(d: typeof first, station: string, now: number) {
	const id = `rehearsal-${now.toString(36)}`, at = (ms: number) => new Date(ms).toISOString();
	if (d.peril === "earthquake") return { observations: [{ source: "usgs", sourceEventId: id, kind: "EARTHQUAKE" as const, stage: "FINAL" as const, occurredAt: at(now), location: { latitude: Number(d.quake.latitude), longitude: Number(d.quake.longitude) }, measures: [{ name: "magnitude", value: d.magnitude, unit: "mw" }, ...(d.depth ? [{ name: "depth", value: d.depth, unit: "km" }] : [])] }] };
	if (d.peril === "storm") return { finalTrack: true, observations: d.track.map((p, n) => ({ source: "nhc", sourceEventId: id, kind: "STORM_FIX" as const, stage: "FINAL" as const, occurredAt: at(now + n * 6 * 3_600_000), location: p, measures: [{ name: "wind", value: d.wind, unit: "kn" }, { name: "pressure", value: d.pressure, unit: "hPa" }] })) };
	if (!station) return null;
	const today = Math.floor(now / 86_400_000) * 86_400_000;
	return { observations: Array.from({ length: Number(d.days) }, (_, n) => today - (Number(d.days) - n) * 86_400_000).map((day) => ({
		source: "ghcn", sourceEventId: `${station}/${at(day).slice(0, 10)}`, kind: "STATION_DAY" as const, stage: "FINAL" as const, station, occurredAt: at(day),
		measures: d.peril === "rain" ? [{ name: "precipitation", value: d.rain, unit: "mm" }] : [{ name: "temperature_max", value: d.warm, unit: "degC" }, { name: "temperature_min", value: String(Number(d.warm) - 10), unit: "degC" }],
	})) };
}

const asNumber = (v: unknown) => (v === "" || Number.isNaN(Number(v)) ? null : Number(v));

// scenario is the event as the API takes it; null while it is incomplete.
function scenario(d: typeof first, station: string) {
	const now = Math.floor(Date.now() / 3_600_000) * 3_600_000;
	if (d.peril === "earthquake") {
		const latitude = asNumber(d.quake.latitude), longitude = asNumber(d.quake.longitude);
		return latitude === null || longitude === null ? null : { earthquake: { location: { latitude, longitude }, magnitude: d.magnitude, ...(asNumber(d.depth) !== null ? { depthKm: d.depth } : {}) } };
	}
	if (d.peril === "storm") return d.track.length === 0 ? null : { storm: { fixes: d.track.map((p, n) => ({ location: { latitude: p.latitude, longitude: p.longitude }, windKn: d.wind, pressureHpa: d.pressure, at: new Date(now - (d.track.length - n) * 6 * 3_600_000).toISOString() })) } };
	if (!station) return null;
	const today = Math.floor(Date.now() / 86_400_000) * 86_400_000;
	const days = Array.from({ length: Number(d.days) }, (_, n) => new Date(today - (Number(d.days) - n) * 86_400_000).toISOString());
	return d.peril === "rain" ? { rain: { station, days: days.map((day) => ({ day, precipitationMm: d.rain })) } } : { temperature: { station, days: days.map((day) => ({ day, temperatureMaxC: d.warm, temperatureMinC: String(Number(d.warm) - 10) })) } };
}
