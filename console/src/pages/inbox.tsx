import type { ComponentChildren } from "preact";
import { Link } from "wouter";
import { graphql, useRead } from "../api";
import { age, human, money, number } from "../format";
import { t } from "../texts";
import { Act, Card, Id, Load, Money, Page, Status, Table, When } from "../ui";

const inboxQuery = graphql(`query Inbox {
	inbox { approvals claimsToDecide challenges reconciliationExceptions failingEndpoints releaseStops violatedInvariants staleSources failingJobs unsettled { status blockedReason count amount { amount currency } oldestSeconds } }
	approvals: payouts(first: 25, filter: { blockedReason: APPROVAL_REQUIRED }, order: OLDEST_FIRST) { nodes { id partner amount { amount currency } createdAt payoutMethod { display { last4 institution } beneficiary { name } } approval { required approvals { author valid } } } }
	decide: claims(first: 25, filter: { toDecide: true }, order: OLDEST_FIRST) { nodes { id partner openedAt description requestedAmount { amount currency } decision { reasonCodes } } }
	challenges: claims(first: 25, filter: { challenged: true }, order: OLDEST_FIRST) { nodes { id partner status amount { amount currency } measurementState { challenge { openedAt } } } }
	doubt: payouts(first: 25, filter: { status: RECONCILING }, order: OLDEST_FIRST) { nodes { id partner status blockedReason amount { amount currency } createdAt } }
	returned: payouts(first: 25, filter: { status: RETURNED }, order: OLDEST_FIRST) { nodes { id partner status blockedReason amount { amount currency } createdAt } }
	held: payouts(first: 25, filter: { blockedReason: OPERATOR_HOLD }, order: OLDEST_FIRST) { nodes { id partner status blockedReason amount { amount currency } createdAt } }
	compliance: payouts(first: 25, filter: { blockedReason: COMPLIANCE_HOLD }, order: OLDEST_FIRST) { nodes { id partner status blockedReason amount { amount currency } createdAt } }
	mismatch: payouts(first: 25, filter: { blockedReason: RAIL_MISMATCH }, order: OLDEST_FIRST) { nodes { id partner status blockedReason amount { amount currency } createdAt } }
	reconciliationExceptions { id at kind rail partner payoutId amount { amount currency } detail }
	webhookEndpoints(first: 25, filter: { failing: true }) { nodes { id partner url note status updatedAt } }
	releaseStops { stoppedAt stoppedBy reason resumedAt }
	invariants { name description violationCount }
	sources(first: 50) { nodes { name enabled lastReadingAt ageSeconds outageSince policiesWaiting } }
	failingJobs { kind count lastError lastAt explanation }
}`);
const closeMutation = graphql(`mutation CloseException($input: CloseReconciliationExceptionInput!) { closeReconciliationException(input: $input) { reconciliationException { id } } }`);

// What is wrong with the service; the other counts are a day's work.
const alarming = ["stops", "doubt", "exceptions", "invariants", "sources", "jobs"];

