import { useState } from "preact/compat";
import { Link } from "wouter";
import { graphql, useChange, useRead } from "../api";
import { Curve } from "../curve";
import { duration, human, money, percent } from "../format";
import { t } from "../texts";
import { Act, Area, Card, Errors, Facts, Json, Load, Note, Page, Status, Table, useDraft, When } from "../ui";

const productsQuery = graphql(`query Products { products(first: 50) { nodes { key version title summary place createdAt trigger { kind index unit direction } } } }`);
const productQuery = graphql(`query Product($key: String!, $version: Int) {
	productVersions(key: $key, first: 20) { nodes { version createdAt retiredAt } }
	product(key: $key, version: $version) {
		key version retiredAt title summary place createdAt notes contextSchema trigger { kind index unit direction decidesOn } payoutCurves { radiusShare points { index before reached } }
		times { quoteValidity waitingPeriod reportingWindow shortestTerm longestTerm farthestStart } price { uncertaintyFactor riskFactor expenseShare commissionShare maximumRateOnLine smoothingKm }
		currencies { code defaultLimit { amount currency } minimumLimit { amount currency } maximumLimit { amount currency } minimumPremium { amount currency } automaticUpTo { amount currency } }
		examples { name met reason index factor amount { amount currency } } measurement { sources { source stage } rule { kind m } wait challengeWindow }
	}
}`);
const publishMutation = graphql(`mutation PublishProduct($input: PublishProductInput!) { publishProduct(input: $input) { product { key version } } }`);
const retireMutation = graphql(`mutation RetireProduct($input: RetireProductInput!) { retireProduct(input: $input) { product { version retiredAt } } }`);

export default function Products({ id }: { id?: string }) {
	return id === "new" ? <Publish /> : id ? <Product id={id} /> : <All />;
}

function All() {
	const read = useRead(productsQuery, {});
	return (
		<Page title={t.nav.pages.products} lead={t.products.lead} actions={<Link class="button primary" href="/products/new">{t.products.publish}</Link>}>
			<Card class="flush"><Load from={read}>{(d) => <Table name={t.nav.pages.products} rows={d.products?.nodes ?? []} keyOf={(p) => p.key} columns={[
				{ title: t.fields.product, cell: (p) => <Link href={`/products/${p.key}`}>{p.title}</Link>, wide: true }, { title: t.products.key, cell: (p) => <code>{p.key}</code> }, { title: t.fields.version, cell: (p) => p.version, end: true }, { title: t.fields.peril, cell: (p) => human(p.trigger.kind) }, { title: t.fields.trigger, cell: (p) => `${human(p.trigger.index)} (${t.units[p.trigger.unit] ?? p.trigger.unit})` }, { title: t.fields.created, cell: (p) => <When at={p.createdAt} /> },
			]} />}</Load></Card>
		</Page>
	);
}

