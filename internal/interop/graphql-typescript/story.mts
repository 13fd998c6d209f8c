// A console's program: a partner's cover from the quote to the payout, the pages
// that show it, and an operator's work. Every variable and every answer in it is
// checked against the schema.
import { check, passed, ready, token, until } from "../partner.mjs";
import * as run from "./generated/graphql.js";

interface Problem {
	message: string;
	path?: (string | number)[];
	extensions?: { code?: string; errors?: { pointer: string }[] };
}

type Answer<T> = { data?: T | null; errors?: Problem[] };

// client is one with a token of its own. Documents go by their names, which
// graphql-codegen gave them and wrote into the server's manifest.
async function client(name: string) {
	const headers = { Authorization: `Bearer ${await token(name)}`, "Content-Type": "application/json", Accept: "application/graphql-response+json" };
	async function send<T>(request: object): Promise<Answer<T>> {
		const answer = await fetch(ready.graphql_url, { method: "POST", headers, body: JSON.stringify(request) });
		return (await answer.json()) as Answer<T>;
	}
	async function ask<T, V>(document: run.TypedDocumentString<T, V>, ...[variables]: V extends Record<string, never> ? [] : [V]): Promise<Answer<T>> {
		return send<T>({ documentId: document.__meta__?.["hash"], variables });
	}
	async function must<T, V>(document: run.TypedDocumentString<T, V>, ...variables: V extends Record<string, never> ? [] : [V]): Promise<T> {
		const { data, errors } = await ask(document, ...variables);
		check(data != null && errors === undefined, `refused: ${JSON.stringify(errors)}`);
		return data;
	}
	return { ask, must, send };
}

// given is what may be null only beside an error, where there was none.
function given<T>(value: T): NonNullable<T> {
	check(value != null, "null without an error");
	return value;
}

const acme = await client("acme");
const globex = await client("globex");
const operator = await client("operator");
const source = await client("source");

const viewer = given((await acme.must(run.ViewerDocument)).viewer);
check(viewer.kind === "PARTNER" && viewer.partner === "acme" && viewer.scopes.includes("quotes:write"), "the viewer is acme");
const stranger = await acme.send({ query: "{ viewer { name } }" });
check(stranger.errors?.[0]?.extensions?.code === "query_not_trusted", "a document that is not in the manifest does not run");

const wanted = { product: "quake-circle", context: { partner: "acme", colour: "blue" }, clientMutationId: "story-quote" };
const { quote, clientMutationId } = given((await acme.must(run.CreateQuoteDocument, { input: wanted })).createQuote);
check(clientMutationId === wanted.clientMutationId && quote.status === "PRICED", "the quote is priced");
check(quote.ignoredContext.join() === "colour", "what the product does not know is named");
const sum = quote.price.lines.reduce((total, line) => total + line.amount.amount, 0);
check(sum === quote.price.premium.amount && Number.isSafeInteger(sum), "the lines sum to the premium");
check(quote.history.length === quote.basis.payingEvents, "the history is what the price was computed from");
const { quote: again } = given((await acme.must(run.CreateQuoteDocument, { input: wanted })).createQuote);
check(again.id === quote.id, "sent again it is the same quote");

const policyholder = { name: "Lin Mei-hua", country: "TW" };
const { policy } = given((await acme.must(run.BindPolicyDocument, { input: { quoteId: quote.id, policyholder } })).bindPolicy);
check(policy.status === "ACTIVE" && policy.coverPhase === "IN_FORCE" && policy.termsHash === quote.termsHash, "the policy covers what was quoted");
check(policy.quote?.status === "BOUND" && policy.quote.policyId === policy.id, "the quote became the policy");
const twice = await acme.ask(run.BindPolicyDocument, { input: { quoteId: quote.id } });
check(twice.data?.bindPolicy === null && twice.errors?.[0]?.extensions?.code === "quote_already_bound", "a quote binds once");

const { place, limit } = quote.cover;
check(place.latitude !== null && place.longitude !== null, "a circle has a centre");
const centre = { latitude: place.latitude, longitude: place.longitude };
const supposed = { earthquake: { location: centre, magnitude: "6.6", depthKm: "12" } };
const before = given((await acme.must(run.ExplainDocument, { policyId: policy.id, occurrence: { whatIf: supposed } })).explain);
check(before.met && before.pays && before.claim === null && before.sentences.length > 0, "it is told what a quake would pay");
const slight = { earthquake: { location: centre, magnitude: "4.0" } };
const missed = given((await acme.must(run.ExplainDocument, { policyId: policy.id, occurrence: { whatIf: slight } })).explain);
check(!missed.pays && missed.missedBy !== null && missed.reasons.includes("THRESHOLD_NOT_MET"), "it is told by how much a slight one misses");

const recorded = await source.must(run.RecordObservationsDocument, {
	input: {
		observations: [
			{
				source: "usgs",
				sourceEventId: "story-quake",
				kind: "EARTHQUAKE",
				occurredAt: new Date(Math.max(Date.now(), Date.parse(policy.effectiveAt) + 1)).toISOString(),
				stage: "FINAL",
				location: centre,
				measures: [
					{ name: "magnitude", value: "6.6", unit: "mw" },
					{ name: "depth", value: "12", unit: "km" },
				],
			},
			{ source: "usgs", sourceEventId: "story-nothing", kind: "EARTHQUAKE", occurredAt: policy.effectiveAt, stage: "FINAL", location: centre, measures: [] },
		],
	},
});
const [known, wrong] = given(recorded.recordObservations).results;
check(known?.result === "CREATED" && known.id !== null, "the quake is recorded");
check(wrong?.result === "REJECTED" && wrong.errors.length > 0, "one without a magnitude is rejected beside it");

