import { useEffect, useState } from "preact/compat";
import { Link } from "wouter";
import { graphql, lastSequence, useChange, useRead } from "../api";
import { config } from "../config";
import { human, number } from "../format";
import { address, eventName } from "../lines";
import { feed, type Viewer } from "../shell";
import { t } from "../texts";
import { Act, Card, Choice, type Column, Copy, Errors, Facts, Id, Json, List, Load, Modal, Note, Page, Pager, Status, Table, Tabs, Text, When } from "../ui";

const eventsQuery = graphql(`query Events($after: String, $filter: EventFilter) {
	events(first: 50, after: $after, filter: $filter) { nodes { id sequence type occurredAt subject { type id version } hash } pageInfo { hasNextPage endCursor } }
}`);
const eventQuery = graphql(`query Event($id: ID!) { event(id: $id) { id sequence generation type occurredAt subject { type id } data hash } }`);
const typesQuery = graphql(`query EventTypes { eventTypes { type name description subject } }`);
const endpointsQuery = graphql(`query Endpoints { webhookEndpoints(first: 20) { nodes { id partnerReference url status ordered note eventTypes createdAt } } }`);
const endpointQuery = graphql(`query Endpoint($id: ID!, $after: String, $status: DeliveryStatus) {
	webhookEndpoint(id: $id) {
		id partnerReference url status ordered note eventTypes createdAt version
		deliveries(first: 25, after: $after, status: $status) { nodes { id status createdAt nextAttemptAt eventId event { type sequence } attempts { at statusCode error durationMs answer } } pageInfo { hasNextPage endCursor } }
	}
}`);
const proofQuery = graphql(`query Proof { historyProof { intact events last hash redacted checkpoints signedAt faults { sequence kind detail } } }`);
const callsQuery = graphql(`query Calls($after: String, $filter: CallFilter) { recentCalls(first: 25, after: $after, filter: $filter) { nodes { at requestId client operation status code detail } pageInfo { hasNextPage endCursor } } }`);
const checklistQuery = graphql(`query Checklist { sandboxChecklist { shown items { item description shownAt requestId evidence } } }`);
const badSignatureMutation = graphql(`mutation SendBadSignature($input: SendBadSignatureInput!) { sendBadSignature(input: $input) { run { id } } }`);
const createMutation = graphql(`mutation CreateEndpoint($input: CreateWebhookEndpointInput!) { createWebhookEndpoint(input: $input) { webhookEndpoint { id } secret } }`);
const changeMutation = graphql(`mutation ChangeEndpoint($input: ChangeWebhookEndpointInput!) { changeWebhookEndpoint(input: $input) { webhookEndpoint { id status } } }`);
const deleteMutation = graphql(`mutation DeleteEndpoint($input: DeleteWebhookEndpointInput!) { deleteWebhookEndpoint(input: $input) { webhookEndpointId } }`);
const rotateMutation = graphql(`mutation RotateSecret($input: RotateWebhookSecretInput!) { rotateWebhookSecret(input: $input) { webhookEndpoint { id } secret } }`);
const testMutation = graphql(`mutation TestEndpoint($input: TestWebhookEndpointInput!) { testWebhookEndpoint(input: $input) { delivery { id } } }`);
const retryMutation = graphql(`mutation RetryDelivery($input: RetryDeliveryInput!) { retryDelivery(input: $input) { delivery { id status } } }`);
const retryAllMutation = graphql(`mutation RetryFailed($input: RetryFailedDeliveriesInput!) { retryFailedDeliveries(input: $input) { count } }`);

export default function Developers({ viewer, id }: { viewer: Viewer; id?: string }) {
	const [tab, setTab] = useState("events");
	if (id) return <Endpoint id={id} />;
	return (
		<Page title={t.nav.pages.developers} lead={t.developers.lead}>
			<Tabs name={t.nav.pages.developers} value={tab} onValue={setTab} options={[["events", t.developers.events], ["endpoints", t.developers.endpoints], ["requests", t.developers.requests], ["types", t.developers.types], ...(config.rehearsal ? [["checklist", t.machine.checklist] as const] : []), ["token", t.developers.access]]} />
			{tab === "events" && <Events />}
			{tab === "endpoints" && <Endpoints />}
			{tab === "requests" && <Requests />}
			{tab === "types" && <Types />}
			{tab === "checklist" && <Checklist />}
			{tab === "token" && <Card title={t.developers.access}><Facts rows={[[t.developers.client, viewer.client], [t.fields.partner, viewer.partner], [t.developers.scopes, viewer.scopes.join(" · ")], ["REST", <code>{location.origin}/v1</code>], ["GraphQL", <code>{location.origin}/graphql</code>], [t.developers.manual, <a href="/docs">{location.origin}/docs</a>]]} /></Card>}
		</Page>
	);
}

