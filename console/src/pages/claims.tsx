import { useState } from "preact/compat";
import { Link } from "wouter";
import { graphql, send, useChange, useRead } from "../api";
import { useFilter } from "../filter";
import { human, measure, minorDigits, money, percent, toMinor } from "../format";
import { type Viewer } from "../shell";
import { t } from "../texts";
import { Timeline } from "../timeline";
import { AccountForm } from "../account";
import { Act, Area, Card, Errors, Facts, Field, Id, List, Load, metadataRows, Money, Note, Page, Status, Table, useDraft, When } from "../ui";

const listQuery = graphql(`query Claims($after: String, $filter: ClaimFilter) {
	claims(first: 25, after: $after, filter: $filter) {
		nodes { id partner partnerReference status origin policyId amount { amount currency } openedAt occurrence { source sourceEventId } policy { productKey } }
		pageInfo { hasNextPage endCursor }
	}
}`);

const oneQuery = graphql(`query Claim($id: ID!) {
	claim(id: $id) {
		id version partner partnerReference metadata status origin description policyId openedAt closedAt requestedAmount { amount currency } amount { amount currency }
		policy { productKey limit { amount currency } limitRemaining { amount currency } }
		occurrence { id source sourceEventId occurredAt }
		determination { index { value unit } threshold { value unit } occurredAt distanceKm factor amount { amount currency } stage firstDay lastDay sourceVersion receiptHash }
		decision { outcome reasonCodes decidedAt nextReviewAt }
		payouts { id status blockedReason amount { amount currency } releasedAt reconciledAt createdAt }
		timeline(last: 60) { nodes { id kind at summary actor { kind name } } }
		messages(first: 50) { nodes { id createdAt author { kind name } body } }
		attachments(first: 20) { nodes { id fileName contentType size createdAt purpose downloadUrl } }
		payoutMethods(first: 5) { nodes { id type status currency beneficiary { name country } display { last4 institution } verification { code checkedAt } } }
		measurementState { selectedSource decisionDueAt payoutDueAt longStopAt sources { source state index { value unit } amount { amount currency } } challenge { status openedAt decidedAt reasonCodes } }
	}
}`);

const explainQuery = graphql(`query ExplainClaim($policyId: ID!, $occurrence: OccurrenceRefInput!) { explain(policyId: $policyId, occurrence: $occurrence) { sentences missedBy { value unit } radiusKm distanceKm } }`);
const actionsQuery = graphql(`query ClaimActions($id: ID!) { claim(id: $id) { operatorActions { at operation author note payoutId } } }`);
const receiptQuery = graphql(`query ClaimReceipt($claimId: ID!) { claimReceipt(claimId: $claimId) { payload key { kty crv x kid alg use } jws } }`);
const messageMutation = graphql(`mutation AddMessage($input: AddMessageInput!) { addMessage(input: $input) { message { id } } }`);
const attachMutation = graphql(`mutation AddAttachment($input: AddAttachmentInput!) { addAttachment(input: $input) { attachment { id } } }`);
const decideMutation = graphql(`mutation DecideClaim($input: DecideClaimInput!) { decideClaim(input: $input) { claim { id status } } }`);
const challengeMutation = graphql(`mutation ChallengeClaim($input: ChallengeClaimInput!) { challengeClaim(input: $input) { claim { id } } }`);
const decideChallengeMutation = graphql(`mutation DecideChallenge($input: DecideChallengeInput!) { decideChallenge(input: $input) { claim { id } } }`);
const withdrawMutation = graphql(`mutation WithdrawClaim($input: WithdrawClaimInput!) { withdrawClaim(input: $input) { claim { id status } } }`);

export default function Claims({ viewer, id }: { viewer: Viewer; id?: string }) {
	return id ? <Claim viewer={viewer} id={id} /> : <All viewer={viewer} />;
}

