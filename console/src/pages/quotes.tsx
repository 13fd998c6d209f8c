import { lazy, Suspense, useMemo, useState } from "preact/compat";
import { Link, useLocation, useSearch } from "wouter";
import { graphql, type Problem, useChange, useRead } from "../api";
import { Curve } from "../curve";
import { useFilter } from "../filter";
import { type Amount, day, duration, human, majorText, measure, minorDigits, money, percent, toMinor } from "../format";
import { type Viewer } from "../shell";
import { Terms } from "../terms";
import { t } from "../texts";
import { Card, Choice, Errors, Facts, Id, List, Load, metadataRows, Money, Note, Page, Status, Text, useDraft, When } from "../ui";

const MapView = lazy(() => import("../mapview"));

const listQuery = graphql(`query Quotes($after: String, $filter: QuoteFilter) {
	quotes(first: 25, after: $after, filter: $filter) { nodes { id partner partnerReference productKey status createdAt expiresAt price { premium { amount currency } } cover { limit { amount currency } } } pageInfo { hasNextPage endCursor } }
}`);

const productsQuery = graphql(`query QuoteProducts { products(first: 50) { nodes { key version title summary place contextSchema trigger { kind } currencies { code minimumLimit { amount currency } maximumLimit { amount currency } } notes } } }`);

const oneQuery = graphql(`query Quote($id: ID!) {
	quote(id: $id) {
		id partner partnerReference metadata productKey productVersion status createdAt expiresAt policyId context
		price { premium { amount currency } lines { kind amount { amount currency } } rateOnLine }
		basis { dataset firstYear lastYear years eventsInPlace payingEvents returnPeriodYears attachmentProbability expectedLoss standardDeviation formula }
		cover { limit { amount currency } startsAt term waitingPeriod reportingWindow place { kind latitude longitude radiusKm west south east north station } trigger { kind index unit direction strict decidesOn maximumDepthKm } payoutCurves { radiusShare points { index before reached } } measurement { sources { source stage } wait challengeWindow } }
		history { occurredAt source sourceEventId index { value unit } distanceKm factor payout { amount currency } }
		moratorium { reason endsAt }
	}
}`);

const createMutation = graphql(`mutation CreateQuote($input: CreateQuoteInput!) { createQuote(input: $input) { quote { id } } }`);
const bindMutation = graphql(`mutation BindPolicy($input: BindPolicyInput!) { bindPolicy(input: $input) { policy { id } } }`);

export default function Quotes({ viewer, id }: { viewer: Viewer; id?: string }) {
	if (id === "new") return <Builder viewer={viewer} />;
	return id ? <Quote viewer={viewer} id={id} /> : <All viewer={viewer} />;
}

function All({ viewer }: { viewer: Viewer }) {
	const operator = viewer.kind === "OPERATOR";
	const [filter, bar, isFiltered] = useFilter(["status", "product", "partnerReference", ...(operator ? ["partner"] : [])], { status: ["", "PRICED", "BOUND", "EXPIRED"] });
	return (
		<Page title={t.nav.pages.quotes} lead={t.quotes.lead} actions={!operator && <Link class="button primary" href="/quotes/new">{t.quotes.new}</Link>}>
			<Card class="flush">
				{bar}
				<List query={listQuery} variables={{ filter }} pick={(d) => d.quotes} name={t.nav.pages.quotes} empty={isFiltered ? t.quotes.empty : t.quotes.none} columns={[
					{ title: t.fields.quote, cell: (q) => <Id id={q.id} href={`/quotes/${q.id}`} /> },
					...(operator ? [{ title: t.fields.partner, cell: (q: { partner: string }) => q.partner }] : []),
					{ title: t.fields.reference, cell: (q) => q.partnerReference ?? "–" }, { title: t.fields.product, cell: (q) => q.productKey }, { title: t.fields.status, cell: (q) => <Status code={q.status} /> },
					{ title: t.fields.created, cell: (q) => <When at={q.createdAt} /> }, { title: t.fields.expires, cell: (q) => <When at={q.expiresAt} /> }, { title: t.fields.limit, cell: (q) => <Money of={q.cover.limit} />, end: true }, { title: t.fields.premium, cell: (q) => <Money of={q.price.premium} />, end: true },
				]} />
			</Card>
		</Page>
	);
}

