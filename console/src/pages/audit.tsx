import { graphql } from "../api";
import { useFilter } from "../filter";
import { human } from "../format";
import { address } from "../lines";
import { t } from "../texts";
import { Card, Id, List, Page, Status, When } from "../ui";

const auditQuery = graphql(`query Audit($after: String, $filter: AuditFilter) { auditLog(first: 50, after: $after, filter: $filter) { nodes { id at outcome operation actorKind actor client partner subject reason code requestId times } pageInfo { hasNextPage endCursor } } }`);
const prefixes: Record<string, string> = { pol: "policy", clm: "claim", pay: "payout", pyt: "payout", quo: "quote", qte: "quote" };

export default function Audit() {
	const [filter, bar] = useFilter(["outcome", "operation", "partner", "subject"], { outcome: ["", "DONE", "REFUSED"] });
	return (
		<Page title={t.nav.pages.audit} lead={t.audit.lead}>
			<Card class="flush">
				{bar}
				<List query={auditQuery} variables={{ filter }} pick={(d) => d.auditLog} name={t.nav.pages.audit} empty={t.nothing} columns={[
					{ title: t.fields.at, cell: (a) => <When at={a.at} /> }, { title: t.fields.who, cell: (a) => <span title={`${human(a.actorKind)} · ${a.client}`}>{a.actor || a.client}</span> }, { title: t.fields.what, cell: (a) => <>{a.operation}{a.times > 1 && ` × ${a.times}`}</> }, { title: t.fields.outcome, cell: (a) => <Status code={a.outcome} more={a.code} /> },
					{ title: t.fields.partner, cell: (a) => a.partner ?? "–" }, { title: t.audit.subject, cell: (a) => (a.subject ? <Id id={a.subject} href={address(prefixes[a.subject.split("_")[0]] ?? "", a.subject) ?? undefined} /> : "–") }, { title: t.reason, cell: (a) => a.reason ?? "–", wide: true },
				]} />
			</Card>
		</Page>
	);
}