function All({ viewer }: { viewer: Viewer }) {
	const operator = viewer.kind === "OPERATOR";
	const [filter, bar, isFiltered] = useFilter(["status", "product", "partnerReference", ...(operator ? ["partner"] : [])], { status: ["", "OPENED", "APPROVED", "DEFERRED", "DECLINED", "WITHDRAWN", "CLOSED"] });
	return (
		<Page title={t.nav.pages.claims} lead={t.claims.lead}>
			<Card class="flush">
				{bar}
				<List query={listQuery} variables={{ filter }} pick={(d) => d.claims} name={t.nav.pages.claims} empty={isFiltered ? t.claims.empty : t.claims.none} every={operator ? 15_000 : undefined} columns={[
					{ title: t.fields.claim, cell: (c) => <Id id={c.id} href={`/claims/${c.id}`} /> },
					...(operator ? [{ title: t.fields.partner, cell: (c: { partner: string }) => c.partner }] : []),
					{ title: t.fields.status, cell: (c) => <Status code={c.status} /> }, { title: t.fields.event, cell: (c) => c.occurrence ? `${c.occurrence.source} ${c.occurrence.sourceEventId}` : human(c.origin) },
					{ title: t.fields.product, cell: (c) => c.policy?.productKey ?? "–" }, { title: t.fields.policy, cell: (c) => <Id id={c.policyId} href={`/policies/${c.policyId}`} /> },
					{ title: t.fields.opened, cell: (c) => <When at={c.openedAt} /> }, { title: t.fields.amount, cell: (c) => <Money of={c.amount} />, end: true },
				]} />
			</Card>
		</Page>
	);
}

function Claim({ viewer, id }: { viewer: Viewer; id: string }) {
	const operator = viewer.kind === "OPERATOR";
	const read = useRead(oneQuery, { id }, { every: operator ? 10_000 : undefined });
	return (
		<Load from={read}>
			{({ claim: c }) => {
				if (!c) return null;
				const currency = c.policy?.limit.currency ?? c.amount?.currency ?? "USD";
				const waiting = c.payouts.some((p) => ["PAYOUT_METHOD_MISSING", "PAYOUT_METHOD_UNVERIFIED", "RAIL_REJECTED", "RAIL_MISMATCH"].includes(p.blockedReason ?? "") || p.status === "RETURNED");
				return (
					<Page title={t.claims.title(c.occurrence?.sourceEventId ?? c.partnerReference ?? t.claims.reported)} back={["/claims", t.nav.pages.claims]} lead={<><Status code={c.status} /> <code class="id">{c.id}</code></>} actions={<>{c.determination && <Receipt id={c.id} />}{operator ? <Decide id={c.id} version={c.version} status={c.status} currency={currency} /> : viewer.scopes.includes("claims:write") && <PartnerActions claim={c} />}</>}>
						<Card>
							<dl class="figures">
								<div><dt>{t.fields.owed}</dt><dd>{money(c.amount)}</dd></div><div><dt>{t.fields.share}</dt><dd>{percent(c.determination?.factor)}</dd></div>
								<div><dt>{t.fields.index}</dt><dd>{measure(c.determination?.index)}<small>{c.determination ? t.claims.needed(measure(c.determination.threshold)) : ""}</small></dd></div>
								<div><dt>{t.fields.remaining}</dt><dd>{money(c.policy?.limitRemaining)}</dd></div>
							</dl>
						</Card>
						{waiting && viewer.scopes.includes("payout_methods:write") && <Note tone="warn" title={t.claims.accountNeeded}>{t.claims.accountLead}</Note>}
						<div class="grid two">
							<div class="stack">
								<Card title={t.claims.decision}><Words claim={c} /></Card>
								{c.measurementState && <Measurement claim={c} state={c.measurementState} operator={operator} currency={currency} />}
								<Card title={t.nav.pages.payouts}>
									<Table name={t.nav.pages.payouts} rows={c.payouts} empty={t.claims.noPayouts} columns={[
										{ title: t.fields.payout, cell: (p) => <Id id={p.id} href={`/payouts/${p.id}`} /> }, { title: t.fields.status, cell: (p) => <Status code={p.status} more={p.blockedReason} /> },
										{ title: t.fields.at, cell: (p) => <When short at={p.reconciledAt ?? p.releasedAt ?? p.createdAt} /> }, { title: t.fields.amount, cell: (p) => <Money of={p.amount} />, end: true },
									]} />
								</Card>
								<Card title={t.claims.accounts} actions={viewer.scopes.includes("payout_methods:write") && <AccountForm claimId={c.id} currency={currency} primary={waiting} />}>
									<Table name={t.claims.accounts} rows={c.payoutMethods?.nodes ?? []} empty={t.claims.noAccounts} columns={[
										{ title: t.fields.accountHolder, cell: (m) => m.beneficiary.name, wide: true }, { title: t.fields.account, cell: (m) => `${human(m.type)} ···· ${m.display.last4}` },
										{ title: t.fields.bank, cell: (m) => m.display.institution ?? "–" }, { title: t.fields.status, cell: (m) => <Status code={m.status} more={m.status === "REJECTED" ? m.verification?.code : null} /> },
									]} />
								</Card>
								<Card title={t.claims.messages}><Messages id={c.id} viewer={viewer} nodes={c.messages?.nodes ?? []} /></Card>
								<Card title={t.claims.evidence}><Evidence id={c.id} nodes={c.attachments?.nodes ?? []} /></Card>
							</div>
							<div class="stack">
								<Card title={t.policies.details}>
									<Facts rows={[
										[t.fields.policy, <Id id={c.policyId} href={`/policies/${c.policyId}`} />], operator && [t.fields.partner, c.partner], c.partnerReference && [t.fields.reference, c.partnerReference],
										c.occurrence && [t.fields.event, <Link href={`/${operator ? "events" : "map"}/${c.occurrence.id}`}>{c.occurrence.source} {c.occurrence.sourceEventId}</Link>], [t.fields.opened, <When at={c.openedAt} />], c.closedAt && [t.fields.closed, <When at={c.closedAt} />],
										c.description && [t.fields.description, c.description], c.requestedAmount && [t.claims.requested, money(c.requestedAmount)],
										c.determination && [t.claims.stage, <><Status code={c.determination.stage} /> {t.claims.revision(c.determination.sourceVersion)}</>], c.determination?.distanceKm != null && [t.fields.distance, `${c.determination.distanceKm.toFixed(1)} km`],
										c.determination && [t.claims.receiptHash, <code>{c.determination.receiptHash}</code>], ...metadataRows(c.metadata),
									]} />
								</Card>
								{operator && <Actions id={c.id} />}
								<Card title={t.timeline}><Timeline nodes={c.timeline?.nodes ?? []} /></Card>
							</div>
						</div>
					</Page>
				);
			}}
		</Load>
	);
}

