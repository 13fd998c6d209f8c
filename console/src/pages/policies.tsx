import { Link, useLocation } from "wouter";
import { graphql, useChange, useRead } from "../api";
import { config } from "../config";
import { Curve } from "../curve";
import { duration, human, money, place } from "../format";
import { Terms } from "../terms";
import { Timeline } from "../timeline";
import { useFilter } from "../filter";
import { type Viewer } from "../shell";
import { t } from "../texts";
import { Act, Card, Choice, Errors, Facts, Id, List, Load, metadataRows, Money, Page, Status, Table, Text, useDraft, When } from "../ui";

const listQuery = graphql(`query Policies($after: String, $filter: PolicyFilter) {
	policies(first: 25, after: $after, filter: $filter) {
		nodes { id partner partnerReference status coverPhase productKey premium { amount currency } limit { amount currency } limitRemaining { amount currency } effectiveAt expiresAt claimsCount }
		pageInfo { hasNextPage endCursor }
	}
}`);

const oneQuery = graphql(`query Policy($id: ID!) {
	policy(id: $id) {
		id version partner partnerReference metadata status coverPhase quoteId productKey productVersion termsHash policyholder { name email country }
		premium { amount currency } limit { amount currency } limitRemaining { amount currency } effectiveAt expiresAt cancelledAt claimsCount createdAt
		cover { term waitingPeriod reportingWindow place { kind latitude longitude radiusKm west south east north station } trigger { kind index unit direction strict decidesOn maximumDepthKm } payoutCurves { radiusShare points { index before reached } } measurement { sources { source stage } wait challengeWindow } }
		claims(first: 20) { nodes { id status origin amount { amount currency } openedAt occurrence { sourceEventId occurredAt } } }
		timeline(last: 40) { nodes { id kind at summary actor { kind name } } }
		payoutMethods(first: 5) { nodes { id status type currency display { last4 institution } } }
	}
}`);

const cancelMutation = graphql(`mutation CancelPolicy($input: CancelPolicyInput!) { cancelPolicy(input: $input) { policy { id status } } }`);
const openMutation = graphql(`mutation OpenClaim($input: OpenClaimInput!) { openClaim(input: $input) { claim { id } } }`);

export default function Policies({ viewer, id }: { viewer: Viewer; id?: string }) {
	return id ? <Policy viewer={viewer} id={id} /> : <All viewer={viewer} />;
}

function All({ viewer }: { viewer: Viewer }) {
	const operator = viewer.kind === "OPERATOR";
	const [filter, bar, isFiltered] = useFilter(["status", "product", "partnerReference", ...(operator ? ["partner"] : [])], { status: ["", "ACTIVE", "EXHAUSTED", "EXPIRED", "CANCELLED", "ARCHIVED"] });
	return (
		<Page title={t.nav.pages.policies} lead={t.policies.lead} actions={!operator && <Link class="button primary" href="/quotes/new">{t.quotes.new}</Link>}>
			<Card class="flush">
				{bar}
				<List query={listQuery} variables={{ filter }} pick={(d) => d.policies} name={t.nav.pages.policies} empty={isFiltered ? t.policies.empty : t.policies.none} columns={[
					{ title: t.fields.policy, cell: (p) => <Id id={p.id} href={`/policies/${p.id}`} /> },
					...(operator ? [{ title: t.fields.partner, cell: (p: { partner: string }) => p.partner }] : []),
					{ title: t.fields.reference, cell: (p) => p.partnerReference ?? "–" }, { title: t.fields.product, cell: (p) => p.productKey },
					{ title: t.fields.status, cell: (p) => <Status code={p.status === "ACTIVE" ? p.coverPhase : p.status} /> },
					{ title: t.fields.ends, cell: (p) => <When at={p.expiresAt} /> }, { title: t.fields.premium, cell: (p) => <Money of={p.premium} />, end: true },
					{ title: t.fields.limit, cell: (p) => <Money of={p.limit} />, end: true }, { title: t.fields.claims, cell: (p) => p.claimsCount, end: true },
				]} />
			</Card>
		</Page>
	);
}