// Schema is what the form reads of a product's JSON Schema.
export interface Schema { title?: string; description?: string; type?: string | string[]; format?: string; enum?: string[]; default?: any; minimum?: number; maximum?: number; required?: string[]; properties?: Record<string, Schema>; items?: Schema; minItems?: number; maxItems?: number; examples?: unknown[]; "x-instead-of"?: string[]; "x-minimum"?: string; "x-maximum"?: string }

const hidden = ["partner", "policyholder"]; // the token has the partner, and binding asks for the policyholder

function defaultsOf(schema: Schema): Record<string, any> {
	const value: Record<string, any> = {};
	for (const [name, part] of Object.entries(schema.properties ?? {})) if (part.default !== undefined && part.default !== null) value[name] = structuredClone(part.default);
	return value;
}

function Builder({ viewer }: { viewer: Viewer }) {
	const read = useRead(productsQuery, {});
	return <Load from={read}>{(d) => (d.products?.nodes.length ? <BuilderForm viewer={viewer} products={d.products.nodes} /> : <Page title={t.quotes.new} lead={t.quotes.noProducts} />)}</Load>;
}

type Product = { key: string; title: string; summary: string; contextSchema: any; notes: readonly string[]; currencies: readonly { code: string; minimumLimit: Amount; maximumLimit: Amount }[] };

function BuilderForm({ viewer, products }: { viewer: Viewer; products: readonly Product[] }) {
	const asked = new URLSearchParams(useSearch()).get("product");
	const [draft, setDraft] = useDraft<{ product: string; contexts: Record<string, any>; reference: string; quotes: string[] }>("quote", { product: asked ?? products[0].key, contexts: {}, reference: "", quotes: [] });
	const product = products.find((p) => p.key === draft.product) ?? products[0];
	const schema: Schema = product.contextSchema;
	const context = draft.contexts[product.key] ?? defaultsOf(schema);
	const setContext = (next: any) => setDraft({ ...draft, contexts: { ...draft.contexts, [product.key]: next } });
	const change = useChange(createMutation);
	const submit = async (event: Event) => {
		event.preventDefault();
		const data = await change.run({ product: product.key, context: { ...context, partner: viewer.partner }, ...(draft.reference ? { partnerReference: draft.reference } : {}) });
		if (data) setDraft({ ...draft, reference: "", quotes: [data.createQuote!.quote.id, ...draft.quotes].slice(0, 2) });
	};
	const problem = change.problem;
	const shown = Object.keys(schema.properties ?? {}).map((name) => `/input/context/${name}`);
	return (
		<Page title={t.quotes.new} lead={t.quotes.newLead} back={["/quotes", t.nav.pages.quotes]}>
			<div class={`grid builder ${draft.quotes.length > 1 ? "compare" : "two"}`}>
				<form class="card" onSubmit={submit}>
					<Choice label={t.fields.product} value={product.key} onValue={(key) => setDraft({ ...draft, product: key })} options={products.map((p) => [p.key, p.title] as const)} hint={product.summary} />
					<PlaceFields schema={schema} context={context} setContext={setContext} problem={problem} />
					{Object.entries(schema.properties ?? {}).filter(([name, part]) => !hidden.includes(name) && !["location", "box"].includes(name) && !(name === "radius_km" && context.box) && part).map(([name, part]) => (
						<SchemaField key={name} name={name} schema={part} value={context[name]} onValue={(value) => { const next = { ...context }; if (value === undefined) delete next[name]; else next[name] = value; setContext(next); }} problem={problem} pointer={`/input/context/${name}`} currencies={product.currencies} />
					))}
					<Text label={t.fields.reference} value={draft.reference} onValue={(reference) => setDraft({ ...draft, reference })} hint={t.quotes.referenceHint} maxLength={128} />
					<Errors problem={problem} shown={shown} />
					<div class="actions"><button class="primary" disabled={change.busy}>{change.busy ? t.working : draft.quotes.length ? t.quotes.priceAgain : t.quotes.price}</button>{draft.quotes.length > 0 && <button type="button" class="quiet" onClick={() => setDraft({ ...draft, quotes: [] })}>{t.quotes.clear}</button>}</div>
				</form>
				<div class="grid offers">
					{draft.quotes.length === 0 && <Card title={t.quotes.resultTitle}><p class="lead">{t.quotes.resultLead}</p><ul class="rows">{product.notes.map((note) => <li key={note} class="faint">{note}</li>)}</ul></Card>}
					{draft.quotes.map((id, n) => <Offer key={id} id={id} title={draft.quotes.length > 1 ? (n === 0 ? t.quotes.variantNow : t.quotes.variantBefore) : t.quotes.resultTitle} viewer={viewer} open={n === 0} />)}
				</div>
			</div>
		</Page>
	);
}