interface Decided { policyId: string; status: string; occurrence: { id: string } | null; decision: { outcome: string; reasonCodes: readonly string[]; decidedAt: string; nextReviewAt: string | null } | null }

// Words says why the claim is owed or not, in the sentences that the API explains it with.
function Words({ claim }: { claim: Decided }) {
	const explained = useRead(explainQuery, { policyId: claim.policyId, occurrence: { id: claim.occurrence?.id } }, { pause: !claim.occurrence });
	return (
		<div class="stack">
			{claim.decision ? <p><Status code={claim.decision.outcome} /> {claim.decision.reasonCodes.map(human).join(", ")}<span class="faint"> · <When at={claim.decision.decidedAt} /></span></p> : <p>{t.claims.undecided}</p>}
			{claim.decision?.nextReviewAt && <p class="faint">{t.claims.review} <When at={claim.decision.nextReviewAt} /></p>}
			{explained.data?.explain?.sentences.map((sentence) => <p key={sentence}>{sentence}</p>)}
		</div>
	);
}

interface StateOf { selectedSource: string | null; decisionDueAt: string | null; payoutDueAt: string | null; longStopAt: string; sources: readonly { source: string; state: string; index: { value: string; unit: string } | null; amount: { amount: number; currency: string } | null }[]; challenge: { status: string; openedAt: string; decidedAt: string | null; reasonCodes: readonly string[] } | null }

// Measurement shows how far the sources have come, and the challenge of the decision.
function Measurement({ claim, state, operator, currency }: { claim: { id: string; version: number; status: string }; state: StateOf; operator: boolean; currency: string }) {
	const { challenge } = state;
	return (
		<Card title={t.claims.measurement} actions={operator && challenge?.status === "OPEN" && <DecideChallenge claim={claim} currency={currency} />}>
			{challenge && <Note tone={challenge.status === "OPEN" ? "warn" : "plain"} title={t.claims.challenged(human(challenge.status).toLowerCase())}><When at={challenge.decidedAt ?? challenge.openedAt} /> {challenge.reasonCodes.map(human).join(", ")}</Note>}
			<Table name={t.claims.measurement} rows={state.sources} keyOf={(s) => s.source} columns={[
				{ title: t.fields.source, cell: (s) => <>{s.source}{s.source === state.selectedSource && <span class="faint"> · {t.claims.decides}</span>}</> }, { title: t.fields.status, cell: (s) => <Status code={s.state} /> }, { title: t.fields.index, cell: (s) => measure(s.index), end: true }, { title: t.fields.amount, cell: (s) => <Money of={s.amount} />, end: true },
			]} />
			<Facts rows={[state.decisionDueAt && [t.claims.decisionDue, <When at={state.decisionDueAt} />], state.payoutDueAt && [t.claims.payoutDue, <When at={state.payoutDueAt} />], [t.claims.longStop, <When at={state.longStopAt} />]]} />
		</Card>
	);
}

