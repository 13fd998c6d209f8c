import { graphql, useChange, useRead } from "../api";
import { config } from "../config";
import { useFilter } from "../filter";
import { human, money } from "../format";
import { type Viewer } from "../shell";
import { t } from "../texts";
import { Act, Card, Errors, Facts, Id, List, Load, Money, Note, Page, Status, When } from "../ui";

const listQuery = graphql(`query Payouts($after: String, $filter: PayoutFilter) {
	payouts(first: 25, after: $after, filter: $filter) {
		nodes { id partner claimId policyId status blockedReason amount { amount currency } createdAt releasedAt reconciledAt provider providerReference }
		pageInfo { hasNextPage endCursor }
	}
}`);

const oneQuery = graphql(`query Payout($id: ID!) {
	payout(id: $id) {
		id version partner claimId policyId status blockedReason amount { amount currency } attempts nextAttemptAt provider providerReference createdAt releasedAt reconciledAt replacesPayoutId
		payoutMethod { id type status currency beneficiary { name country } display { last4 institution country } fingerprint verification { code checkedAt } }
	}
}`);

const approvalQuery = graphql(`query PayoutApproval($id: ID!) {
	payout(id: $id) { approval { digest required approvals { at author authorIssuer valid note } payoutMethod { type beneficiary { name country } display { last4 institution } recordedAt verifiedAt coolingOffUntil returnedAt fingerprint } } }
}`);

const approveMutation = graphql(`mutation ApprovePayout($input: ApprovePayoutInput!) { approvePayout(input: $input) { payout { id status } } }`);
const releaseMutation = graphql(`mutation ReleasePayout($input: ReleasePayoutInput!) { releasePayout(input: $input) { payout { id status } } }`);
const blockMutation = graphql(`mutation BlockPayout($input: BlockPayoutInput!) { blockPayout(input: $input) { payout { id status } } }`);
const unblockMutation = graphql(`mutation UnblockPayout($input: UnblockPayoutInput!) { unblockPayout(input: $input) { payout { id status } } }`);
const resolveMutation = graphql(`mutation ResolvePayout($input: ResolvePayoutInput!) { resolvePayout(input: $input) { payout { id status } } }`);
const settleMutation = graphql(`mutation SettlePayout($input: SettlePayoutExternallyInput!) { settlePayoutExternally(input: $input) { payout { id status } } }`);

const outcomeMutation = graphql(`mutation ReportOutcome($input: ReportSandboxPayoutInput!) { reportSandboxPayout(input: $input) { payout { id } } }`);

export default function Payouts({ viewer, id }: { viewer: Viewer; id?: string }) {
	return id ? <Payout viewer={viewer} id={id} /> : <All viewer={viewer} />;
}

const statuses = ["", "PENDING", "BLOCKED", "RELEASING", "RELEASED", "RECONCILING", "RECONCILED", "RETURNED", "CANCELLED"];

function All({ viewer }: { viewer: Viewer }) {
	const operator = viewer.kind === "OPERATOR";
	const [filter, bar, isFiltered] = useFilter(["status", ...(operator ? ["partner"] : [])], { status: statuses });
	return (
		<Page title={t.nav.pages.payouts} lead={t.payouts.lead}>
			<Card class="flush">
				{bar}
				<List query={listQuery} variables={{ filter }} pick={(d) => d.payouts} name={t.nav.pages.payouts} empty={isFiltered ? t.payouts.empty : t.payouts.none} every={operator ? 15_000 : undefined} columns={[
					{ title: t.fields.payout, cell: (p) => <Id id={p.id} href={`/payouts/${p.id}`} /> },
					...(operator ? [{ title: t.fields.partner, cell: (p: { partner: string }) => p.partner }] : []),
					{ title: t.fields.status, cell: (p) => <Status code={p.status} more={p.blockedReason} /> }, { title: t.fields.claim, cell: (p) => <Id id={p.claimId} href={`/claims/${p.claimId}`} /> },
					{ title: t.fields.bank, cell: (p) => p.providerReference ? <code class="id">{p.providerReference}</code> : "–" },
					{ title: t.fields.created, cell: (p) => <When at={p.createdAt} /> }, { title: t.payouts.reconciled, cell: (p) => <When at={p.reconciledAt} /> }, { title: t.fields.amount, cell: (p) => <Money of={p.amount} />, end: true },
				]} />
			</Card>
		</Page>
	);
}