function Events() {
	const [type, setType] = useState(""), [subject, setSubject] = useState(""), [open, setOpen] = useState<string | null>(null), [proof, setProof] = useState(false);
	const types = useRead(typesQuery, {});
	return (
		<Card class="flush" title={t.developers.events} actions={<button onClick={() => setProof(true)}>{t.developers.prove}</button>}>
			<div class="filters">
				<Choice label={t.developers.type} value={type} onValue={setType} options={[["", t.all], ...(types.data?.eventTypes ?? []).map((x) => [x.type, x.name] as const)]} /><Text label={t.developers.subject} type="search" value={subject} onValue={setSubject} />
			</div>
			{type || subject.length > 12
				? <List query={eventsQuery} variables={{ filter: { ...(type ? { types: [type as "QUOTE_CREATED"] } : {}), ...(subject.length > 12 ? { subject } : {}) } }} pick={(d) => d.events} name={t.developers.events} empty={t.developers.noEvents} columns={eventColumns(setOpen)} />
				: <Newest columns={eventColumns(setOpen)} />}
			{open && <EventModal id={open} onClose={() => setOpen(null)} />}
			{proof && <Proof onClose={() => setProof(false)} />}
		</Card>
	);
}

interface EventLine { id: string; sequence: number; type: string; occurredAt: string; subject: { type: string; id: string }; hash: string }

const eventColumns = (open: (id: string) => void): Column<EventLine>[] => [
	{ title: t.developers.sequence, cell: (e) => number(e.sequence), end: true }, { title: t.developers.type, cell: (e) => <button class="link" onClick={() => open(e.id)}>{eventName(e.type)}</button> },
	{ title: t.developers.subject, cell: (e) => <Id id={e.subject.id} href={address(e.subject.type, e.subject.id) ?? undefined} /> }, { title: t.fields.at, cell: (e) => <When at={e.occurredAt} exact /> }, { title: t.developers.hash, cell: (e) => <code class="id" title={e.hash}>{e.hash.slice(0, 12)}…</code> },
];

const eventsAPage = 25;

// Newest reads the feed backwards, by windows of its sequence.
function Newest({ columns }: { columns: Column<EventLine>[] }) {
	const newest = feed.use()[0]?.sequence ?? 0;
	const [last, setLast] = useState<number | null>(null), [page, setPage] = useState(0);
	useEffect(() => { void lastSequence().then(setLast); }, []);
	const end = Math.max(last ?? 0, page === 0 ? newest : 0) - page * eventsAPage;
	const read = useRead(eventsQuery, { filter: { afterSequence: Math.max(0, end - eventsAPage) } }, { pause: last === null });
	const rows = (read.data?.events?.nodes ?? []).filter((e) => e.sequence <= end).reverse();
	return (
		<Load from={read}>
			{() => (
				<>
					<Table name={t.developers.events} rows={rows} empty={t.developers.noEventsYet} columns={columns} />
					<Pager page={page} onPage={setPage} more={end > eventsAPage} />
				</>
			)}
		</Load>
	);
}

function EventModal({ id, onClose }: { id: string; onClose: () => void }) {
	const read = useRead(eventQuery, { id });
	return <Modal title={t.fields.event} wide onClose={onClose}><Load from={read}>{({ event: e }) => e && <div class="stack"><Facts rows={[[t.developers.type, eventName(e.type)], [t.developers.sequence, `${e.sequence} (${t.developers.generation} ${e.generation})`], [t.fields.at, <When at={e.occurredAt} />], [t.developers.hash, <code>{e.hash}</code>]]} /><Json of={e.data} /></div>}</Load></Modal>;
}

