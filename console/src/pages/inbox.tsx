import type { ComponentChildren } from "preact";
import { Link } from "wouter";
import { graphql, useRead } from "../api";
import { duration, human, money, number } from "../format";
import { t } from "../texts";
import { Act, Card, Id, Load, Money, Page, Status, Table, When } from "../ui";

const inboxQuery = graphql(`query Inbox {
	approvals: payouts(first: 50, filter: { status: BLOCKED }) { nodes { id partner blockedReason amount { amount currency } createdAt claimId payoutMethod { display { last4 institution } beneficiary { name } } } pageInfo { hasNextPage } }
	decide: claims(first: 25, filter: { status: OPENED }) { nodes { id partner origin openedAt description requestedAmount { amount currency } policyId } pageInfo { hasNextPage } }
	deferred: claims(first: 25, filter: { status: DEFERRED }) { nodes { id partner origin openedAt decision { reasonCodes nextReviewAt } } pageInfo { hasNextPage } }
	doubt: payouts(first: 25, filter: { status: RECONCILING }) { nodes { id partner amount { amount currency } createdAt providerReference } pageInfo { hasNextPage } }
	returned: payouts(first: 25, filter: { status: RETURNED }) { nodes { id partner amount { amount currency } createdAt } pageInfo { hasNextPage } }
	reconciliationExceptions { id at kind rail partner payoutId amount { amount currency } detail }
	webhookEndpoints(first: 50, filter: { status: DISABLED }) { nodes { id partner url note updatedAt } }
	releaseStops { stoppedAt stoppedBy reason resumedAt }
	invariants { name description violationCount }
	sources(first: 50) { nodes { name enabled lastReadingAt ageSeconds outageSince policiesWaiting } }
	failingJobs { kind count lastError lastAt }
}`);
const closeMutation = graphql(`mutation CloseException($input: CloseReconciliationExceptionInput!) { closeReconciliationException(input: $input) { reconciliationException { id } } }`);

const stale = 6 * 3600; // seconds without a reading after which a source is shown