interface Part { schema: Schema; context: any; setContext: (next: any) => void; problem: Problem | null }

const errorAt = (problem: Problem | null, pointer: string) => problem?.fields.find((f) => f.pointer === pointer || f.pointer.startsWith(`${pointer}/`))?.detail;

// PlaceFields is the pin on the map with its numbers, or the box that a product allows instead.
function PlaceFields({ schema, context, setContext, problem }: Part) {
	const { location, box } = schema.properties ?? {};
	if (!location && !box) return null;
	const pin = context.location as { latitude: number; longitude: number } | undefined;
	const useBox = Boolean(context.box);
	const setPin = (next: { latitude: number; longitude: number }) => setContext({ ...context, location: next });
	const marks = useBox
		? [{ id: "box", latitude: (context.box.south + context.box.north) / 2, longitude: (context.box.west + context.box.east) / 2, box: [context.box.west, context.box.south, context.box.east, context.box.north] as [number, number, number, number] }]
		: pin ? [{ id: "circle", ...pin, radiusKm: Number(context.radius_km ?? 0), tone: "accent" }] : [];
	const toBox = () => {
		const { location: at, radius_km: radius, ...rest } = context;
		const r = Math.max(60, Number(radius ?? 60)) / 111, { latitude, longitude } = at ?? { latitude: 20, longitude: -75 };
		const round = (n: number) => Number(n.toFixed(2));
		setContext({ ...rest, box: { west: round(longitude - r), south: round(latitude - r), east: round(longitude + r), north: round(latitude + r) } });
	};
	const number = (name: "latitude" | "longitude") => (
		<Text label={name === "latitude" ? t.quotes.latitude : t.quotes.longitude} value={String(pin?.[name] ?? "")} inputMode="decimal" error={errorAt(problem, `/input/context/location/${name}`)} onValue={(v) => setPin({ ...(pin ?? { latitude: 0, longitude: 0 }), [name]: numberOrText(v) })} />
	);
	return (
		<fieldset class="form">
			<legend>{t.fields.place}</legend>
			{box && location && <Choice label={t.quotes.shape} value={useBox ? "BOX" : "CIRCLE"} options={["CIRCLE", "BOX"]} onValue={(kind) => { if (kind === "BOX") toBox(); else { const { box: _, ...rest } = context; setContext({ ...rest, ...defaultsOf({ properties: { location, radius_km: schema.properties!.radius_km } }) }); } }} />}
			<Suspense fallback={<div class="map low" />}>
				<MapView class="low" label={t.quotes.mapLabel} marks={marks} pin={useBox ? null : pin} fit view={pin ? { latitude: pin.latitude, longitude: pin.longitude, zoom: 12 } : { latitude: 18, longitude: -40, zoom: 1 }} onPlace={useBox ? undefined : setPin} onDrag={useBox ? undefined : (_, at) => setPin(at)} />
			</Suspense>
			{useBox
				? <div class="pair">{(["west", "south", "east", "north"] as const).map((side) => <Text key={side} label={t.quotes.sides[side]} inputMode="decimal" value={String(context.box[side])} error={errorAt(problem, `/input/context/box/${side}`)} onValue={(v) => setContext({ ...context, box: { ...context.box, [side]: numberOrText(v) } })} />)}</div>
				: <div class="pair">{number("latitude")}{number("longitude")}</div>}
		</fieldset>
	);
}

