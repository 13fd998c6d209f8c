import { type ResultOf } from "gql.tada";
import { lazy, Suspense, useState } from "preact/compat";
import { Link } from "wouter";
import { graphql, useChange, useRead } from "../api";
import { day, human, number, point, when } from "../format";
import { type Viewer } from "../shell";
import { t } from "../texts";
import { Act, Card, Choice, Empty, Errors, Facts, fieldError, Id, Load, Money, Note, Page, Status, Table, Text, useDraft, When } from "../ui";

const MapView = lazy(() => import("../mapview"));

const clockQuery = graphql(`query SandboxClock { sandboxClock { now realTime movable moving runId } }`);
const runsQuery = graphql(`query SandboxRuns {
	sandboxRuns(first: 12) { nodes {
		id kind status progress error createdAt
		clock { from reachedAt steps }
		replay { event replayedFrom location { latitude longitude } occurrenceIds candidates claimsOpened lines { currency claimsOpened owed { amount currency } blocked { amount currency } released { amount currency } } }
		reset { claimsWithdrawn payoutsCancelled policiesCancelled quotesExpired }
	} }
}`);
const moveMutation = graphql(`mutation MoveClock($input: MoveSandboxClockInput!) { moveSandboxClock(input: $input) { run { id } } }`);
const replayMutation = graphql(`mutation Replay($input: ReplaySandboxEventInput!) { replaySandboxEvent(input: $input) { run { id } } }`);
const resetMutation = graphql(`mutation Reset($input: ResetSandboxInput!) { resetSandbox(input: $input) { run { id } } }`);

interface Past { event: string; name: string; about: string; days?: number; station?: boolean; at?: { latitude: number; longitude: number } }

const past: Past[] = [
	{ event: "us1000chhc", ...t.machine.events.hualien, at: { latitude: 24.13, longitude: 121.66 } }, { event: "ci3144585", ...t.machine.events.northridge, at: { latitude: 34.21, longitude: -118.54 } },
	{ event: "AL041992", ...t.machine.events.andrew, at: { latitude: 25.5, longitude: -80.3 } }, { event: "AL122005", ...t.machine.events.katrina, at: { latitude: 29.3, longitude: -89.6 } }, { event: "AL132025", ...t.machine.events.melissa, at: { latitude: 18, longitude: -77.9 } },
	{ event: "Seattle/2012-11-17", ...t.machine.events.wet, days: 30, station: true },
];

export default function TimeMachine({ viewer }: { viewer: Viewer }) {
	const runs = useRead(runsQuery, {}, { every: 2500 });
	return (
		<Page title={t.nav.pages["time-machine"]} lead={t.machine.lead} actions={viewer.scopes.includes("claims:write") && <Act name={t.machine.reset} tone="danger" mutation={resetMutation} lead={t.machine.resetLead} input={() => ({})} />}>
			<div class="grid two">
				<div class="stack">
					{viewer.kind === "PARTNER" && <Replay />}
					<Card title={t.machine.runs}>
						<Load from={runs}>{(d) => (d.sandboxRuns?.nodes.length ? <div class="runs">{d.sandboxRuns.nodes.map((run) => <Run key={run.id} run={run} />)}</div> : <Empty>{t.machine.noRuns}</Empty>)}</Load>
					</Card>
				</div>
				<Clock />
			</div>
		</Page>
	);
}

function Replay() {
	const change = useChange(replayMutation);
	const [d, setD] = useDraft("replay", { event: past[0].event, own: "", days: "30", moved: false, latitude: 0, longitude: 0, station: "" });
	const chosen = past.find((p) => p.event === d.event);
	const station = chosen ? chosen.station : d.own.includes("/");
	const at = d.moved ? { latitude: d.latitude, longitude: d.longitude } : chosen?.at;
	const submit = async (event: Event) => {
		event.preventDefault();
		await change.run({ event: chosen?.event ?? d.own.trim(), ...(station ? { days: Number(d.days) || 30, ...(d.station ? { station: d.station } : {}) } : d.moved ? { location: { latitude: d.latitude, longitude: d.longitude } } : {}) });
	};
	return (
		<Card title={t.machine.replay}>
			<form onSubmit={submit}>
				<fieldset class="choices">
					<legend class="hidden">{t.fields.event}</legend>
					{[...past, { event: "", name: t.machine.another, about: t.machine.anotherLead }].map((p) => (
						<label key={p.event}><input type="radio" name="event" checked={d.event === p.event} onChange={() => setD({ ...d, event: p.event, moved: false })} /><strong>{p.name}</strong><span class="faint">{p.about}</span></label>
					))}
				</fieldset>
				{!chosen && <Text label={t.machine.id} hint={t.machine.idHint} value={d.own} onValue={(own) => setD({ ...d, own })} required error={fieldError(change.problem, "event")} />}
				{station
					? <div class="pair"><Text label={t.whatIf.days} inputMode="numeric" value={d.days} onValue={(days) => setD({ ...d, days })} error={fieldError(change.problem, "days")} /><Text label={t.machine.toStation} hint={t.machine.toStationHint} value={d.station} onValue={(name) => setD({ ...d, station: name })} error={fieldError(change.problem, "station")} /></div>
					: <>
						<Suspense fallback={<div class="map low" />}><MapView key={d.event} class="low" label={t.machine.map} marks={[]} pin={at} fit onPlace={(p) => setD({ ...d, ...p, moved: true })} onDrag={(_, p) => setD({ ...d, ...p, moved: true })} /></Suspense>
						<p class="faint">{d.moved ? <>{t.machine.movedTo(point(d.latitude, d.longitude))} <button type="button" class="link" onClick={() => setD({ ...d, moved: false })}>{t.machine.back}</button></> : t.machine.inPlace}</p>
					</>}
				<Errors problem={change.problem} shown={["/input/event", "/input/days", "/input/station"]} />
				<div class="actions"><button class="primary" disabled={change.busy}>{change.busy ? t.working : t.machine.replayNow}</button></div>
			</form>
		</Card>
	);
}

