import { graphql, useRead } from "../api";
import { useFilter } from "../filter";
import { duration, human, number } from "../format";
import { t } from "../texts";
import { Act, Card, List, Load, Page, Status, Table, When } from "../ui";

const overviewQuery = graphql(`query JobOverview { failingJobs { kind count lastError lastAt explanation } jobQueues { name pausedAt } jobCounts { queue kind state count overdueSeconds } }`);
const jobsQuery = graphql(`query Jobs($after: String, $filter: JobFilter) { jobs(first: 25, after: $after, filter: $filter) { nodes { id kind queue state attempt maxAttempts createdAt scheduledAt lastError } pageInfo { hasNextPage endCursor } } }`);
const retryMutation = graphql(`mutation RetryJobs($input: RetryJobsInput!) { retryJobs(input: $input) { matched changed skipped } }`);
const pauseMutation = graphql(`mutation PauseQueue($input: PauseQueueInput!) { pauseQueue(input: $input) { queue { name } } }`);
const resumeMutation = graphql(`mutation ResumeQueue($input: ResumeQueueInput!) { resumeQueue(input: $input) { queue { name } } }`);
const cancelMutation = graphql(`mutation CancelJobs($input: CancelJobsInput!) { cancelJobs(input: $input) { matched changed skipped } }`);
const reason = [{ name: "reason", label: t.reason, kind: "area" as const, required: true }];

export default function Jobs() {
	const read = useRead(overviewQuery, {}, { every: 10_000 });
	const [filter, bar] = useFilter(["state", "kind", "queue"], { state: ["", "AVAILABLE", "RUNNING", "SCHEDULED", "RETRYABLE", "DISCARDED", "CANCELLED", "COMPLETED", "PENDING"] });
	return (
		<Page title={t.nav.pages.jobs} lead={t.jobs.lead}>
			<Load from={read}>
				{(d) => (
					<div class="grid one">
						<Card title={t.jobs.failing} class="flush">
							<Table name={t.jobs.failing} rows={d.failingJobs ?? []} keyOf={(j) => j.kind} empty={t.jobs.noFailing} columns={[{ title: t.jobs.kind, cell: (j) => <><code>{j.kind}</code><p class="faint">{j.explanation}</p></>, wide: true }, { title: t.home.count, cell: (j) => number(j.count), end: true }, { title: t.jobs.error, cell: (j) => j.lastError, wide: true }, { title: t.fields.at, cell: (j) => <When at={j.lastAt} short /> }, { title: t.inbox.action, end: true, cell: (j) => <Act name={t.jobs.retry} mutation={retryMutation} lead={t.jobs.retryKind(j.kind)} fields={reason} input={(v) => ({ filter: { kind: j.kind, state: "RETRYABLE" as const }, reason: v.reason, dryRun: false })} /> }]} />
						</Card>
						<div class="grid two"><Card title={t.jobs.counts} class="flush">
							<Table name={t.jobs.counts} rows={(d.jobCounts ?? []).filter((j) => j.state !== "COMPLETED")} keyOf={(j) => j.queue + j.kind + j.state} empty={t.jobs.idle} columns={[{ title: t.jobs.kind, cell: (j) => <code>{j.kind}</code> }, { title: t.fields.status, cell: (j) => <Status code={j.state} /> }, { title: t.home.count, cell: (j) => number(j.count), end: true }, { title: t.jobs.overdue, cell: (j) => (j.overdueSeconds > 0 ? duration(`PT${j.overdueSeconds > 120 ? `${Math.round(j.overdueSeconds / 60)}M` : `${j.overdueSeconds}S`}`) : "–"), end: true }]} />
						</Card>
						<Card title={t.jobs.queues}>
							<ul class="rows">{(d.jobQueues ?? []).map((q) => <li key={q.name}><span><code>{q.name}</code> {q.pausedAt && <span class="faint">{t.jobs.paused} <When at={q.pausedAt} short /></span>}</span>{q.pausedAt
								? <Act name={t.jobs.resume} title={`${t.jobs.resume}: ${q.name}`} mutation={resumeMutation} fields={reason} input={(v) => ({ queue: q.name, reason: v.reason })} />
								: <Act name={t.jobs.pause} title={`${t.jobs.pause}: ${q.name}`} mutation={pauseMutation} lead={t.jobs.pauseLead} fields={reason} input={(v) => ({ queue: q.name, reason: v.reason })} />}</li>)}</ul>
						</Card></div>
					</div>
				)}
			</Load>
			<Card title={t.nav.pages.jobs} class="flush">
				{bar}
				<List query={jobsQuery} variables={{ filter }} pick={(d) => d.jobs} name={t.nav.pages.jobs} every={10_000} columns={[
					{ title: t.fields.id, cell: (j) => j.id, end: true }, { title: t.jobs.kind, cell: (j) => <code>{j.kind}</code> }, { title: t.jobs.queue, cell: (j) => j.queue }, { title: t.fields.status, cell: (j) => <Status code={j.state} /> }, { title: t.fields.attempts, cell: (j) => `${j.attempt}/${j.maxAttempts}`, end: true }, { title: t.jobs.due, cell: (j) => <When at={j.scheduledAt} short /> }, { title: t.jobs.error, cell: (j) => j.lastError ?? "–", wide: true },
					{ title: t.inbox.action, end: true, cell: (j) => (["RETRYABLE", "DISCARDED", "SCHEDULED", "AVAILABLE", "CANCELLED"].includes(j.state) ? <span class="actions"><Act name={t.jobs.retry} mutation={retryMutation} fields={reason} input={(v) => ({ filter: { ids: [j.id] }, reason: v.reason, dryRun: false })} /><Act name={t.cancel} tone="danger" confirm={t.jobs.cancelIt} mutation={cancelMutation} lead={human(j.kind)} fields={reason} input={(v) => ({ filter: { ids: [j.id] }, reason: v.reason, dryRun: false })} /></span> : null) },
				]} />
			</Card>
		</Page>
	);
}