// numberOrText keeps what is being typed until it is a number.
const numberOrText = (text: string): any => (/^-?\d+(\.\d+)?$/.test(text.trim()) && !text.endsWith(".") ? Number(text) : text);

function SchemaField({ name, schema, value, onValue, problem, pointer, currencies }: { name: string; schema: Schema; value: any; onValue: (value: any) => void; problem: Problem | null; pointer: string; currencies?: Product["currencies"] }): any {
	const label = schema.title ?? name, hint = t.quotes.fieldHints[name] ?? schema.description;
	const error = errorAt(problem, pointer);
	const type = Array.isArray(schema.type) ? schema.type.find((x) => x !== "null") : schema.type;
	if (name === "limit" && currencies) return <LimitField {...{ label, value, onValue, error, currencies }} />;
	if (schema.format === "date-time") return <Text label={label} hint={hint} error={error} type="datetime-local" value={value ? localInput(value) : ""} onValue={(v) => onValue(v ? new Date(v).toISOString() : undefined)} />;
	if (schema.format === "duration") return <TermField {...{ label, hint, error, value, onValue }} />;
	if (schema.enum) return <Choice label={label} hint={hint} error={error} value={value ?? ""} options={[...(value === undefined ? [["", t.quotes.choose] as const] : []), ...schema.enum.map((o) => [o, o] as const)]} onValue={(v) => onValue(v || undefined)} />;
	if (type === "object") {
		return (
			<fieldset class="form">
				<legend>{label}</legend>
				{hint && <p class="hint">{hint}</p>}
				<div class="pair">{Object.entries(schema.properties ?? {}).map(([inner, part]) => <SchemaField key={inner} name={inner} schema={{ ...part, description: undefined }} value={value?.[inner]} pointer={`${pointer}/${inner}`} problem={problem} onValue={(v) => { const next = { ...value }; if (v === undefined || v === "") delete next[inner]; else next[inner] = v; onValue(Object.keys(next).length ? next : undefined); }} />)}</div>
			</fieldset>
		);
	}
	if (type === "array" && schema.items?.properties) {
		const rows: any[] = value ?? [];
		const columns = Object.entries(schema.items.properties);
		return (
			<fieldset class="form">
				<legend>{label}</legend>
				{hint && <p class="hint">{hint}</p>}
				{rows.map((row, n) => (
					<div class="steps" key={n}>
						{columns.map(([inner, part]) => <SchemaField key={inner} name={inner} schema={part} value={row[inner]} pointer={`${pointer}/${n}/${inner}`} problem={problem} onValue={(v) => onValue(rows.map((r, m) => (m === n ? { ...r, [inner]: v } : r)))} />)}
						<button type="button" class="quiet small" aria-label={t.quotes.removeRow(n + 1)} title={t.quotes.removeRow(n + 1)} disabled={rows.length <= (schema.minItems ?? 0)} onClick={() => onValue(rows.filter((_, m) => m !== n))}>✕</button>
					</div>
				))}
				<div><button type="button" class="small" disabled={rows.length >= (schema.maxItems ?? 50)} onClick={() => onValue([...rows, rows.at(-1) ? { ...rows.at(-1) } : Object.fromEntries(columns.map(([inner]) => [inner, ""]))])}>{t.quotes.addRow}</button></div>
			</fieldset>
		);
	}
	const numeric = type === "number" || type === "integer";
	const range = numeric && schema.minimum !== undefined && schema.maximum !== undefined ? t.quotes.range(schema.minimum, schema.maximum) : "";
	return <Text label={label} hint={[hint, range].filter(Boolean).join(" ")} error={error} inputMode={numeric ? "decimal" : undefined} value={value === undefined ? "" : String(value)} onValue={(v) => onValue(v === "" ? undefined : numeric ? numberOrText(v) : v)} />;
}

