import { graphql, useRead } from "../api";
import { t } from "../texts";
import { Act, Card, Load, Note, Page, Status, Table, When } from "../ui";

const stopsQuery = graphql(`query Stops {
	releaseStops { stoppedAt stoppedBy reason resumedAt resumedBy resumeReason acknowledged }
	releaseResumptions { id state startedAt startedBy reason done total refusal finishedAt }
	invariants { name description violationCount checkedAt violations { subject partner message foundAt acknowledgedAt } }
}`);
const stopMutation = graphql(`mutation StopReleases($input: StopReleasesInput!) { stopReleases(input: $input) { releaseStop { stoppedAt } leaving { count } } }`);
const resumeMutation = graphql(`mutation ResumeReleases($input: ResumeReleasesInput!) { resumeReleases(input: $input) { resumption { id state } } }`);

export default function Stop() {
	const read = useRead(stopsQuery, {}, { every: 4000 });
	return (
		<Page title={t.nav.pages["release-stop"]} lead={t.stop.lead}>
			<Load from={read}>
				{(d) => {
					const stop = d.releaseStops?.find((s) => !s.resumedAt), resumption = d.releaseResumptions?.find((r) => !r.finishedAt);
					const violated = (d.invariants ?? []).filter((i) => i.violationCount > 0);
					return (
						<>
							<Card>
								<div class="bigswitch" role="status">
									<div class={`disc ${stop ? "stopped" : ""}`}>{stop ? t.stop.stopped : t.stop.flowing}</div>
									<p class="lead">{stop ? t.stop.since(stop.stoppedBy, stop.reason) : t.stop.flowingLead} {stop && <When at={stop.stoppedAt} />}</p>
									{resumption && <Note>{t.stop.resuming(resumption.done, resumption.total)} <progress max={Math.max(1, resumption.total)} value={resumption.done} /></Note>}
									{stop
										? <Act name={t.stop.resume} tone="primary" mutation={resumeMutation} lead={t.stop.resumeLead} disabled={Boolean(resumption)} fields={[{ name: "reason", label: t.reason, kind: "area", required: true }, { name: "acknowledge", label: t.stop.acknowledge, kind: "check" }]} input={(v) => ({ reason: v.reason, acknowledge: v.acknowledge === "yes" })} />
										: <Act name={t.stop.stop} tone="danger solid" mutation={stopMutation} lead={t.stop.stopLead} fields={[{ name: "reason", label: t.reason, kind: "area", required: true }]} input={(v) => ({ reason: v.reason })} />}
								</div>
							</Card>
							<Card title={t.stop.invariants} class="flush">
								{violated.length === 0 && <Note tone="good">{t.stop.allHold}</Note>}
								<Table name={t.stop.invariants} rows={d.invariants ?? []} keyOf={(i) => i.name} columns={[{ title: t.fields.name, cell: (i) => i.name }, { title: t.fields.description, cell: (i) => i.description, wide: true }, { title: t.stop.violations, cell: (i) => (i.violationCount ? <span class="status bad">{i.violationCount}</span> : <Status code="OK" />), end: true }, { title: t.stop.checked, cell: (i) => <When at={i.checkedAt} short />, end: true }]} />
								{violated.flatMap((i) => i.violations ?? []).slice(0, 20).map((v) => <Note key={v.subject + v.message} tone="bad" title={v.subject}>{v.partner}: {v.message}</Note>)}
							</Card>
							<Card title={t.stop.history} class="flush">
								<Table name={t.stop.history} rows={d.releaseStops ?? []} keyOf={(s) => s.stoppedAt} empty={t.stop.never} columns={[{ title: t.stop.stoppedAt, cell: (s) => <When at={s.stoppedAt} /> }, { title: t.fields.who, cell: (s) => s.stoppedBy }, { title: t.reason, cell: (s) => s.reason, wide: true }, { title: t.stop.resumedAt, cell: (s) => <When at={s.resumedAt} /> }, { title: t.fields.who + " ", cell: (s) => s.resumedBy ?? "–" }, { title: t.stop.why, cell: (s) => s.resumeReason ?? "–", wide: true }]} />
							</Card>
						</>
					);
				}}
			</Load>
		</Page>
	);
}