function Proof({ onClose }: { onClose: () => void }) {
	const read = useRead(proofQuery, {});
	return (
		<Modal title={t.developers.prove} onClose={onClose}>
			<Load from={read}>{({ historyProof: p }) => p && <div class="stack"><Note tone={p.intact ? "good" : "bad"}>{p.intact ? t.developers.intact(number(p.events)) : t.developers.broken}</Note><Facts rows={[[t.developers.last, number(p.last)], [t.developers.hash, <code>{p.hash}</code>], [t.developers.checkpoints, number(p.checkpoints)], [t.developers.redacted, number(p.redacted)]]} />{p.faults.map((f) => <p key={f.sequence}>{f.sequence}: {f.detail}</p>)}</div>}</Load>
		</Modal>
	);
}

function Secret({ secret, onClose }: { secret: string | null; onClose: () => void }) {
	return <Modal title={t.developers.secretTitle} onClose={onClose}><p class="lead">{t.developers.secretLead}</p>{secret ? <p class="actions"><code>{secret}</code> <Copy text={secret} /></p> : <p>{t.developers.secretGone}</p>}<div class="actions end"><button class="primary" onClick={onClose}>{t.developers.stored}</button></div></Modal>;
}

function Endpoints() {
	const read = useRead(endpointsQuery, {});
	const [secret, setSecret] = useState<{ value: string | null } | null>(null);
	return (
		<Card class="flush" title={t.developers.endpoints} actions={<Act name={t.developers.add} tone="primary" mutation={createMutation} onDone={(d) => setSecret({ value: d.createWebhookEndpoint!.secret })} fields={[{ name: "url", label: t.developers.url, type: "url", required: true, hint: t.developers.urlHint }, { name: "partnerReference", label: t.fields.reference }, { name: "ordered", label: t.developers.ordered, kind: "check" }]} input={(v) => ({ url: v.url, ordered: v.ordered === "yes", ...(v.partnerReference ? { partnerReference: v.partnerReference } : {}) })} />}>
			<Load from={read}>{(d) => (
				<Table name={t.developers.endpoints} rows={d.webhookEndpoints?.nodes ?? []} empty={t.developers.noEndpoints} columns={[
					{ title: t.developers.url, cell: (e) => <Link href={`/developers/${e.id}`}>{e.url}</Link>, wide: true }, { title: t.fields.reference, cell: (e) => e.partnerReference ?? "–" }, { title: t.fields.status, cell: (e) => <Status code={e.status} /> }, { title: t.developers.type, cell: (e) => e.eventTypes?.length ?? t.all }, { title: t.fields.note, cell: (e) => e.note ?? "–", wide: true },
				]} />
			)}</Load>
			{secret && <Secret secret={secret.value} onClose={() => setSecret(null)} />}
		</Card>
	);
}

function Endpoint({ id }: { id: string }) {
	const [status, setStatus] = useState(""), [secret, setSecret] = useState<{ value: string | null } | null>(null);
	const variables = { id, ...(status ? { status: status as "FAILED" } : {}) };
	const read = useRead(endpointQuery, variables);
	const test = useChange(testMutation), change = useChange(changeMutation), retry = useChange(retryMutation), all = useChange(retryAllMutation), bad = useChange(badSignatureMutation);
	return (
		<Load from={read}>
			{({ webhookEndpoint: e }) => e && (
				<Page title={e.partnerReference ?? t.developers.endpoint} lead={<><Status code={e.status} /> {e.url}</>} back={["/developers", t.nav.pages.developers]} actions={<>
					<button disabled={test.busy} onClick={() => test.run({ webhookEndpointId: id })}>{t.developers.test}</button>
					{config.rehearsal && <button disabled={bad.busy} onClick={() => bad.run({ endpointId: id })}>{t.machine.badSignature}</button>}
					<button disabled={change.busy} onClick={() => change.run({ webhookEndpointId: id, status: e.status === "ENABLED" ? "DISABLED" : "ENABLED" })}>{e.status === "ENABLED" ? t.developers.disable : t.developers.enable}</button>
					<Act name={t.developers.rotate} mutation={rotateMutation} lead={t.developers.rotateLead} onDone={(d) => setSecret({ value: d.rotateWebhookSecret!.secret })} input={() => ({ webhookEndpointId: id })} />
					<Act name={t.developers.remove} tone="danger" mutation={deleteMutation} lead={t.developers.removeLead} onDone={() => history.back()} input={() => ({ webhookEndpointId: id })} />
				</>}>
					{e.note && <Note tone="warn">{e.note}</Note>}
					{[test, change, retry, all, bad].map((c, n) => <Errors key={n} problem={c.problem} />)}
					<Card class="flush" title={t.developers.deliveries} actions={<button class="small" disabled={all.busy} onClick={() => all.run({ webhookEndpointId: id })}>{t.developers.resendAll}</button>}>
						<div class="filters"><Choice label={t.fields.status} value={status} onValue={setStatus} options={["", "PENDING", "DELIVERED", "FAILED"]} /></div>
						<List query={endpointQuery} variables={variables} pick={(d) => d.webhookEndpoint?.deliveries} name={t.developers.deliveries} empty={t.developers.noDeliveries} every={5000} columns={[
							{ title: t.fields.event, cell: (x) => (x.event ? `${x.event.sequence} · ${eventName(x.event.type)}` : x.eventId) }, { title: t.fields.status, cell: (x) => <Status code={x.status} /> }, { title: t.fields.created, cell: (x) => <When at={x.createdAt} /> },
							{ title: t.fields.attempts, cell: (x) => { const last = x.attempts.at(-1); return <span title={last?.answer}>{x.attempts.length}{last && ` · ${last.statusCode ?? human(last.error)} · ${last.durationMs} ms`}</span>; } }, { title: t.developers.next, cell: (x) => <When at={x.nextAttemptAt} short /> },
							{ title: t.developers.resend, cell: (x) => <button class="small" disabled={retry.busy} onClick={() => retry.run({ deliveryId: x.id })}>{t.developers.resend}</button>, end: true },
						]} />
					</Card>
					{secret && <Secret secret={secret.value} onClose={() => setSecret(null)} />}
				</Page>
			)}
		</Load>
	);
}