function DecideChallenge({ claim, currency }: { claim: { id: string; version: number; status: string }; currency: string }) {
	return (
		<Act name={t.claims.decideChallenge} tone="primary" mutation={decideChallengeMutation} lead={t.claims.decideChallengeLead} fields={[
			{ name: "outcome", label: t.fields.outcome, kind: "choice", options: [["REJECTED", t.claims.challengeRejected], ["ACCEPTED", t.claims.challengeAccepted]] }, { name: "furtherAmount", label: t.claims.further(currency), hint: t.claims.furtherHint },
			{ name: "message", label: t.claims.messageToPartner, kind: "area" }, { name: "note", label: t.claims.noteForUs, kind: "area" },
		]} input={(v) => {
			const amount = v.furtherAmount ? toMinor(v.furtherAmount, currency) : null;
			if (Number.isNaN(amount)) return t.claims.badAmount;
			return { claimId: claim.id, version: claim.version, outcome: v.outcome as "REJECTED", ...(amount !== null ? { furtherAmount: { amount, currency } } : {}), ...(v.message ? { message: v.message } : {}), ...(v.note ? { note: v.note } : {}) };
		}} />
	);
}

// PartnerActions are what a partner may do to a claim of its own.
function PartnerActions({ claim }: { claim: { id: string; version: number; status: string; origin: string; measurementState: StateOf | null; attachments: { nodes: readonly { id: string; fileName: string }[] } | null } }) {
	const evidence = claim.attachments?.nodes ?? [];
	return (
		<>
			{["OPENED", "DEFERRED"].includes(claim.status) && <Act name={t.claims.withdraw} tone="danger" mutation={withdrawMutation} lead={t.claims.withdrawLead} input={() => ({ claimId: claim.id, version: claim.version })} />}
			{claim.measurementState && claim.measurementState.challenge?.status !== "OPEN" && ["APPROVED", "DECLINED", "CLOSED"].includes(claim.status) && (
				<Act name={t.claims.challenge} mutation={challengeMutation} lead={t.claims.challengeLead} fields={[{ name: "reason", label: t.claims.challengeReason, kind: "area", required: true }, ...evidence.map((a) => ({ name: a.id, label: t.claims.withDocument(a.fileName), kind: "check" as const }))]}
					input={(v) => ({ claimId: claim.id, reason: v.reason, attachmentIds: evidence.filter((a) => v[a.id] === "yes").map((a) => a.id) })} />
			)}
		</>
	);
}

function Messages({ id, viewer, nodes }: { id: string; viewer: Viewer; nodes: readonly { id: string; createdAt: string; author: { kind: string; name: string }; body: string }[] }) {
	const change = useChange(messageMutation);
	const [draft, setDraft, drop] = useDraft(`message.${id}`, { body: "" });
	const submit = async (event: Event) => {
		event.preventDefault();
		if (await change.run({ claimId: id, body: draft.body })) drop();
	};
	return (
		<>
			{nodes.length === 0 ? <p class="faint">{t.claims.noMessages}</p> : <ul class="messages">{nodes.map((m) => <li key={m.id} class={m.author.kind === viewer.kind ? "own" : ""}><header><span>{m.author.name || human(m.author.kind)}</span><When at={m.createdAt} /></header>{m.body}</li>)}</ul>}
			<form onSubmit={submit}>
				<Area label={t.claims.write} value={draft.body} onValue={(body) => setDraft({ body })} rows={2} required />
				<Errors problem={change.problem} />
				<div class="actions"><button disabled={change.busy || !draft.body.trim()}>{t.claims.send}</button></div>
			</form>
		</>
	);
}

const largest = 40 << 10; // what fits base64 into a GraphQL request; larger files go through REST

function Evidence({ id, nodes }: { id: string; nodes: readonly { id: string; fileName: string; contentType: string; size: number; createdAt: string; downloadUrl: string }[] }) {
	const change = useChange(attachMutation);
	const [own, setOwn] = useState("");
	const add = async (event: Event) => {
		const input = event.currentTarget as HTMLInputElement;
		const file = input.files?.[0];
		if (!file) return;
		setOwn("");
		const answer = file.size > largest ? await upload(id, file) : null;
		if (answer) setOwn(answer);
		if (file.size <= largest) {
			const bytes = new Uint8Array(await file.arrayBuffer());
			await change.run({ claimId: id, fileName: file.name, contentType: file.type || "application/octet-stream", contentBase64: btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join("")) });
		}
		input.value = "";
	};
	return (
		<>
			<Table name={t.claims.evidence} rows={nodes} empty={t.claims.noEvidence} columns={[
				{ title: t.fields.name, cell: (a) => <button class="link" onClick={() => download(a.downloadUrl, a.fileName)}>{a.fileName}</button>, wide: true }, { title: t.claims.size, cell: (a) => `${Math.ceil(a.size / 1024)} KiB`, end: true }, { title: t.fields.created, cell: (a) => <When at={a.createdAt} /> },
			]} />
			<Field label={t.claims.addEvidence} hint={t.claims.evidenceHint}>{(a) => <input type="file" {...a} onChange={add} disabled={change.busy} />}</Field>
			{own && <Note tone="bad">{own}</Note>}
			<Errors problem={change.problem} />
		</>
	);
}

