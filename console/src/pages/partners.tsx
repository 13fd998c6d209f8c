import { graphql } from "../api";
import { t } from "../texts";
import { Act, Card, List, Page, Status, When } from "../ui";

const partnersQuery = graphql(`query Partners($after: String) { partners(first: 50, after: $after) { nodes { slug name status createdAt updatedAt } pageInfo { hasNextPage endCursor } } }`);
const registerMutation = graphql(`mutation RegisterPartner($input: RegisterPartnerInput!) { registerPartner(input: $input) { partner { slug } } }`);
const disableMutation = graphql(`mutation DisablePartner($input: DisablePartnerInput!) { disablePartner(input: $input) { partner { slug status } } }`);
const enableMutation = graphql(`mutation EnablePartner($input: EnablePartnerInput!) { enablePartner(input: $input) { partner { slug status } } }`);
const reason = [{ name: "reason", label: t.reason, kind: "area" as const, required: true }];

export default function Partners() {
	return (
		<Page title={t.nav.pages.partners} lead={t.partners.lead} actions={<Act name={t.partners.register} tone="primary" mutation={registerMutation} fields={[{ name: "slug", label: t.partners.slug, hint: t.partners.slugHint, required: true }, { name: "name", label: t.fields.name, required: true }]} input={(v) => ({ slug: v.slug, name: v.name })} />}>
			<Card class="flush">
				<List query={partnersQuery} variables={{}} pick={(d) => d.partners} name={t.nav.pages.partners} columns={[
					{ title: t.fields.partner, cell: (p) => <strong>{p.name}</strong> }, { title: t.partners.slug, cell: (p) => <code>{p.slug}</code> }, { title: t.fields.status, cell: (p) => <Status code={p.status} /> }, { title: t.fields.created, cell: (p) => <When at={p.createdAt} /> },
					{ title: t.inbox.action, end: true, cell: (p) => (p.status === "ENABLED" ? <Act name={t.developers.disable} tone="danger" lead={t.partners.disableLead(p.name)} mutation={disableMutation} fields={reason} input={(v) => ({ slug: p.slug, reason: v.reason })} /> : <Act name={t.developers.enable} mutation={enableMutation} fields={reason} input={(v) => ({ slug: p.slug, reason: v.reason })} />) },
				]} />
			</Card>
		</Page>
	);
}
