import { useState } from "preact/compat";
import { graphql, useRead } from "../api";
import { human, number } from "../format";
import { address } from "../lines";
import { chosenPartner } from "../store";
import { t } from "../texts";
import { Card, Id, List, Load, Money, Page, Table, Text, When } from "../ui";
import { save } from "./claims";

const balanceQuery = graphql(`query Balances($partner: String, $from: DateTime, $to: DateTime) {
	statement(partner: $partner, from: $from, to: $to) {
		from to
		opening { account balance { amount currency } }
		closing { account partner debits { amount currency } credits { amount currency } balance { amount currency } entries }
	}
}`);

const entriesQuery = graphql(`query Entries($partner: String, $from: DateTime, $to: DateTime, $after: String) {
	statement(partner: $partner, from: $from, to: $to) {
		entries(first: 25, after: $after) { nodes { at eventId eventType account amount { amount currency } partner policyId claimId payoutId } pageInfo { hasNextPage endCursor } }
	}
}`);

const csvQuery = graphql(`query StatementFile($partner: String, $from: DateTime, $to: DateTime) { statement(partner: $partner, from: $from, to: $to) { csv } }`);

const firstOfMonth = () => new Date(Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth(), 1)).toISOString().slice(0, 10);
const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);

export default function StatementPage() {
	const [from, setFrom] = useState(firstOfMonth), [to, setTo] = useState(tomorrow), partner = chosenPartner.use();
	const variables = { from: `${from || firstOfMonth()}T00:00:00Z`, to: `${to || tomorrow()}T00:00:00Z`, ...(partner ? { partner } : {}) };
	const read = useRead(balanceQuery, variables);
	const [file, setFile] = useState(false);
	const csv = useRead(csvQuery, variables, { pause: !file });
	if (file && csv.data?.statement?.csv) {
		setFile(false);
		save(new Blob([csv.data.statement.csv]), `statement-${from}-${to}.csv`);
	}
	return (
		<Page title={t.nav.pages.statement} lead={t.statement.lead} actions={<button onClick={() => { setFile(true); csv.again(); }}>{t.statement.csv}</button>}>
			<Card>
				<div class="filters">
					<Text label={t.fields.from} type="date" value={from} onValue={setFrom} /><Text label={t.fields.to} type="date" value={to} onValue={setTo} hint={t.statement.notIncluded} />
				</div>
				{csv.problem && <p class="error">{csv.problem.message}</p>}
				<Load from={read}>
					{(d) => (
						<Table name={t.statement.balances} rows={d.statement?.closing ?? []} empty={t.statement.empty} keyOf={(b) => `${b.account}${b.partner}${b.balance.currency}`} columns={[
							{ title: t.fields.account, cell: (b) => human(b.account) }, { title: t.statement.entries, cell: (b) => number(b.entries), end: true },
							{ title: t.statement.opening, cell: (b) => <Money of={d.statement?.opening?.find((o) => o.account === b.account && o.balance.currency === b.balance.currency)?.balance ?? { amount: 0, currency: b.balance.currency }} />, end: true },
							{ title: t.statement.debits, cell: (b) => <Money of={b.debits} />, end: true }, { title: t.statement.credits, cell: (b) => <Money of={b.credits} />, end: true }, { title: t.statement.closing, cell: (b) => <Money of={b.balance} />, end: true },
						]} />
					)}
				</Load>
			</Card>
			<Card title={t.statement.entries} class="flush">
				<List query={entriesQuery} variables={variables} pick={(d) => d.statement?.entries} name={t.statement.entries} empty={t.statement.empty} columns={[
					{ title: t.fields.at, cell: (e) => <When at={e.at} /> }, { title: t.fields.account, cell: (e) => human(e.account) }, { title: t.fields.event, cell: (e) => human(e.eventType) },
					{ title: t.fields.policy, cell: (e) => <Id id={e.policyId} href={address("policy", e.policyId)!} /> }, { title: t.fields.claim, cell: (e) => (e.claimId ? <Id id={e.claimId} href={address("claim", e.claimId)!} /> : "–") }, { title: t.fields.amount, cell: (e) => <Money of={e.amount} />, end: true },
				]} />
			</Card>
		</Page>
	);
}