// upload sends a large file through REST; it returns the problem's sentence.
async function upload(id: string, file: File): Promise<string> {
	const form = new FormData();
	form.set("file", file, file.name);
	const answer = await send(`/v1/claims/${id}/attachments`, { method: "POST", body: form, headers: { "Idempotency-Key": crypto.randomUUID() } }).catch(() => null);
	if (answer?.ok) return "";
	const body = await answer?.json().catch(() => null);
	return body?.detail ?? t.offline.change;
}

// download saves a file that needs the token. It is never shown as a page.
async function download(address: string, name: string) {
	const url = new URL(address, location.origin);
	const answer = await send(url.pathname + url.search);
	if (answer.ok) save(await answer.blob(), name);
}

export function save(content: Blob, name: string) {
	const link = document.createElement("a");
	link.href = URL.createObjectURL(new Blob([content], { type: "application/octet-stream" }));
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function Receipt({ id }: { id: string }) {
	const [asked, setAsked] = useState(false);
	const read = useRead(receiptQuery, { claimId: id }, { pause: !asked });
	const [saved, setSaved] = useState(false);
	if (asked && read.data?.claimReceipt && !saved) {
		setSaved(true);
		save(new Blob([JSON.stringify(read.data.claimReceipt, null, 2)]), `${id}.receipt.json`);
	}
	return <>{read.problem && asked && <span class="error">{read.problem.message}</span>}<button onClick={() => { setSaved(false); setAsked(true); read.again(); }}>{t.claims.receipt}</button></>;
}

function Actions({ id }: { id: string }) {
	const read = useRead(actionsQuery, { id });
	return (
		<Card title={t.claims.actions}>
			<Load from={read}>{(d) => (d.claim?.operatorActions?.length ? <ul class="rows">{d.claim.operatorActions.map((a) => <li key={a.at + a.operation}><span>{human(a.operation)} · {a.author}{a.note && <span class="faint"> {a.note}</span>}</span><When at={a.at} /></li>)}</ul> : <p class="faint">{t.claims.noActions}</p>)}</Load>
		</Card>
	);
}

const reasons = ["OPERATOR_DECISION", "EVIDENCE_NEEDED", "COMPLIANCE_HOLD", "GOODWILL", "THRESHOLD_MET", "THRESHOLD_NOT_MET", "OUTSIDE_PERIOD", "OUTSIDE_PLACE", "DUPLICATE_EVENT"];

function Decide({ id, version, status, currency }: { id: string; version: number; status: string; currency: string }) {
	const open = ["OPENED", "DEFERRED"].includes(status);
	return (
		<>
			<Act name={t.claims.withdraw} mutation={withdrawMutation} tone="danger" hidden={!open} fields={[{ name: "note", label: t.fields.note, kind: "area", required: true }]} input={(v) => ({ claimId: id, version, note: v.note })} />
			<Act name={t.claims.decide} tone="primary" mutation={decideMutation} hidden={!open} lead={t.claims.decideLead} fields={[
				{ name: "outcome", label: t.fields.outcome, kind: "choice", options: ["APPROVED", "DEFERRED", "DECLINED"] }, { name: "amount", label: t.claims.amountIn(currency), hint: t.claims.amountHint(minorDigits(currency)) },
				{ name: "reasonCodes", label: t.reason, kind: "choice", options: reasons }, { name: "nextReviewAt", label: t.claims.reviewAt, type: "datetime-local", hint: t.claims.reviewHint },
				{ name: "message", label: t.claims.messageToPartner, kind: "area" }, { name: "note", label: t.claims.noteForUs, kind: "area" },
			]} input={(v) => {
				const amount = v.amount ? toMinor(v.amount, currency) : null;
				if (Number.isNaN(amount)) return t.claims.badAmount;
				return {
					claimId: id, version, outcome: v.outcome as "APPROVED", reasonCodes: [v.reasonCodes as "GOODWILL"], ...(amount !== null ? { amount: { amount, currency } } : {}),
					...(v.nextReviewAt ? { nextReviewAt: new Date(v.nextReviewAt).toISOString() } : {}), ...(v.message ? { message: v.message } : {}), ...(v.note ? { note: v.note } : {}),
				};
			}} />
		</>
	);
}