function Payout({ viewer, id }: { viewer: Viewer; id: string }) {
	const operator = viewer.kind === "OPERATOR";
	const read = useRead(oneQuery, { id }, { every: operator || config.rehearsal ? 4000 : undefined });
	return (
		<Load from={read}>
			{({ payout: p }) => p && (
				<Page title={t.payouts.title(money(p.amount))} back={["/payouts", t.nav.pages.payouts]} lead={<><Status code={p.status} more={p.blockedReason} /> <code class="id">{p.id}</code></>}>
					<div class="grid two">
						<div class="stack">
							<Card title={t.payouts.way}>
								<ol class="timeline">
									<li><p>{t.payouts.created}</p><When at={p.createdAt} /></li>
									{p.releasedAt && <li><p>{t.payouts.released(p.provider ?? "")}</p><When at={p.releasedAt} />{p.providerReference && <span class="faint">{p.providerReference}</span>}</li>}
									{p.reconciledAt && <li><p>{t.payouts.confirmed}</p><When at={p.reconciledAt} /></li>}
									{p.status === "RETURNED" && <li><p>{t.payouts.cameBack}</p><span /></li>}
									{!p.reconciledAt && p.status !== "RETURNED" && <li><p>{t.payouts.now(p.blockedReason ? human(p.blockedReason) : human(p.status))}</p>{p.nextAttemptAt ? <When at={p.nextAttemptAt} short /> : <span />}</li>}
								</ol>
							</Card>
							{config.rehearsal && p.provider && ["RELEASED", "RECONCILED"].includes(p.status) && (operator || viewer.scopes.includes("claims:write")) && <Outcome id={p.id} status={p.status} />}
							{operator && <Approval id={p.id} version={p.version} waiting={p.blockedReason === "APPROVAL_REQUIRED"} viewer={viewer} />}
							{operator && ["PENDING", "BLOCKED", "RECONCILING"].includes(p.status) && (
								<Card title={t.payouts.act}>
									<div class="actions">
										<Act name={t.payouts.hold} mutation={blockMutation} lead={t.payouts.holdLead} tone="danger" hidden={!["PENDING", "BLOCKED"].includes(p.status)} fields={[{ name: "reason", label: t.reason, kind: "choice", options: ["OPERATOR_HOLD", "COMPLIANCE_HOLD"] }, { name: "note", label: t.fields.note, kind: "area", required: true }]} input={(v) => ({ payoutId: p.id, version: p.version, reason: v.reason as "OPERATOR_HOLD", note: v.note })} />
										<Act name={t.payouts.unhold} mutation={unblockMutation} hidden={!["OPERATOR_HOLD", "COMPLIANCE_HOLD"].includes(p.blockedReason ?? "")} fields={[{ name: "note", label: t.fields.note, kind: "area", required: true }]} input={(v) => ({ payoutId: p.id, version: p.version, note: v.note })} />
										<Act name={t.payouts.release} mutation={releaseMutation} lead={t.payouts.releaseLead} hidden={!["PENDING", "BLOCKED"].includes(p.status)} fields={[{ name: "note", label: t.fields.note, kind: "area" }]} input={(v) => ({ payoutId: p.id, version: p.version, ...(v.note ? { note: v.note } : {}) })} />
										<Act name={t.payouts.resolve} mutation={resolveMutation} lead={t.payouts.resolveLead} hidden={p.status !== "RECONCILING" && p.blockedReason !== "RAIL_MISMATCH"} fields={[
											{ name: "outcome", label: t.fields.outcome, kind: "choice", options: [["RELEASED", t.payouts.wasPaid], ["BLOCKED", t.payouts.wasNotPaid], ["CANCELLED", t.payouts.neverPay]] }, { name: "reference", label: t.payouts.reference }, { name: "settled", label: t.payouts.settled, kind: "check" }, { name: "note", label: t.reason, kind: "area", required: true },
										]} input={(v) => ({ payoutId: p.id, version: p.version, outcome: v.outcome as "RELEASED", ...(v.reference ? { reference: v.reference } : {}), settled: v.settled === "yes", note: v.note })} />
										<Act name={t.payouts.settle} mutation={settleMutation} lead={t.payouts.settleLead} hidden={!["PENDING", "BLOCKED"].includes(p.status)} fields={[{ name: "reference", label: t.payouts.reference, required: true }, { name: "note", label: t.reason, kind: "area", required: true }]} input={(v) => ({ payoutId: p.id, version: p.version, reference: v.reference, note: v.note })} />
									</div>
								</Card>
							)}
						</div>
						<div class="stack">
							<Card title={t.policies.details}>
								<Facts rows={[
									[t.fields.claim, <Id id={p.claimId} href={`/claims/${p.claimId}`} />], [t.fields.policy, <Id id={p.policyId} href={`/policies/${p.policyId}`} />], operator && [t.fields.partner, p.partner],
									[t.fields.attempts, p.attempts], [t.payouts.rail, p.provider], [t.payouts.reference, p.providerReference && <code>{p.providerReference}</code>], p.replacesPayoutId && [t.payouts.replaces, <Id id={p.replacesPayoutId} href={`/payouts/${p.replacesPayoutId}`} />],
								]} />
							</Card>
							<Card title={t.fields.account}>
								{p.payoutMethod ? <Facts rows={[
									[t.fields.accountHolder, `${p.payoutMethod.beneficiary.name} (${p.payoutMethod.beneficiary.country})`], [t.fields.account, `${human(p.payoutMethod.type)} ···· ${p.payoutMethod.display.last4}`], [t.fields.bank, p.payoutMethod.display.institution],
									[t.fields.status, <Status code={p.payoutMethod.status} />], [t.payouts.fingerprint, <code>{p.payoutMethod.fingerprint}</code>],
								]} /> : <p class="faint">{t.claims.noAccounts}</p>}
							</Card>
						</div>
					</div>
				</Page>
			)}
		</Load>
	);
}

