// The frame around every page: sign-in, navigation, and what has happened to the session.
import { lazy, Suspense, useEffect } from "preact/compat";
import { Link, Redirect, Route, Switch, useLocation } from "wouter";
import { follow, graphql, lastSequence, online, touch, useRead } from "./api";
import { config } from "./config";
import { human, zone } from "./format";
import { phase, problem, signIn, signOut } from "./session";
import { Search } from "./search";
import { chosenPartner, keptStore, store } from "./store";
import { t } from "./texts";
import { Note, Page } from "./ui";

const viewerQuery = graphql(`query Viewer { viewer { kind name client partner scopes } }`);

const partnersQuery = graphql(`query PartnerSwitch { partners(first: 100) { nodes { slug name } } }`);

export interface FeedEvent { id: string; sequence: number; type: string; partner: string; occurredAt: string; subject: { type: string; id: string } }

const feedDocument = graphql(`subscription Feed($afterSequence: Long, $generation: Int) { events(afterSequence: $afterSequence, generation: $generation) { id sequence generation type partner occurredAt subject { type id } } }`);

// feed holds the newest events since the page was opened.
export const feed = store<FeedEvent[]>([]);
export const live = store(false);
const theme = keptStore<"auto" | "light" | "dark">("parapet.theme", "auto");

const partnerPages = {
	home: lazy(() => import("./pages/home")),
	policies: lazy(() => import("./pages/policies")),
	claims: lazy(() => import("./pages/claims")),
	payouts: lazy(() => import("./pages/payouts")),
	quotes: lazy(() => import("./pages/quotes")),
	map: lazy(() => import("./pages/map")),
	"what-if": lazy(() => import("./pages/whatif")),
	statement: lazy(() => import("./pages/statement")),
	developers: lazy(() => import("./pages/developers")),
	...(config.rehearsal ? { "time-machine": lazy(() => import("./pages/timemachine")) } : {}),
} as Record<string, PageComponent>;

const operatorPages = {
	inbox: lazy(() => import("./pages/inbox")),
	events: lazy(() => import("./pages/events")),
	claims: partnerPages.claims,
	payouts: partnerPages.payouts,
	policies: partnerPages.policies,
	quotes: partnerPages.quotes,
	map: partnerPages.map,
	"what-if": partnerPages["what-if"],
	book: partnerPages.home,
	statement: partnerPages.statement,
	"release-stop": lazy(() => import("./pages/stop")),
	partners: lazy(() => import("./pages/partners")),
	products: lazy(() => import("./pages/products")),
	sources: lazy(() => import("./pages/sources")),
	capacity: lazy(() => import("./pages/capacity")),
	audit: lazy(() => import("./pages/audit")),
	jobs: lazy(() => import("./pages/jobs")),
	"time-machine": partnerPages["time-machine"],
} as Record<string, PageComponent>;

export interface Viewer { kind: string; name: string; client: string; partner: string | null; scopes: string[] }
type PageComponent = ReturnType<typeof lazy<(props: { viewer: Viewer; id?: string }) => any>>;

const groups: Record<"partner" | "operator", [string, string[]][]> = {
	partner: [["", ["home", "map", "what-if"]], [t.nav.cover, ["quotes", "policies"]], [t.nav.money, ["claims", "payouts", "statement"]], [t.nav.build, ["developers", "time-machine"]]],
	operator: [["", ["inbox", "events", "release-stop"]], [t.nav.records, ["claims", "payouts", "policies", "quotes"]], [t.nav.book, ["book", "map", "what-if", "statement"]], [t.nav.setUp, ["partners", "products", "sources", "capacity"]], [t.nav.watch, ["jobs", "audit", "time-machine"]]],
};

export function Shell() {
	const now = phase.use();
	if (now === "starting") return <main class="door"><p role="status">{t.loading}</p></main>;
	if (now === "out") return <Welcome />;
	return <Inside lost={now === "lost"} />;
}

function Welcome() {
	const failed = problem.use();
	return (
		<main class="door">
			<section class="card">
				<Mark />
				<h1>{t.signIn.title}</h1>
				<p class="lead">{t.signIn.lead}</p>
				{failed && <Note tone="bad">{failed}</Note>}
				<div class="actions"><button class="primary" onClick={() => signIn("partner")}>{t.signIn.partner}</button><button onClick={() => signIn("operator")}>{t.signIn.operator}</button></div>
				<p class="faint">{t.signIn.at(new URL(config.issuer).host)}</p>
			</section>
		</main>
	);
}

const Mark = () => <svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="7" /><path d="M7 24V10h4v3h3v-3h4v3h3v-3h4v14z" /></svg>;

function Inside({ lost }: { lost: boolean }) {
	const read = useRead(viewerQuery, {}, { pause: lost });
	const viewer = read.data?.viewer as Viewer | undefined;
	const connected = online.use();
	return (
		<div class="frame">
			<a class="skip" href="#content" onClick={(e) => { e.preventDefault(); document.getElementById("content")?.focus(); }}>{t.skip}</a>
			{viewer && <Feed viewer={viewer} />}
			<Menu viewer={viewer} />
			<main id="content" tabIndex={-1}>
				{lost && <Note tone="warn" title={t.session.lost}>{t.session.kept} <button class="primary small" onClick={() => signIn()}>{t.session.again}</button></Note>}
				{!connected && <Note tone="warn" title={t.offline.title}>{t.offline.lead}</Note>}
				{read.problem && !read.problem.offline && !lost && <Note tone="bad">{read.problem.message} <button class="link" onClick={signOut}>{t.signOut}</button></Note>}
				{viewer && <Pages viewer={viewer} />}
			</main>
		</div>
	);
}

