import { graphql } from "../api";
import { type Amount, majorText, percent, splitList, toMinor } from "../format";
import { t } from "../texts";
import { Act, Card, List, Page, Status, When } from "../ui";

const partnersQuery = graphql(`query Partners($after: String) { partners(first: 50, after: $after) { nodes { slug name status createdAt terms { products commissionShare maximumLimits { amount currency } requestsPerSecond requestBurst contacts { name email } } } pageInfo { hasNextPage endCursor } } }`);
const registerMutation = graphql(`mutation RegisterPartner($input: RegisterPartnerInput!) { registerPartner(input: $input) { partner { slug } } }`);
const disableMutation = graphql(`mutation DisablePartner($input: DisablePartnerInput!) { disablePartner(input: $input) { partner { slug status } } }`);
const enableMutation = graphql(`mutation EnablePartner($input: EnablePartnerInput!) { enablePartner(input: $input) { partner { slug status } } }`);
const termsMutation = graphql(`mutation SetPartnerTerms($input: SetPartnerTermsInput!) { setPartnerTerms(input: $input) { partner { slug } } }`);
const reason = [{ name: "reason", label: t.reason, kind: "area" as const, required: true }];

export default function Partners() {
	return (
		<Page title={t.nav.pages.partners} lead={t.partners.lead} actions={<Act name={t.partners.register} tone="primary" mutation={registerMutation} fields={[{ name: "slug", label: t.partners.slug, hint: t.partners.slugHint, required: true }, { name: "name", label: t.fields.name, required: true }]} input={(v) => ({ slug: v.slug, name: v.name })} />}>
			<Card class="flush">
				<List query={partnersQuery} variables={{}} pick={(d) => d.partners} name={t.nav.pages.partners} columns={[
					{ title: t.fields.partner, cell: (p) => <strong>{p.name}</strong> }, { title: t.partners.slug, cell: (p) => <code>{p.slug}</code> }, { title: t.fields.status, cell: (p) => <Status code={p.status} /> }, { title: t.partners.sells, cell: (p) => p.terms.products?.join(", ") ?? t.partners.everything },
					{ title: t.codes.COMMISSION, cell: (p) => (p.terms.commissionShare === null ? t.partners.ofProduct : percent(p.terms.commissionShare, 2)) }, { title: t.fields.created, cell: (p) => <When at={p.createdAt} /> },
					{ title: t.inbox.action, end: true, cell: (p) => <div class="actions"><Terms partner={p} />{p.status === "ENABLED" ? <Act name={t.developers.disable} tone="danger" lead={t.partners.disableLead(p.name)} mutation={disableMutation} fields={reason} input={(v) => ({ slug: p.slug, reason: v.reason })} /> : <Act name={t.developers.enable} mutation={enableMutation} fields={reason} input={(v) => ({ slug: p.slug, reason: v.reason })} />}</div> },
				]} />
			</Card>
		</Page>
	);
}

interface TermsOf { slug: string; name: string; terms: { products: readonly string[] | null; commissionShare: string | null; maximumLimits: readonly Amount[]; requestsPerSecond: number | null; requestBurst: number | null; contacts: readonly { name: string; email: string }[] } }

// Terms changes what was agreed with a partner. The form has all of it: what is left empty has no bound.
function Terms({ partner: { slug, name, terms } }: { partner: TermsOf }) {
	return (
		<Act name={t.partners.terms} title={t.partners.termsOf(name)} confirm={t.save} mutation={termsMutation} lead={t.partners.termsLead} fields={[
			{ name: "products", label: t.partners.sells, hint: t.partners.sellsHint, initial: terms.products?.join(", ") },
			{ name: "commissionShare", label: t.partners.commission, hint: t.partners.commissionHint, initial: terms.commissionShare ?? "" },
			{ name: "maximumLimits", label: t.partners.limits, hint: t.partners.limitsHint, kind: "area", initial: terms.maximumLimits.map((m) => `${m.currency} ${majorText(m)}`).join("\n") },
			{ name: "requestsPerSecond", label: t.partners.rate, hint: t.partners.rateHint, initial: String(terms.requestsPerSecond ?? "") }, { name: "requestBurst", label: t.partners.burst, hint: t.partners.rateHint, initial: String(terms.requestBurst ?? "") },
			{ name: "contacts", label: t.partners.contacts, hint: t.partners.contactsHint, kind: "area", initial: terms.contacts.map((c) => `${c.name} <${c.email}>`).join("\n") }, ...reason,
		]} input={(v) => {
			const limits = splitList(v.maximumLimits, "\n").map((line) => { const [, currency = "", amount = ""] = /^([A-Za-z]{3})\s+(.+)$/.exec(line) ?? []; return { currency: currency.toUpperCase(), amount: currency ? toMinor(amount, currency.toUpperCase()) : NaN }; });
			const contacts = splitList(v.contacts, "\n").map((line) => { const [, of = "", email = ""] = /^(.+?)\s*<(\S+)>$/.exec(line) ?? []; return { name: of, email }; });
			if (limits.some((m) => Number.isNaN(m.amount))) return t.partners.badLimits;
			if (contacts.some((c) => !c.email)) return t.partners.badContacts;
			const number = (text: string) => (text ? Number(text) : null);
			const [perSecond, burst] = [number(v.requestsPerSecond), number(v.requestBurst)];
			if ([perSecond, burst].some((n) => n !== null && !Number.isInteger(n))) return t.partners.badRate;
			return { slug, reason: v.reason, products: v.products.trim() ? splitList(v.products) : null, commissionShare: v.commissionShare || null, maximumLimits: limits, requestsPerSecond: perSecond, requestBurst: burst, contacts };
		}} />
	);
}