// Outcome makes the simulated bank report at once.
function Outcome({ id, status }: { id: string; status: string }) {
	const change = useChange(outcomeMutation);
	const report = (outcome: "SETTLE" | "RETURN" | "MISMATCH", name: string, tone = "") => <button class={tone} disabled={change.busy} onClick={() => change.run({ payoutId: id, outcome })}>{name}</button>;
	return (
		<Card title={t.machine.outcomeTitle}>
			<p class="lead">{t.machine.outcomeLead}</p>
			<Errors problem={change.problem} />
			<div class="actions">{status === "RELEASED" && report("SETTLE", t.machine.settle, "primary")}{report("RETURN", t.machine.return)}{status === "RELEASED" && report("MISMATCH", t.machine.mismatch)}</div>
		</Card>
	);
}

// Approval shows what exactly is approved and by whom: two people see the same account.
function Approval({ id, version, waiting, viewer }: { id: string; version: number; waiting: boolean; viewer: Viewer }) {
	const read = useRead(approvalQuery, { id }, { every: 10_000 });
	return (
		<Load from={read}>
			{(d) => {
				const a = d.payout?.approval;
				if (!a || (a.required === 0 && a.approvals.length === 0)) return <Card title={t.payouts.approval}><p class="faint">{t.payouts.noApproval}</p></Card>;
				const valid = a.approvals.filter((x) => x.valid);
				return (
					<Card title={t.payouts.approval} actions={<span class="faint">{t.payouts.approvals(valid.length, a.required)}</span>}>
						{a.payoutMethod && <Facts rows={[
							[t.fields.accountHolder, `${a.payoutMethod.beneficiary.name} (${a.payoutMethod.beneficiary.country})`], [t.fields.account, `${human(a.payoutMethod.type)} ···· ${a.payoutMethod.display.last4}`], [t.payouts.recorded, <When at={a.payoutMethod.recordedAt} />],
							a.payoutMethod.coolingOffUntil && [t.payouts.cooling, <When at={a.payoutMethod.coolingOffUntil} />], a.payoutMethod.returnedAt && [t.payouts.returned, <When at={a.payoutMethod.returnedAt} />],
						]} />}
						<ol class="slots">
							{a.approvals.filter((x) => x.valid).map((x) => <li key={x.at + x.author} class="given"><i>✓</i><strong>{x.author}</strong><When at={x.at} /><span class="faint">{x.note ?? t.payouts.approved}</span></li>)}
							{Array.from({ length: Math.max(0, a.required - valid.length) }, (_, n) => <li key={n}><i>{valid.length + n + 1}</i><span>{valid.length + n === 0 ? t.payouts.anyOperator : t.payouts.otherOperator}</span></li>)}
						</ol>
						{a.approvals.filter((x) => !x.valid).map((x) => <p key={x.at + x.author} class="faint">{t.payouts.outdated(x.author)} <When at={x.at} /></p>)}
						{valid.some((x) => x.author === viewer.name) && valid.length < a.required && <Note>{t.payouts.youApproved}</Note>}
						{waiting && a.digest && <div class="actions"><Act name={t.payouts.approve} tone="primary" mutation={approveMutation} lead={t.payouts.approveLead} fields={[{ name: "note", label: t.fields.note, kind: "area" }]} input={(v) => ({ payoutId: id, version, digest: a.digest!, ...(v.note ? { note: v.note } : {}) })} /></div>}
					</Card>
				);
			}}
		</Load>
	);
}
