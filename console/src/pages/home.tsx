import { lazy, Suspense } from "preact/compat";
import { Link } from "wouter";
import { graphql, useRead } from "../api";
import { duration, human, money, number, percent } from "../format";
import { FeedLine } from "../lines";
import { feed, live, type Viewer } from "../shell";
import { chosenPartner } from "../store";
import { t } from "../texts";
import { Card, Empty, Load, Page, Status, Table } from "../ui";

const Chart = lazy(() => import("../chart"));

const bookQuery = graphql(`query Home($from: DateTime, $partner: String, $byPartner: [BookDimension!]!) {
	portfolio(from: $from, partner: $partner) {
		asOf
		book(by: []) { lines { currency policiesInForce limitAtRisk { amount currency } premiumInForce { amount currency } premiumWritten { amount currency } paid { amount currency } reserved { amount currency } lossRatio } }
		parts: book(by: $byPartner, first: 12) { lines { product partner currency policiesInForce limitAtRisk { amount currency } premiumInForce { amount currency } lossRatio } }
		claimsByStatus { status count amount { amount currency } }
		payoutsByStatus { status count amount { amount currency } }
		doubt { status olderThan under count amount { amount currency } }
		series(interval: DAY) { currency points { from claimsOpened claimsApproved { amount currency } payoutsReleased { amount currency } } }
	}
}`);

// daysBack is the start of a day so many days ago: one value a day, so that the query stays the same.
const daysBack = (days: number) => new Date(Math.floor(Date.now() / 86_400_000 - days) * 86_400_000).toISOString();

export default function Home({ viewer }: { viewer: Viewer }) {
	const operator = viewer.kind === "OPERATOR";
	const partner = chosenPartner.use();
	const read = useRead(bookQuery, { from: daysBack(30), ...(partner ? { partner } : {}), byPartner: operator ? ["PARTNER", "PRODUCT"] : ["PRODUCT"] });
	const events = feed.use(), isLive = live.use();
	return (
		<Page title={operator ? t.nav.pages.book : t.home.title} lead={operator ? t.home.operatorLead : t.home.lead} actions={!operator && <Link class="button primary" href="/quotes/new">{t.quotes.new}</Link>}>
			<Load from={read}>
				{({ portfolio }) => portfolio && (
					<>
						{portfolio.book?.lines.length === 0 && <Card><Empty><p>{t.home.empty}</p>{!operator && <p><Link class="button primary" href="/quotes/new">{t.home.first}</Link></p>}</Empty></Card>}
						{portfolio.book?.lines.map((line) => {
							const ours = <F extends { amount: { currency: string } }>(rows: readonly F[] | null) => (rows ?? []).filter((f) => f.amount.currency === line.currency);
							const count = (rows: { count: number }[]) => rows.reduce((sum, row) => sum + row.count, 0);
							const open = count(ours(portfolio.claimsByStatus).filter((c) => ["OPENED", "DEFERRED", "APPROVED"].includes(c.status)));
							const blocked = ours(portfolio.payoutsByStatus).filter((p) => p.status === "BLOCKED");
							const doubt = ours(portfolio.doubt);
							const series = portfolio.series?.find((s) => s.currency === line.currency);
							return (
								<Card key={line.currency} title={line.currency} actions={line.lossRatio !== null && <span class="faint">{t.home.lossRatio} {percent(line.lossRatio)}</span>}>
									<dl class="figures six">
										<div><dt>{t.home.inForce}</dt><dd>{number(line.policiesInForce)}</dd></div>
										<div><dt>{t.home.atRisk}</dt><dd>{money(line.limitAtRisk)}</dd></div>
										<div><dt>{t.home.premium}</dt><dd>{money(line.premiumInForce)}</dd></div>
										<div><dt>{t.home.open}</dt><dd>{number(open)}<small>{t.home.reserved(money(line.reserved))}</small></dd></div>
										<div><dt>{t.home.paid}</dt><dd>{money(line.paid)}</dd></div>
										<div><dt>{t.home.blocked}</dt><dd class={count(blocked) ? "alert" : ""}>{number(count(blocked))}<small>{blocked.map((b) => money(b.amount)).join(", ") || t.none}</small></dd></div>
									</dl>
									{doubt.length > 0 && <p class="legend">{doubt.map((d) => <span key={d.status + d.olderThan}><Status code={d.status} /> {t.home.doubt(d.count, money(d.amount), d.olderThan === "PT0S" ? "" : duration(d.olderThan))} </span>)}</p>}
									{series && series.points.some((p) => p.claimsOpened > 0 || p.payoutsReleased.amount > 0) && <Suspense fallback={<div class="chart" />}><Chart points={series.points} /></Suspense>}
								</Card>
							);
						})}
						<div class={operator ? "grid one" : "grid two"}>
							<div class="stack wide">
							{(portfolio.parts?.lines.length ?? 0) > 0 && (
								<Card title={operator ? t.home.byPartner : t.home.byProduct}>
									<Table name={t.home.byProduct} rows={portfolio.parts!.lines} keyOf={(l) => `${l.partner}${l.product}${l.currency}`} columns={[
										...(operator ? [{ title: t.fields.partner, cell: (l: { partner: string | null }) => l.partner }] : []),
										{ title: t.fields.product, cell: (l) => l.product }, { title: t.home.inForce, cell: (l) => number(l.policiesInForce), end: true },
										{ title: t.home.atRisk, cell: (l) => money(l.limitAtRisk), end: true }, { title: t.home.premium, cell: (l) => money(l.premiumInForce), end: true },
									]} />
								</Card>
							)}
							<Card title={t.home.states}>
								<Table name={t.home.states} rows={[...(portfolio.claimsByStatus ?? []).map((f) => ({ ...f, kind: t.fields.claims, to: "/claims" })), ...(portfolio.payoutsByStatus ?? []).map((f) => ({ ...f, kind: t.fields.payouts, to: "/payouts" }))]} keyOf={(f) => f.kind + f.status + f.amount.currency} empty={t.home.noClaims} columns={[
									{ title: t.fields.what, cell: (f) => <Link href={`${f.to}?status=${f.status}`}>{f.kind}</Link> }, { title: t.fields.status, cell: (f) => <Status code={f.status} /> },
									{ title: t.home.count, cell: (f) => number(f.count), end: true }, { title: t.fields.amount, cell: (f) => money(f.amount), end: true },
								]} />
							</Card>
							</div>
							{!operator && (
								<Card title={t.home.feed} actions={isLive && <span class="live">{t.home.live}</span>}>
									{events.length === 0 ? <p class="faint">{t.home.feedEmpty}</p> : <ul class="rows" aria-live="polite">{events.slice(0, 10).map((e) => <FeedLine key={e.id} event={e} />)}</ul>}
									<p><Link href="/developers">{t.home.allEvents}</Link></p>
								</Card>
							)}
						</div>
						<p class="faint">{t.home.asOf(human(viewer.partner ?? (partner || t.allPartners)))}</p>
					</>
				)}
			</Load>
		</Page>
	);
}