function Requests() {
	const [id, setId] = useState(""), [refused, setRefused] = useState(false);
	return (
		<Card class="flush" title={t.developers.requests}>
			<p class="lead">{t.developers.requestsLead}</p>
			<div class="filters"><Text label={t.developers.requestId} type="search" value={id} onValue={setId} /><label class="check"><input type="checkbox" checked={refused} onChange={(e) => setRefused(e.currentTarget.checked)} /> {t.developers.refusedOnly}</label></div>
			<List query={callsQuery} variables={{ filter: { refused, ...(id.trim().length > 8 ? { requestId: id.trim() } : {}) } }} pick={(d) => d.recentCalls} name={t.developers.requests} empty={t.developers.noRequests} every={5000} columns={[
				{ title: t.fields.at, cell: (c) => <When at={c.at} exact /> }, { title: t.developers.operation, cell: (c) => <code>{c.operation}</code> }, { title: t.developers.answer, cell: (c) => <><span class={`status ${c.code ? "bad" : "good"}`}>{c.status}</span> {c.code && <code>{c.code}</code>}{c.detail && <p class="faint">{c.detail}</p>}</>, wide: true }, { title: t.developers.client, cell: (c) => c.client }, { title: t.developers.requestId, cell: (c) => <code class="id" title={c.requestId}>{c.requestId.slice(0, 8)}…</code> },
			]} />
		</Card>
	);
}

function Checklist() {
	const read = useRead(checklistQuery, {}, { every: 5000 });
	return (
		<Load from={read}>
			{({ sandboxChecklist: c }) => c && (
				<Card title={t.machine.checklist} actions={<span class="faint">{t.machine.shown(c.shown, c.items.length)}</span>}>
					<p class="lead">{t.machine.checklistLead}</p>
					<ol class="slots">{c.items.map((i, n) => <li key={i.item} class={i.shownAt ? "given" : ""}><i>{i.shownAt ? "✓" : n + 1}</i><strong>{t.machine.items[i.item] ?? human(i.item)}</strong>{i.shownAt ? <When at={i.shownAt} /> : <span>{t.machine.notShown}</span>}<span class="faint">{i.evidence ?? i.description}{i.requestId && <> · {t.requestId} <code>{i.requestId}</code></>}</span></li>)}</ol>
				</Card>
			)}
		</Load>
	);
}

function Types() {
	const read = useRead(typesQuery, {});
	return <Card class="flush" title={t.developers.types}><Load from={read}>{(d) => <Table name={t.developers.types} rows={d.eventTypes ?? []} keyOf={(x) => x.type} columns={[{ title: t.developers.type, cell: (x) => <code>{x.name}</code> }, { title: t.developers.subject, cell: (x) => x.subject }, { title: t.fields.description, cell: (x) => x.description, wide: true }]} />}</Load></Card>;
}