// TermField offers the usual terms; another one is typed as days.
function TermField({ label, hint, error, value, onValue }: { label: string; hint?: string; error?: string; value: string | undefined; onValue: (value: any) => void }) {
	const usual = ["P30D", "P90D", "P180D", "P365D"];
	const [own, setOwn] = useState(value !== undefined && !usual.includes(value));
	const days = /^P(\d+)D$/.exec(value ?? "")?.[1] ?? "";
	return (
		<div class="pair">
			<Choice label={label} hint={hint} error={own ? undefined : error} value={own ? "" : (value ?? "P365D")} options={[...usual.map((term) => [term, duration(term)] as const), ["", t.quotes.otherTerm]]} onValue={(term) => { setOwn(term === ""); if (term) onValue(term); }} />
			{own && <Text label={t.whatIf.days} inputMode="numeric" value={days} error={error} onValue={(v) => onValue(`P${v.replaceAll(/\D/g, "") || 0}D`)} />}
		</div>
	);
}

function localInput(iso: string): string {
	const at = new Date(iso);
	return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

// LimitField is typed in whole units of the currency and sent in its minor units.
function LimitField({ label, value, onValue, error, currencies }: { label: string; value: Amount | undefined; onValue: (value: Amount) => void; error?: string; currencies: Product["currencies"] }) {
	const currency = value?.currency ?? currencies[0].code;
	const [typed, setTyped] = useState(value ? majorText(value) : "");
	const bounds = currencies.find((c) => c.code === currency);
	const minor = toMinor(typed, currency);
	return (
		<div class="pair">
			<Text label={label} inputMode="decimal" value={typed} error={error ?? (typed && Number.isNaN(minor) ? t.quotes.badAmount(minorDigits(currency)) : undefined)} hint={bounds ? t.quotes.bounds(money(bounds.minimumLimit), money(bounds.maximumLimit)) : undefined} onValue={(text) => { setTyped(text); const amount = toMinor(text, currency); if (!Number.isNaN(amount)) onValue({ amount, currency }); }} />
			<Choice label={t.fields.currency} value={currency} options={currencies.map((c) => [c.code, c.code] as const)} onValue={(code) => { const amount = toMinor(typed, code); onValue({ amount: Number.isNaN(amount) ? 0 : amount, currency: code }); }} />
		</div>
	);
}

function Offer({ id, title, viewer, open }: { id: string; title: string; viewer: Viewer; open: boolean }) {
	const read = useRead(oneQuery, { id });
	return <Load from={read}>{({ quote: q }) => q && <Card title={title} actions={<Id id={q.id} href={`/quotes/${q.id}`} />}><OfferBody quote={q} viewer={viewer} open={open} /></Card>}</Load>;
}

interface QuoteShape {
	id: string; status: string; expiresAt: string; policyId: string | null; moratorium: { reason: string; endsAt: string } | null; context: any;
	price: { premium: Amount; lines: readonly { kind: string; amount: Amount }[]; rateOnLine: string };
	basis: { dataset: string; firstYear: number; lastYear: number; years: number; eventsInPlace: number; payingEvents: number; returnPeriodYears: string; attachmentProbability: string };
	cover: Parameters<typeof Terms>[0]["cover"] & { payoutCurves: Parameters<typeof Curve>[0]["curves"] };
	history: readonly { occurredAt: string; source: string; sourceEventId: string; index: { value: string; unit: string }; distanceKm: number | null; factor: string; payout: Amount }[];
}

const most = 8; // past events in the list; the drawing has all

function OfferBody({ quote: q, viewer, open }: { quote: QuoteShape; viewer: Viewer; open: boolean }) {
	return (
		<>
			<dl class="figures"><div><dt>{t.fields.premium}</dt><dd>{money(q.price.premium)}<small>{t.quotes.rate(percent(q.price.rateOnLine, 2))}</small></dd></div><div><dt>{t.fields.limit}</dt><dd>{money(q.cover.limit)}</dd></div><div><dt>{t.quotes.returns}</dt><dd>{t.quotes.years(Math.round(Number(q.basis.returnPeriodYears)))}</dd></div></dl>
			{q.moratorium && <Note tone="warn" title={t.quotes.moratorium}>{q.moratorium.reason} <When at={q.moratorium.endsAt} /></Note>}
			<Bind quote={q} viewer={viewer} />
			<Waterfall lines={q.price.lines} total={q.price.premium} />
			<details open={open}>
				<summary>{t.quotes.past(q.history.length, q.basis.firstYear, q.basis.lastYear)}</summary>
				<PastYears events={q.history} from={q.basis.firstYear} to={q.basis.lastYear} />
				<ul class="rows past" aria-label={t.quotes.pastTitle}>{q.history.slice(0, most).map((e) => <li key={e.sourceEventId + e.occurredAt}><span>{day(e.occurredAt)} <span class="faint">{measure(e.index)} · {e.sourceEventId}</span></span><Money of={e.payout} /></li>)}</ul>
				{q.history.length === 0 && <p class="faint">{t.quotes.noPast(q.basis.firstYear, q.basis.lastYear)}</p>}
				{q.history.length > most && <p class="faint">{t.quotes.morePast(q.history.length - most)}</p>}
			</details>
			<details><summary>{t.policies.terms}</summary><Terms cover={q.cover} /><Curve curves={q.cover.payoutCurves} unit={q.cover.trigger.unit} direction={q.cover.trigger.direction} /></details>
		</>
	);
}

// PastYears draws what each year would have paid.
function PastYears({ events, from, to }: { events: QuoteShape["history"]; from: number; to: number }) {
	const years = useMemo(() => {
		const sums = new Map<number, number>();
		for (const e of events) sums.set(new Date(e.occurredAt).getUTCFullYear(), (sums.get(new Date(e.occurredAt).getUTCFullYear()) ?? 0) + Number(e.factor));
		return sums;
	}, [events]);
	if (events.length === 0) return null;
	const count = to - from + 1, step = 460 / count;
	return (
		<svg class="curve" viewBox="0 0 460 74" role="img" aria-label={t.quotes.pastChart([...years].map(([y, s]) => `${y}: ${percent(s)}`).join(", "))}>
			<line class="axis" x1="0" x2="460" y1="56" y2="56" />
			{[...years].map(([year, share]) => { const h = Math.max(2, Math.min(1, share) * 48); return <rect key={year} class="fill" x={(year - from) * step} width={Math.max(2, step - 1)} y={56 - h} height={h}><title>{`${year}: ${percent(share)}`}</title></rect>; })}
			<text x="0" y="71">{from}</text><text x="460" y="71" text-anchor="end">{to}</text>
		</svg>
	);
}

function Waterfall({ lines, total }: { lines: QuoteShape["price"]["lines"]; total: Amount }) {
	let sum = 0;
	const all = Math.max(1, total.amount);
	return (
		<div class="bars" role="group" aria-label={t.quotes.waterfall}>
			{lines.map((line) => {
				const start = sum;
				sum += line.amount.amount;
				return <div key={line.kind}><span>{human(line.kind)}</span><span class="bar"><i style={{ left: `${(100 * Math.min(start, sum)) / all}%`, width: `${Math.max(0.6, (100 * Math.abs(line.amount.amount)) / all)}%` }} /></span><Money of={line.amount} /></div>;
			})}
			<div class="total"><span>{t.fields.premium}</span><span class="bar"><i style={{ left: "0", width: "100%" }} /></span><Money of={total} /></div>
		</div>
	);
}

function Bind({ quote: q, viewer }: { quote: QuoteShape; viewer: Viewer }) {
	const change = useChange(bindMutation);
	const [, go] = useLocation();
	const given = Boolean(q.context?.policyholder?.name);
	const [holder, setHolder] = useState({ name: "", email: "", country: "" });
	if (q.policyId) return <p><Status code="BOUND" /> <Link href={`/policies/${q.policyId}`}>{t.quotes.toPolicy}</Link></p>;
	if (q.status !== "PRICED" || !viewer.scopes.includes("policies:write")) return <p><Status code={q.status} /></p>;
	const submit = async (event: Event) => {
		event.preventDefault();
		const policyholder = Object.fromEntries(Object.entries(holder).filter(([, v]) => v));
		const data = await change.run({ quoteId: q.id, ...(holder.name ? { policyholder } : {}) });
		if (data) go(`/policies/${data.bindPolicy!.policy.id}`);
	};
	return (
		<form onSubmit={submit} class="bind">
			{!given && <div class="holder">{(["name", "email", "country"] as const).map((n) => <Text key={n} label={n === "name" ? t.fields.holder : t.fields[n]} value={holder[n]} maxLength={n === "country" ? 2 : 254} required={n === "name"} autoComplete="off" error={change.problem?.fields.find((f) => f.pointer.endsWith(`/policyholder/${n}`))?.detail} onValue={(v) => setHolder({ ...holder, [n]: n === "country" ? v.toUpperCase() : v })} />)}</div>}
			<Errors problem={change.problem} shown={["/input/policyholder"]} />
			<div class="actions"><button class="primary" disabled={change.busy}>{t.quotes.bind(money(q.price.premium))}</button><span class="faint">{t.quotes.until} <When at={q.expiresAt} /></span></div>
		</form>
	);
}

// aYear is a figure of the basis: minor units with decimals.
const aYear = (minor: string, currency: string) => t.quotes.aYear(money({ amount: Math.round(Number(minor)), currency }));

function Quote({ viewer, id }: { viewer: Viewer; id: string }) {
	const read = useRead(oneQuery, { id });
	return (
		<Load from={read}>
			{({ quote: q }) => q && (
				<Page title={t.quotes.title(q.partnerReference ?? q.productKey)} back={["/quotes", t.nav.pages.quotes]} lead={<><Status code={q.status} /> <code class="id">{q.id}</code></>}>
					<div class="grid two">
						<Card><OfferBody quote={q} viewer={viewer} open /></Card>
						<Card title={t.quotes.basis}>
							<Facts rows={[
								[t.fields.product, `${q.productKey}, version ${q.productVersion}`], [t.fields.created, <When at={q.createdAt} />], [t.fields.expires, <When at={q.expiresAt} />], viewer.kind === "OPERATOR" && [t.fields.partner, q.partner], [t.quotes.dataset, q.basis.dataset], [t.quotes.observed, `${q.basis.firstYear}–${q.basis.lastYear} (${q.basis.years})`],
								[t.quotes.inPlace, q.basis.eventsInPlace], [t.quotes.paying, q.basis.payingEvents], [t.quotes.chance, percent(q.basis.attachmentProbability, 2)], [t.quotes.expectedLoss, aYear(q.basis.expectedLoss, q.price.premium.currency)], [t.quotes.deviation, aYear(q.basis.standardDeviation, q.price.premium.currency)], ...metadataRows(q.metadata),
							]} />
						</Card>
					</div>
				</Page>
			)}
		</Load>
	);
}