function Pages({ viewer }: { viewer: Viewer }) {
	const operator = viewer.kind === "OPERATOR";
	const pages = operator ? operatorPages : partnerPages;
	return (
		<Suspense fallback={<div class="skeleton"><i /><i /><i /></div>}>
			<Switch>
				<Route path="/"><Redirect to={operator ? "/inbox" : "/home"} replace /></Route>
				<Route path="/:page/:id?">
					{(params) => {
						const Found = Object.hasOwn(pages, params.page) ? pages[params.page] : undefined;
						return Found ? <Found key={params.page + (params.id ?? "")} viewer={viewer} id={params.id} /> : <Page title={t.notFound.title} lead={t.notFound.lead} />;
					}}
				</Route>
				<Route><Page title={t.notFound.title} lead={t.notFound.lead} /></Route>
			</Switch>
		</Suspense>
	);
}

// Feed follows the events of a partner; what they change is read again.
function Feed({ viewer }: { viewer: Viewer }) {
	const partner = viewer.partner;
	useEffect(() => {
		if (!partner || !viewer.scopes.includes("events:read")) return;
		let last: { afterSequence: number; generation: number } | undefined;
		let timer: ReturnType<typeof setTimeout> | undefined;
		let stop = () => {}, gone = false;
		const begin = (sequence: number) => follow(feedDocument, () => last ?? { afterSequence: Math.max(0, sequence - 12) }, ({ events: event }) => {
			last = { afterSequence: event.sequence, generation: event.generation };
			if (feed.get().some((known) => known.id === event.id)) return;
			feed.set([event, ...feed.get()].slice(0, 30));
			if (event.sequence > sequence) timer ??= setTimeout(() => { timer = undefined; touch(); }, 1200);
		}, live.set);
		void lastSequence().then((sequence) => { if (!gone) stop = begin(sequence); });
		return () => { gone = true; stop(); clearTimeout(timer); };
	}, [partner]);
	return null;
}

function Menu({ viewer }: { viewer?: Viewer }) {
	const [location] = useLocation();
	const kind = viewer?.kind === "OPERATOR" ? "operator" : "partner";
	const here = location.split("/")[1] ?? "";
	const close = () => document.querySelector("#menu")?.removeAttribute("open");
	useEffect(close, [location]);
	return (
		<aside class="menu">
			<div class="brand"><Link href={kind === "operator" ? "/inbox" : "/home"}><Mark /><span>Parapet</span></Link>{config.rehearsal && <span class="badge">{t.rehearsal}</span>}</div>
			<details id="menu" onClick={(event) => { if ((event.target as Element).closest("a")) close(); }}><summary><span>{t.menu}</span></summary><Items {...{ kind, here, viewer }} /></details>
			<div class="menu-wide"><Items {...{ kind, here, viewer }} /></div>
		</aside>
	);
}

function Items({ kind, here, viewer }: { kind: "partner" | "operator"; here: string; viewer?: Viewer }) {
	const where = zone.use(), look = theme.use();
	const pages = kind === "operator" ? operatorPages : partnerPages;
	const setLook = (next: string) => {
		theme.set(next as "auto");
		if (next === "auto") delete document.documentElement.dataset.theme;
		else document.documentElement.dataset.theme = next;
	};
	return (
		<>
			{viewer && <Search />}
			{kind === "operator" && viewer && <PartnerSwitch />}
			<nav aria-label={t.menu}>
				{viewer && groups[kind].map(([title, names]) => (
					<div key={title}>
						{title && <p>{title}</p>}
						<ul>{names.filter((name) => pages[name]).map((name) => <li key={name}><Link href={`/${name}`} aria-current={here === name ? "page" : undefined}>{t.nav.pages[name]}</Link></li>)}</ul>
					</div>
				))}
			</nav>
			<footer>
				{viewer && <p class="who"><strong>{viewer.partner ?? viewer.name}</strong><span>{viewer.partner && viewer.partner !== viewer.name ? t.signedInAs(viewer.name) : human(viewer.kind)}</span></p>}
				<div class="switches">
					<button class="quiet small" onClick={() => zone.set(where === "utc" ? "local" : "utc")} title={t.zoneHint}>{where === "utc" ? "UTC" : t.localTime}</button>
					<button class="quiet small" title={t.themeHint} onClick={() => setLook({ auto: "light", light: "dark", dark: "auto" }[look])}>{t.themes[look]}</button>
					{viewer && <button class="quiet small" onClick={signOut}>{t.signOut}</button>}
				</div>
			</footer>
		</>
	);
}

// PartnerSwitch narrows lists, maps and figures to one partner.
function PartnerSwitch() {
	const read = useRead(partnersQuery, {}), chosen = chosenPartner.use();
	return (
		<div class="find">
			<select aria-label={t.fields.partner} value={chosen} onChange={(e) => chosenPartner.set(e.currentTarget.value)}>
				<option value="">{t.allPartners}</option>
				{read.data?.partners?.nodes.map((p) => <option key={p.slug} value={p.slug}>{p.name}</option>)}
			</select>
		</div>
	);
}
