import { graphql } from "../api";
import { age, human, number, splitList } from "../format";
import { t } from "../texts";
import { Act, Card, List, Page, Status, When } from "../ui";

const sourcesQuery = graphql(`query Sources($after: String) { sources(first: 50, after: $after) { nodes { name perils stages tokenSubjects enabled lastReadingAt ageSeconds outageSince policiesWaiting } pageInfo { hasNextPage endCursor } } }`);
const registerMutation = graphql(`mutation RegisterSource($input: RegisterSourceInput!) { registerSource(input: $input) { source { name } } }`);
const perils = ["EARTHQUAKE", "WINDSTORM", "RAINFALL", "TEMPERATURE"] as const;

interface Source { name: string; perils: readonly string[]; tokenSubjects: readonly string[]; enabled: boolean }

function Register({ source }: { source?: Source }) {
	return <Act name={source ? t.sources.edit : t.sources.register} tone={source ? "" : "primary"} mutation={registerMutation} lead={t.sources.registerLead} fields={[
		{ name: "name", label: t.fields.name, initial: source?.name, required: true }, ...perils.map((p) => ({ name: p, label: human(p), kind: "check" as const, initial: source?.perils.includes(p) ? "yes" : "" })),
		{ name: "subjects", label: t.sources.subjects, hint: t.sources.subjectsHint, initial: source?.tokenSubjects.join(", ") }, { name: "enabled", label: human("ENABLED"), kind: "check", initial: source && !source.enabled ? "" : "yes" },
	]} input={(v) => ({ name: v.name, perils: perils.filter((p) => v[p] === "yes"), tokenSubjects: splitList(v.subjects), enabled: v.enabled === "yes" })} />;
}

export default function Sources() {
	return (
		<Page title={t.nav.pages.sources} lead={t.sources.lead} actions={<Register />}>
			<Card class="flush">
				<List query={sourcesQuery} variables={{}} pick={(d) => d.sources} name={t.nav.pages.sources} every={15_000} columns={[
					{ title: t.fields.source, cell: (s) => <strong>{s.name}</strong> }, { title: t.fields.peril, cell: (s) => s.perils.map(human).join(", "), wide: true }, { title: t.fields.status, cell: (s) => <Status code={s.outageSince ? "STALE" : s.enabled ? "ENABLED" : "DISABLED"} /> },
					{ title: t.sources.last, cell: (s) => <When at={s.lastReadingAt} /> }, { title: t.inbox.age, cell: (s) => (s.ageSeconds === null ? "–" : age(s.ageSeconds)), end: true }, { title: t.sources.waiting, cell: (s) => number(s.policiesWaiting), end: true }, { title: t.inbox.action, cell: (s) => <Register source={s} />, end: true },
				]} />
			</Card>
		</Page>
	);
}
