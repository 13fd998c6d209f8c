// A partner's program: quote, bind, claim, payout, and one mistake. Every path,
// parameter, body and answer in it is checked against the OpenAPI document.
import createClient from "openapi-fetch";
import { check, passed, ready, token, until } from "../partner.mjs";
import type { components, paths } from "./generated/v1.js";

type Problem = components["schemas"]["Problem"];

// client is a typed client with a token of its own.
async function client(name: string) {
	return createClient<paths>({ baseUrl: `${ready.base_url}/v1`, headers: { Authorization: `Bearer ${await token(name)}` } });
}

// must unwraps an answer that has to be a success.
function must<T>({ data, error }: { data?: T; error?: Problem | undefined }): T {
	check(data !== undefined, `refused: ${JSON.stringify(error)}`);
	return data;
}

const acme = await client("acme");
const source = await client("source");

const request = { product: "quake-circle", context: { partner: "acme" }, partner_reference: "story-1" };
const quoted = await acme.POST("/quotes", { body: request, params: { header: { "Idempotency-Key": "story-quote" } } });
const quote = must(quoted);
check(quoted.response.headers.get("Location") === `/v1/quotes/${quote.id}`, "where the quote can be read");
const sum = quote.price.lines.reduce((total, line) => total + line.amount.amount, 0);
check(sum === quote.price.premium.amount, "the lines sum to the premium");
const again = await acme.POST("/quotes", { body: request, params: { header: { "Idempotency-Key": "story-quote" } } });
check(must(again).id === quote.id && again.response.headers.get("Idempotent-Replayed") === "true", "the same key answers the same quote");
const read = must(await acme.GET("/quotes/{quote_id}", { params: { path: { quote_id: quote.id } } }));
check(read.terms_hash === quote.terms_hash && read.status === "priced", "the quote reads as it was given");

const policyholder = { name: "Lin Mei-hua", email: "mei-hua@example.com", country: "TW" };
const policy = must(await acme.POST("/policies", { body: { quote_id: quote.id, policyholder } }));
check(policy.status === "active" && policy.terms_hash === quote.terms_hash, "the policy covers what was quoted");
const path = { policy_id: policy.id };

const place = quote.cover.place;
check(place.latitude !== undefined && place.longitude !== undefined, "a circle has a centre");
must(
	await source.POST("/observations", {
		body: {
			source: "usgs",
			source_event_id: "story-quake",
			kind: "earthquake",
			occurred_at: new Date(Math.max(Date.now(), Date.parse(policy.effective_at) + 1)).toISOString(),
			stage: "final",
			location: { latitude: place.latitude, longitude: place.longitude },
			measures: { magnitude: { value: "7.4", unit: "mw" }, depth: { value: "12", unit: "km" } },
		},
	}),
);
const brief = await until("a claim", async () => must(await acme.GET("/policies/{policy_id}", { params: { path } })).claims[0]);

const method = must(
	await acme.POST("/payout_methods", {
		body: {
			claim_id: brief.id,
			type: "iban",
			beneficiary: { name: policyholder.name, country: "DE" },
			currency: quote.cover.limit.currency,
			iban: { iban: "DE89370400440532013000" },
		},
	}),
);
check(method.display.last4 === "3000", "of the number only its end is shown");

const claim = { params: { path: { claim_id: brief.id } } };
const payout = await until("a payout", async () => {
	const { payouts } = must(await acme.GET("/claims/{claim_id}", claim));
	return payouts.find((p) => p.status === "released" || p.status === "reconciled");
});
const settled = must(await acme.GET("/claims/{claim_id}", claim));
check(settled.determination?.index?.value === "7.4", "the claim says what was measured");
check(payout.amount.amount === settled.amount?.amount && payout.payout_method_id === method.id, "what is owed was paid to the account");

const timeline = must(await acme.GET("/claims/{claim_id}/timeline", { params: { ...claim.params, query: { limit: 100 } } }));
check(timeline.data.length > 3 && timeline.data.every((entry, i) => entry.sequence === i + 1), "the timeline counts 1, 2, 3 …");
check(timeline.data.some((entry) => entry.kind === "payout.released"), "the timeline tells of the payout");

const refused = await acme.POST("/quotes", { body: { product: "quake-circle", context: { partner: "acme", radius_km: -1 } } });
const problem: Problem | undefined = refused.error;
check(refused.response.status === 422 && problem?.code === "validation_failed", "a wrong radius is refused");
check(problem.errors?.[0]?.pointer === "/context/radius_km", "the problem points at the radius");

passed("TypeScript client");