function Clock() {
	const read = useRead(clockQuery, {}, { every: 5000 });
	const change = useChange(moveMutation);
	const [by, setBy] = useState("P7D");
	return (
		<Card title={t.machine.clock}>
			<Load from={read}>
				{({ sandboxClock: c }) => c && (
					<>
						<p class="clock">{when(c.now)}</p>
						<p class="faint">{Math.abs(new Date(c.now).getTime() - new Date(c.realTime).getTime()) > 60_000 ? t.machine.realTime(when(c.realTime)) : t.machine.noOffset}</p>
						{c.moving && <Note>{t.machine.moving}</Note>}
						{c.movable
							? <><div class="pair row"><Choice label={t.machine.forward} value={by} onValue={setBy} options={[["PT1H", t.machine.steps[0]], ["P1D", t.machine.steps[1]], ["P7D", t.machine.steps[2]], ["P30D", t.machine.steps[3]], ["P365D", t.machine.steps[4]]]} /><button disabled={change.busy || c.moving} onClick={() => change.run({ by })}>{t.machine.move}</button></div><p class="faint">{t.machine.forwardLead}</p></>
							: <p class="faint">{t.machine.fixed}</p>}
						<Errors problem={change.problem} />
					</>
				)}
			</Load>
		</Card>
	);
}

type RunLine = NonNullable<ResultOf<typeof runsQuery>["sandboxRuns"]>["nodes"][number];

function Run({ run }: { run: RunLine }) {
	const { replay, clock, reset } = run;
	const name = past.find((p) => p.event === replay?.event)?.name ?? replay?.event;
	return (
		<article>
			<header><h3>{replay ? name : human(run.kind)}</h3><span><Status code={run.status} /> <span class="faint"><When at={run.createdAt} /></span></span></header>
			{run.status === "RUNNING" && <progress max={100} value={run.progress} aria-label={human(run.kind)} />}
			{run.error && <Note tone="bad">{run.error}</Note>}
			{clock && <p class="faint">{t.machine.moved(when(clock.from), when(clock.reachedAt), clock.steps)}</p>}
			{reset && <Facts rows={[[t.nav.pages.claims, number(reset.claimsWithdrawn)], [t.nav.pages.payouts, number(reset.payoutsCancelled)], [t.nav.pages.policies, number(reset.policiesCancelled)], [t.nav.pages.quotes, number(reset.quotesExpired)]]} />}
			{replay && <p class="faint">{t.machine.outcome(replay.replayedFrom ? day(replay.replayedFrom) : "", replay.candidates, replay.claimsOpened)}{replay.location && ` ${t.machine.movedTo(point(replay.location.latitude, replay.location.longitude))}`}</p>}
			{replay && replay.lines.length > 0 && <Table name={t.desk.owed} rows={replay.lines} keyOf={(l) => l.currency} columns={[
				{ title: t.nav.pages.claims, cell: (l) => number(l.claimsOpened) }, { title: t.fields.owed, cell: (l) => <Money of={l.owed} />, end: true }, { title: t.desk.blocked, cell: (l) => <Money of={l.blocked} />, end: true }, { title: t.desk.released, cell: (l) => <Money of={l.released} />, end: true },
			]} />}
			{replay && replay.occurrenceIds.length > 0 && <p class="actions">{replay.occurrenceIds.slice(0, 3).map((id) => <Link key={id} class="button small" href={`/map/${id}`}>{t.machine.see}</Link>)}<Link class="button small" href="/claims">{t.nav.pages.claims}</Link></p>}
			{!replay && <p class="faint"><Id id={run.id} /></p>}
		</article>
	);
}