export default function Inbox() {
	const read = useRead(inboxQuery, {}, { every: 10_000 });
	return (
		<Page title={t.nav.pages.inbox} lead={t.inbox.lead}>
			<Load from={read}>
				{(d) => {
					const blocked = d.approvals?.nodes ?? [];
					const approvals = blocked.filter((p) => p.blockedReason === "APPROVAL_REQUIRED"), held = blocked.filter((p) => ["COMPLIANCE_HOLD", "OPERATOR_HOLD", "RAIL_MISMATCH"].includes(p.blockedReason ?? ""));
					const exceptions = d.reconciliationExceptions ?? [], violated = (d.invariants ?? []).filter((i) => i.violationCount > 0);
					const stops = (d.releaseStops ?? []).filter((s) => !s.resumedAt), endpoints = d.webhookEndpoints?.nodes.filter((e) => e.note) ?? [];
					const sources = (d.sources?.nodes ?? []).filter((s) => s.enabled && (s.outageSince || s.policiesWaiting > 0 || (s.ageSeconds ?? 0) > stale));
					const jobs = d.failingJobs ?? [];
					const decide = (d.decide?.nodes ?? []).filter((c) => c.origin === "APPROVAL");
					const sections: [string, string, number, ComponentChildren][] = [
						["stops", t.inbox.stops, stops.length, <ul class="rows">{stops.map((s) => <li key={s.stoppedAt}><span>{s.reason} · {s.stoppedBy}</span><Link class="button" href="/release-stop">{t.nav.pages["release-stop"]}</Link></li>)}</ul>],
						["approvals", t.inbox.approvals, approvals.length, <Table name={t.inbox.approvals} rows={approvals} columns={[
							{ title: t.fields.payout, cell: (p) => <Id id={p.id} href={`/payouts/${p.id}`} /> }, { title: t.fields.partner, cell: (p) => p.partner }, { title: t.fields.account, cell: (p) => (p.payoutMethod ? `${p.payoutMethod.beneficiary.name} ···· ${p.payoutMethod.display.last4}` : "–") }, { title: t.fields.created, cell: (p) => <When at={p.createdAt} short /> },
							{ title: t.fields.amount, cell: (p) => <Money of={p.amount} />, end: true }, { title: t.inbox.action, cell: (p) => <Link class="button primary" href={`/payouts/${p.id}`}>{t.inbox.review}</Link>, end: true },
						]} />],
						["decide", t.inbox.decide, decide.length, <Table name={t.inbox.decide} rows={decide} columns={[
							{ title: t.fields.claim, cell: (c) => <Id id={c.id} href={`/claims/${c.id}`} /> }, { title: t.fields.partner, cell: (c) => c.partner }, { title: t.fields.description, cell: (c) => c.description ?? "–", wide: true }, { title: t.claims.requested, cell: (c) => <Money of={c.requestedAmount} />, end: true }, { title: t.fields.opened, cell: (c) => <When at={c.openedAt} short /> }, { title: t.inbox.action, cell: (c) => <Link class="button" href={`/claims/${c.id}`}>{t.claims.decide}</Link>, end: true },
						]} />],
						["deferred", t.inbox.deferred, d.deferred?.nodes.length ?? 0, <Table name={t.inbox.deferred} rows={d.deferred?.nodes ?? []} columns={[
							{ title: t.fields.claim, cell: (c) => <Id id={c.id} href={`/claims/${c.id}`} /> }, { title: t.fields.partner, cell: (c) => c.partner }, { title: t.fields.reasons, cell: (c) => c.decision?.reasonCodes.map(human).join(", ") }, { title: t.claims.review, cell: (c) => <When at={c.decision?.nextReviewAt} short />, end: true },
						]} />],
						["doubt", t.inbox.doubt, (d.doubt?.nodes.length ?? 0) + (d.returned?.nodes.length ?? 0) + held.length, <Table name={t.inbox.doubt} rows={[...(d.doubt?.nodes ?? []).map((p) => ({ ...p, status: "RECONCILING", reason: null })), ...(d.returned?.nodes ?? []).map((p) => ({ ...p, status: "RETURNED", reason: null })), ...held.map((p) => ({ ...p, status: "BLOCKED", reason: p.blockedReason }))]} columns={[
							{ title: t.fields.payout, cell: (p) => <Id id={p.id} href={`/payouts/${p.id}`} /> }, { title: t.fields.partner, cell: (p) => p.partner }, { title: t.fields.status, cell: (p) => <Status code={p.status} more={p.reason} /> }, { title: t.inbox.age, cell: (p) => <When at={p.createdAt} short /> }, { title: t.fields.amount, cell: (p) => <Money of={p.amount} />, end: true }, { title: t.inbox.action, cell: (p) => <Link class="button" href={`/payouts/${p.id}`}>{t.payouts.resolve}</Link>, end: true },
						]} />],
						["exceptions", t.inbox.exceptions, exceptions.length, <Table name={t.inbox.exceptions} rows={exceptions} columns={[
							{ title: t.fields.what, cell: (x) => human(x.kind) }, { title: t.fields.partner, cell: (x) => x.partner ?? "–" }, { title: t.fields.payout, cell: (x) => (x.payoutId ? <Id id={x.payoutId} href={`/payouts/${x.payoutId}`} /> : "–") }, { title: t.fields.description, cell: (x) => x.detail ?? "–", wide: true }, { title: t.fields.at, cell: (x) => <When at={x.at} short /> }, { title: t.fields.amount, cell: (x) => money(x.amount), end: true },
							{ title: t.inbox.action, cell: (x) => <Act name={t.inbox.closeIt} mutation={closeMutation} fields={[{ name: "reason", label: t.reason, kind: "area", required: true }]} input={(v) => ({ id: x.id, reason: v.reason })} />, end: true },
						]} />],
						["invariants", t.inbox.invariants, violated.length, <ul class="rows">{violated.map((i) => <li key={i.name}><span>{i.description}</span><span class="status bad">{i.violationCount}</span></li>)}</ul>],
						["endpoints", t.inbox.endpoints, endpoints.length, <ul class="rows">{endpoints.map((e) => <li key={e.id}><span>{e.partner} · {e.url}</span><span class="faint">{e.note}</span></li>)}</ul>],
						["sources", t.inbox.sources, sources.length, <ul class="rows">{sources.map((s) => <li key={s.name}><Link href="/sources">{s.name}</Link><span class="faint">{s.outageSince ? t.inbox.outage : s.ageSeconds !== null ? t.inbox.old(duration(`PT${Math.round(s.ageSeconds / 3600)}H`)) : t.inbox.never} · {t.inbox.waiting(s.policiesWaiting)}</span></li>)}</ul>],
						["jobs", t.inbox.jobs, jobs.length, <ul class="rows">{jobs.map((j) => <li key={j.kind}><Link href="/jobs">{j.kind}</Link><span class="faint">{number(j.count)} · {j.lastError}</span></li>)}</ul>],
					];
					const some = sections.filter(([, , count]) => count > 0), none = sections.filter(([, , count]) => count === 0);
					return (
						<>
							<Card><dl class="figures counts">{sections.map(([key, title, count]) => <div key={key}><dt>{title}</dt><dd class={count ? "alert" : "calm"}>{count ? <a href={`#${key}`} onClick={(e) => { e.preventDefault(); document.getElementById(`inbox-${key}`)?.scrollIntoView(); }}>{count}</a> : 0}</dd></div>)}</dl></Card>
							{some.length === 0 && <Card><p class="lead">{t.inbox.clear}</p></Card>}
							{some.map(([key, title, count, content]) => <div key={key} id={`inbox-${key}`}><Card title={<>{title} <span class="count">{count}</span></>}>{content}</Card></div>)}
							{none.length > 0 && some.length > 0 && <p class="faint">{t.inbox.calm(none.map(([, title]) => title.toLowerCase()).join(", "))}</p>}
						</>
					);
				}}
			</Load>
		</Page>
	);
}