function Product({ id }: { id: string }) {
	const [key, version] = id.split("@"); // quake-circle, or quake-circle@2 for an older version
	const read = useRead(productQuery, { key, ...(version ? { version: Number(version) } : {}) });
	return (
		<Load from={read}>
			{({ product: p, productVersions: versions }) => p && (
				<Page title={p.title} lead={p.summary} back={["/products", t.nav.pages.products]} actions={versions?.nodes.some((v) => !v.retiredAt) && (
					<Act name={t.products.retire} tone="danger" mutation={retireMutation} lead={t.products.retireLead} fields={[
						{ name: "version", label: t.fields.version, kind: "choice", options: [...versions.nodes.filter((v) => !v.retiredAt).map((v) => [String(v.version), t.products.only(v.version)] as const), ["", t.products.allVersions]] }, { name: "reason", label: t.reason, kind: "area", required: true },
					]} input={(v) => ({ key: p.key, reason: v.reason, ...(v.version ? { version: Number(v.version) } : {}) })} />
				)}>
					{p.retiredAt && <Note tone="warn" title={t.products.retired}><When at={p.retiredAt} /></Note>}
					<div class="grid two">
						<div class="stack">
							<Card title={t.products.curve}><Curve curves={p.payoutCurves} unit={p.trigger.unit} direction={p.trigger.direction} />{p.notes.map((n) => <p key={n} class="faint">{n}</p>)}</Card>
							<Card title={t.products.examples} class="flush"><Table name={t.products.examples} rows={p.examples} keyOf={(e) => e.name} columns={[{ title: t.fields.name, cell: (e) => e.name, wide: true }, { title: t.explain.result, cell: (e) => <><Status code={e.met ? "APPROVED" : "DECLINED"} /> {human(e.reason)}</> }, { title: t.fields.share, cell: (e) => percent(e.factor), end: true }, { title: t.fields.amount, cell: (e) => money(e.amount), end: true }]} /></Card>
							<Card title={t.products.currencies} class="flush"><Table name={t.products.currencies} rows={p.currencies} keyOf={(c) => c.code} columns={[{ title: t.fields.currency, cell: (c) => c.code }, { title: t.products.least, cell: (c) => money(c.minimumLimit), end: true }, { title: t.products.usual, cell: (c) => money(c.defaultLimit), end: true }, { title: t.products.most, cell: (c) => money(c.maximumLimit), end: true }, { title: t.codes.MINIMUM_PREMIUM, cell: (c) => money(c.minimumPremium), end: true }, { title: t.products.automatic, cell: (c) => money(c.automaticUpTo), end: true }]} /></Card>
							<details class="card"><summary>{t.products.schema}</summary><Json of={p.contextSchema} /></details>
						</div>
						<div class="stack">
						<Card title={t.products.versions}>
							<ul class="rows">{versions?.nodes.map((v) => <li key={v.version}>{v.version === p.version ? <strong>{t.products.only(v.version)}</strong> : <Link href={`/products/${p.key}@${v.version}`}>{t.products.only(v.version)}</Link>}<span>{v.retiredAt && <Status code="RETIRED" />} <span class="faint"><When at={v.createdAt} /></span></span></li>)}</ul>
						</Card>
						<Card title={t.policies.details}>
							<Facts rows={[
								[t.products.key, <code>{p.key}</code>], [t.fields.version, p.version], [t.fields.peril, human(p.trigger.kind)], [t.fields.place, human(p.place)], [t.fields.created, <When at={p.createdAt} />], [t.fields.waiting, duration(p.times.waitingPeriod)], [t.policies.reporting, duration(p.times.reportingWindow)], [t.fields.term, `${duration(p.times.shortestTerm)} – ${duration(p.times.longestTerm)}`], [t.products.validity, duration(p.times.quoteValidity)],
								[t.codes.EXPENSE, percent(p.price.expenseShare)], [t.codes.COMMISSION, percent(p.price.commissionShare)], [t.codes.UNCERTAINTY_LOAD, `× ${Number(p.price.uncertaintyFactor)}`], [t.codes.RISK_LOAD, `× ${Number(p.price.riskFactor)}`], [t.products.maximumRate, percent(p.price.maximumRateOnLine)],
								p.measurement && [t.nav.pages.sources, p.measurement.sources.map((s) => `${s.source} (${human(s.stage).toLowerCase()})`).join(", ")], p.measurement && [t.products.rule, human(p.measurement.rule.kind)],
							]} />
						</Card>
						</div>
					</div>
				</Page>
			)}
		</Load>
	);
}

function Publish() {
	const [draft, setDraft, drop] = useDraft("product", { document: "" });
	const change = useChange(publishMutation);
	const [done, setDone] = useState<{ key: string; version: number } | null>(null);
	const submit = async (event: Event) => {
		event.preventDefault();
		const data = await change.run({ document: draft.document });
		if (data) { setDone(data.publishProduct!.product); drop(); }
	};
	const pick = async (event: Event) => {
		const file = (event.currentTarget as HTMLInputElement).files?.[0];
		if (file) setDraft({ document: await file.text() });
	};
	return (
		<Page title={t.products.publish} lead={t.products.publishLead} back={["/products", t.nav.pages.products]}>
			<form class="card" onSubmit={submit}>
				{done && <p class="notice good">{t.products.published} <Link href={`/products/${done.key}`}>{done.key}, {done.version}</Link></p>}
				<label>{t.products.file} <input type="file" accept=".yaml,.yml,.json" onChange={pick} /></label>
				<Area label={t.products.document} value={draft.document} onValue={(document) => setDraft({ document })} rows={22} required spellcheck={false} class="code" />
				<Errors problem={change.problem} />
				<div class="actions"><button class="primary" disabled={change.busy}>{t.products.publish}</button></div>
			</form>
		</Page>
	);
}