function Policy({ viewer, id }: { viewer: Viewer; id: string }) {
	const read = useRead(oneQuery, { id });
	return (
		<Load from={read}>
			{({ policy: p }) => p && (
				<Page title={t.policies.title(p.partnerReference ?? p.productKey)} back={["/policies", t.nav.pages.policies]} lead={<><Status code={p.status === "ACTIVE" ? p.coverPhase : p.status} /> <code class="id">{p.id}</code></>} actions={viewer.kind === "OPERATOR" && p.status === "ACTIVE" && <Act name={t.policies.cancel} tone="danger" mutation={cancelMutation} lead={t.policies.cancelLead} fields={[{ name: "reason", label: t.reason, kind: "area", required: true }]} input={(v) => ({ policyId: p.id, version: p.version, reason: v.reason })} />}>
					<Card>
						<dl class="figures">
							<div><dt>{t.fields.limit}</dt><dd>{money(p.limit)}</dd></div><div><dt>{t.fields.remaining}</dt><dd>{money(p.limitRemaining)}</dd></div>
							<div><dt>{t.fields.premium}</dt><dd>{money(p.premium)}</dd></div><div><dt>{t.fields.claims}</dt><dd>{p.claimsCount}</dd></div>
						</dl>
					</Card>
					<div class="grid two">
						<div class="stack">
							<Card title={t.policies.terms}>
								<Terms cover={{ ...p.cover, limit: p.limit }} />
								<Curve curves={p.cover.payoutCurves} unit={p.cover.trigger.unit} direction={p.cover.trigger.direction} />
							</Card>
							<Card title={t.nav.pages.claims}>
								<Table name={t.nav.pages.claims} rows={p.claims?.nodes ?? []} empty={<>{t.policies.noClaims}{config.rehearsal && <p><Link href="/time-machine">{t.policies.tryIt}</Link></p>}</>} columns={[
									{ title: t.fields.claim, cell: (c) => <Id id={c.id} href={`/claims/${c.id}`} /> }, { title: t.fields.status, cell: (c) => <Status code={c.status} /> },
									{ title: t.fields.event, cell: (c) => c.occurrence?.sourceEventId ?? human(c.origin) }, { title: t.fields.opened, cell: (c) => <When short at={c.openedAt} /> }, { title: t.fields.amount, cell: (c) => <Money of={c.amount} />, end: true },
								]} />
							</Card>
							{viewer.scopes.includes("claims:write") && p.limitRemaining.amount > 0 && <Report id={p.id} currency={p.limit.currency} />}
						</div>
						<div class="stack">
							<Card title={t.policies.details}>
								<Facts rows={[
									[t.fields.product, `${p.productKey}, version ${p.productVersion}`], [t.fields.place, place(p.cover.place)], [t.fields.starts, <When at={p.effectiveAt} />], [t.fields.ends, <When at={p.expiresAt} />],
									[t.fields.waiting, duration(p.cover.waitingPeriod)], [t.policies.reporting, duration(p.cover.reportingWindow)], viewer.kind === "OPERATOR" && [t.fields.partner, p.partner],
									p.policyholder && [t.fields.holder, [p.policyholder.name, p.policyholder.email, p.policyholder.country].filter(Boolean).join(" · ")],
									[t.fields.quote, <Id id={p.quoteId} href={`/quotes/${p.quoteId}`} />], [t.fields.account, p.payoutMethods?.nodes.length ? p.payoutMethods.nodes.map((m) => <span key={m.id}>{human(m.type)} ···· {m.display.last4} <Status code={m.status} /></span>) : t.policies.noAccount],
									[t.policies.termsHash, <code>{p.termsHash}</code>], ...metadataRows(p.metadata),
								]} />
							</Card>
							<Card title={t.timeline}><Timeline nodes={p.timeline?.nodes ?? []} /></Card>
						</div>
					</div>
				</Page>
			)}
		</Load>
	);
}

// Report opens a claim that an operator decides: for damage that no measurement has shown.
function Report({ id, currency }: { id: string; currency: string }) {
	const change = useChange(openMutation);
	const [, go] = useLocation();
	const [draft, setDraft, drop] = useDraft(`claim.${id}`, { description: "", occurredAt: "", sourceEvent: "", source: "usgs", kind: "APPROVAL" });
	const submit = async (event: Event) => {
		event.preventDefault();
		const data = await change.run({
			policyId: id, ...(draft.description ? { description: draft.description } : {}),
			...(draft.kind === "TRIGGER" ? { sourceEvent: { source: draft.source, id: draft.sourceEvent } } : { occurredAt: draft.occurredAt ? new Date(draft.occurredAt).toISOString() : null }),
		});
		if (data) {
			drop();
			go(`/claims/${data.openClaim!.claim.id}`);
		}
	};
	return (
		<details class="card">
			<summary>{t.policies.report}</summary>
			<form onSubmit={submit}>
				<p class="lead">{t.policies.reportLead(currency)}</p>
				<Choice label={t.fields.what} value={draft.kind} onValue={(kind) => setDraft({ ...draft, kind })} options={[["APPROVAL", t.policies.reportOther], ["TRIGGER", t.policies.reportEvent]]} />
				{draft.kind === "TRIGGER"
					? <div class="pair"><Text label={t.fields.source} value={draft.source} onValue={(source) => setDraft({ ...draft, source })} required /><Text label={t.policies.eventId} value={draft.sourceEvent} onValue={(sourceEvent) => setDraft({ ...draft, sourceEvent })} required /></div>
					: <Text label={t.policies.happened} type="datetime-local" value={draft.occurredAt} onValue={(occurredAt) => setDraft({ ...draft, occurredAt })} required />}
				<Text label={t.fields.description} value={draft.description} onValue={(description) => setDraft({ ...draft, description })} />
				<Errors problem={change.problem} />
				<div class="actions"><button class="primary" disabled={change.busy}>{t.policies.reportSend}</button></div>
			</form>
		</details>
	);
}