const dashboard = async () => given((await acme.must(run.DashboardDocument, { first: 10 })).policies);
const opened = await until("a claim", async () => (await dashboard()).nodes[0]?.claims?.nodes[0]);
check(opened.origin === "TRIGGER" && opened.determination?.index?.value === "6.6", "the claim says what was measured");
check(opened.determination.amount.amount === before.payable.amount && opened.determination.termsHash === quote.termsHash, "and owes what was told");

const account = await acme.must(run.RecordPayoutMethodDocument, {
	input: {
		policyId: policy.id,
		type: "IBAN",
		currency: limit.currency,
		beneficiary: { name: policyholder.name, country: "DE" },
		iban: { iban: "DE89370400440532013000" },
	},
});
const { payoutMethod } = given(account.recordPayoutMethod);
check(payoutMethod.display.last4 === "3000", "of the number only its end is shown");

const record = async (id: string) => (await acme.must(run.RecordDocument, { id })).node;
const settled = await until("a payout", async () => {
	const found = await record(opened.id);
	return found?.__typename === "Claim" && found.payouts[0]?.releasedAt ? found : undefined;
});
const [payout] = settled.payouts;
check(payout !== undefined && payout.amount.amount === settled.amount?.amount && payout.payoutMethodId === payoutMethod.id, "what is owed was paid to the account");
const paid = await record(payout.id);
check(paid?.__typename === "Payout" && paid.claim?.id === settled.id, "the payout leads back to its claim");
check((await globex.must(run.RecordDocument, { id: payout.id })).node === null, "another partner finds nothing");
const after = given((await acme.must(run.ExplainDocument, { policyId: policy.id, occurrence: { sourceEvent: { source: "usgs", id: "story-quake" } } })).explain);
check(after.claim?.id === settled.id && after.payable.amount === payout.amount.amount, "what happened is explained with its claim");

const { claim: told } = await acme.must(run.TimelineDocument, { claimId: settled.id, last: 50 });
const story = told?.timeline?.nodes ?? [];
check(story.length > 3 && story.every((entry, i) => entry.sequence === i + 1), "the timeline counts 1, 2, 3 …");
check(story.some((entry) => entry.kind === "PAYOUT_RELEASED" && entry.actor.kind === "RAIL"), "and tells of the payout");

const requestedAmount = { amount: 5_000, currency: limit.currency };
const claimed = await acme.must(run.OpenClaimDocument, { input: { policyId: policy.id, description: "The lobby is flooded.", requestedAmount } });
const { claim: asked } = given(claimed.openClaim);
check(asked.origin === "APPROVAL" && asked.status === "OPENED" && asked.determination === null, "a claim that names nothing waits for an operator");
const decision = { input: { claimId: asked.id, outcome: "APPROVED", reasonCodes: ["GOODWILL"], note: "The photographs show it." } } as const;
check((await acme.ask(run.DecideClaimDocument, { input: { ...decision.input, reasonCodes: [] } })).errors?.[0]?.extensions?.code === "insufficient_scope", "a partner does not decide");
const decisions = await operator.must(run.DecideClaimDocument, { input: { ...decision.input, reasonCodes: [...decision.input.reasonCodes] } });
const { claim: decided } = given(decisions.decideClaim);
check(decided.status === "APPROVED" && decided.amount?.amount === requestedAmount.amount, "the operator approves it");
check(decided.operatorActions?.[0]?.note === decision.input.note && decided.decision?.reasonCodes.join() === "GOODWILL", "with a note of their own");

const policies = await dashboard();
const [card] = policies.nodes;
check(policies.totalCount === 1 && !policies.pageInfo.hasNextPage && card?.claims?.nodes.length === 2, "the dashboard shows one policy with two claims");
check(card.limitRemaining.amount === limit.amount - payout.amount.amount - requestedAmount.amount, "and what is left of its limit");
const portfolio = given((await acme.must(run.PortfolioDocument)).portfolio);
const line = portfolio.book?.lines.find((l) => l.product === "quake-circle");
check(line?.premiumWritten.amount === quote.price.premium.amount && line.lossRatio !== null, "the portfolio shows the premium and its loss ratio");
const owed = given(portfolio.claimsByStatus).reduce((total, figure) => total + figure.amount.amount, 0);
check(owed === payout.amount.amount + requestedAmount.amount, "and what claims are owed");
check(portfolio.series?.[0]?.points.at(-1)?.policiesBound === 1, "and the month in which the policy was bound");

const bad = await acme.ask(run.CreateQuoteDocument, { input: { product: "quake-circle", context: { partner: "acme", radius_km: -1 } } });
const [problem] = bad.errors ?? [];
check(problem?.extensions?.code === "validation_failed" && problem.path?.join() === "createQuote", "a wrong radius is refused");
check(problem.extensions.errors?.[0]?.pointer === "/input/context/radius_km", "the problem points at the radius");

passed("GraphQL TypeScript client");