export default function Inbox() {
	const read = useRead(inboxQuery, {}, { every: 10_000 });
	return (
		<Page title={t.nav.pages.inbox} lead={t.inbox.lead}>
			<Load from={read}>
				{(d) => {
					const n = d.inbox;
					if (!n) return null;
					const exceptions = d.reconciliationExceptions ?? [], violated = (d.invariants ?? []).filter((i) => i.violationCount > 0);
					const stops = (d.releaseStops ?? []).filter((s) => !s.resumedAt), jobs = d.failingJobs ?? [];
					const sources = (d.sources?.nodes ?? []).filter((s) => s.enabled && (s.outageSince || s.policiesWaiting > 0));
					const unsettled = [d.doubt, d.returned, d.mismatch, d.held, d.compliance].flatMap((list) => list?.nodes ?? []);
					const oldest = Math.max(0, ...n.unsettled.filter((u) => u.status === "RECONCILING").map((u) => u.oldestSeconds));
					const sections: [string, string, number, ComponentChildren][] = [
						["stops", t.inbox.stops, n.releaseStops, <ul class="rows">{stops.map((s) => <li key={s.stoppedAt}><span>{s.reason} · {s.stoppedBy}</span><Link class="button" href="/release-stop">{t.nav.pages["release-stop"]}</Link></li>)}</ul>],
						["approvals", t.inbox.approvals, n.approvals, <Table name={t.inbox.approvals} rows={d.approvals?.nodes ?? []} columns={[
							{ title: t.fields.payout, cell: (p) => <Id id={p.id} href={`/payouts/${p.id}`} /> }, { title: t.fields.partner, cell: (p) => p.partner }, { title: t.fields.account, cell: (p) => (p.payoutMethod ? `${p.payoutMethod.beneficiary.name} ···· ${p.payoutMethod.display.last4}` : "–") }, { title: t.inbox.approvedBy, cell: (p) => { const by = p.approval?.approvals.filter((a) => a.valid).map((a) => a.author) ?? []; return <>{t.payouts.approvals(by.length, p.approval?.required ?? 0)}{by.length > 0 && <span class="faint"> · {by.join(", ")}</span>}</>; } }, { title: t.fields.created, cell: (p) => <When at={p.createdAt} short /> },
							{ title: t.fields.amount, cell: (p) => <Money of={p.amount} />, end: true }, { title: t.inbox.action, cell: (p) => <Link class="button primary" href={`/payouts/${p.id}`}>{t.inbox.review}</Link>, end: true },
						]} />],
						["decide", t.inbox.decide, n.claimsToDecide, <Table name={t.inbox.decide} rows={d.decide?.nodes ?? []} columns={[
							{ title: t.fields.claim, cell: (c) => <Id id={c.id} href={`/claims/${c.id}`} /> }, { title: t.fields.partner, cell: (c) => c.partner }, { title: t.inbox.why, cell: (c) => c.decision?.reasonCodes.map(human).join(", ") || (c.description ?? t.claims.undecided), wide: true }, { title: t.claims.requested, cell: (c) => <Money of={c.requestedAmount} />, end: true }, { title: t.fields.opened, cell: (c) => <When at={c.openedAt} short /> }, { title: t.inbox.action, cell: (c) => <Link class="button" href={`/claims/${c.id}`}>{t.claims.decide}</Link>, end: true },
						]} />],
						["challenges", t.inbox.challenges, n.challenges, <Table name={t.inbox.challenges} rows={d.challenges?.nodes ?? []} columns={[
							{ title: t.fields.claim, cell: (c) => <Id id={c.id} href={`/claims/${c.id}`} /> }, { title: t.fields.partner, cell: (c) => c.partner }, { title: t.fields.status, cell: (c) => <Status code={c.status} /> }, { title: t.fields.at, cell: (c) => <When at={c.measurementState?.challenge?.openedAt} short /> }, { title: t.fields.amount, cell: (c) => <Money of={c.amount} />, end: true }, { title: t.inbox.action, cell: (c) => <Link class="button" href={`/claims/${c.id}`}>{t.claims.decide}</Link>, end: true },
						]} />],
						["doubt", oldest > 0 ? t.inbox.doubtSince(age(oldest)) : t.inbox.doubt, unsettled.length, <Table name={t.inbox.doubt} rows={unsettled} columns={[
							{ title: t.fields.payout, cell: (p) => <Id id={p.id} href={`/payouts/${p.id}`} /> }, { title: t.fields.partner, cell: (p) => p.partner }, { title: t.fields.status, cell: (p) => <Status code={p.status} more={p.blockedReason} /> }, { title: t.inbox.age, cell: (p) => <When at={p.createdAt} short /> }, { title: t.fields.amount, cell: (p) => <Money of={p.amount} />, end: true }, { title: t.inbox.action, cell: (p) => <Link class="button" href={`/payouts/${p.id}`}>{t.payouts.resolve}</Link>, end: true },
						]} />],
						["exceptions", t.inbox.exceptions, n.reconciliationExceptions, <Table name={t.inbox.exceptions} rows={exceptions} columns={[
							{ title: t.fields.what, cell: (x) => human(x.kind) }, { title: t.fields.partner, cell: (x) => x.partner ?? "–" }, { title: t.fields.payout, cell: (x) => (x.payoutId ? <Id id={x.payoutId} href={`/payouts/${x.payoutId}`} /> : "–") }, { title: t.fields.description, cell: (x) => x.detail ?? "–", wide: true }, { title: t.fields.at, cell: (x) => <When at={x.at} short /> }, { title: t.fields.amount, cell: (x) => money(x.amount), end: true },
							{ title: t.inbox.action, cell: (x) => <Act name={t.inbox.closeIt} mutation={closeMutation} fields={[{ name: "reason", label: t.reason, kind: "area", required: true }]} input={(v) => ({ id: x.id, reason: v.reason })} />, end: true },
						]} />],
						["invariants", t.inbox.invariants, n.violatedInvariants, <ul class="rows">{violated.map((i) => <li key={i.name}><Link href="/release-stop">{i.description}</Link><span class="status bad">{i.violationCount}</span></li>)}</ul>],
						["endpoints", t.inbox.endpoints, n.failingEndpoints, <ul class="rows">{(d.webhookEndpoints?.nodes ?? []).map((e) => <li key={e.id}><span>{e.partner} · {e.url}</span><span><Status code={e.status} /> <span class="faint">{e.note}</span></span></li>)}</ul>],
						["sources", t.inbox.sources, Math.max(n.staleSources, sources.length), <ul class="rows">{sources.map((s) => <li key={s.name}><Link href="/sources">{s.name}</Link><span class="faint">{s.outageSince ? t.inbox.outage : s.ageSeconds !== null ? t.inbox.old(age(s.ageSeconds)) : t.inbox.never} · {t.inbox.waiting(s.policiesWaiting)}</span></li>)}</ul>],
						["jobs", t.inbox.jobs, n.failingJobs, <ul class="rows">{jobs.map((j) => <li key={j.kind}><Link href="/jobs">{j.kind}</Link><span class="faint">{number(j.count)} · {j.explanation || j.lastError}</span></li>)}</ul>],
					];
					const some = sections.filter(([, , count]) => count > 0), none = sections.filter(([, , count]) => count === 0);
					return (
						<>
							<Card><dl class="figures counts">{sections.map(([key, title, count]) => <div key={key}><dt>{title}</dt><dd class={count === 0 ? "calm" : alarming.includes(key) ? "alert" : ""}>{count ? <a href={`#${key}`} onClick={(e) => { e.preventDefault(); document.getElementById(`inbox-${key}`)?.scrollIntoView(); }}>{count}</a> : 0}</dd></div>)}</dl></Card>
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
