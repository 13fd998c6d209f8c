// Runs every command of the REST reference, unchanged, against a server: each has to be
// answered with the status that the page shows.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { parse } from "./parse.mjs";

const ready = JSON.parse(process.env.PARAPET);
const base = ready.base_url;
const tokenOf = (name) => ready.clients.find((client) => client.name === name).token;

async function ask(path, body, name = "acme") {
	const answer = await fetch(`${base}/v1${path}`, {
		method: body ? "POST" : "GET", body: body && JSON.stringify(body),
		headers: { Authorization: `Bearer ${tokenOf(name)}`, "Content-Type": "application/json" },
	});
	const text = await answer.text();
	assert(answer.ok, `${path}: ${text}`);
	return JSON.parse(text);
}

async function until(what, look, tries = 200) {
	for (; tries > 0; tries--) {
		const found = await look();
		if (found) return found;
		await new Promise((resume) => setTimeout(resume, 100));
	}
	throw new Error(`waited in vain for ${what}`);
}

const quake = { source: "usgs", kind: "earthquake", stage: "final", location: { latitude: 24.17, longitude: 121.65 }, measures: { magnitude: { value: "6.4", unit: "mw" }, depth: { value: "10.6", unit: "km" } } };
const cover = { product: "quake-circle", context: { partner: "acme", location: { latitude: 23.98, longitude: 121.61 }, limit: { amount: 10_000_000, currency: "USD" } } };
const later = new Date(Date.now() + 48 * 3600_000).toISOString();
const quote = (context = {}) => ask("/quotes", { ...cover, context: { ...cover.context, ...context } });
const bind = async (context) => ask("/policies", { quote_id: (await quote(context)).id });

// paid binds a policy with an account, reports an earthquake and waits until the claim is
// paid.
async function paid(report) {
	const policy = await bind();
	await ask("/payout_methods", { policy_id: policy.id, type: "iban", currency: "USD", iban: { iban: "DE89370400440532013000" }, beneficiary: { name: "Lin Mei-hua", country: "TW" } });
	const observation = await report(policy);
	const claim = await until("the claim", async () => {
		const [brief] = (await ask(`/policies/${policy.id}`)).claims;
		const found = brief && await ask(`/claims/${brief.id}`);
		return found?.payouts[0]?.released_at && found;
	});
	return { policy, observation, claim };
}
const { policy, observation, claim } = await paid((policy) => ask("/observations", { ...quake, source_event_id: "us1000chhc", occurred_at: policy.effective_at }, "source"));
const attachment = await ask(`/claims/${claim.id}/attachments`, { file_name: "note.txt", content_type: "text/plain", content_base64: "bm90ZQ==" });
const [method] = (await ask(`/claims/${claim.id}/payout-methods`)).data;
const [event] = (await ask("/events?after_sequence=0&limit=1")).data;

const values = {
	KEY: "quake-circle", POLICY_ID: policy.id, CLAIM_ID: claim.id, ATTACHMENT_ID: attachment.id, PAYOUT_ID: claim.payouts[0].id, PAYOUT_METHOD_ID: method.id,
	OCCURRENCE_ID: claim.occurrence.id, OBSERVATION_ID: observation.id, EVENT_ID: event.id, OCCURRED_AT: new Date().toISOString(), STARTS_AT: later, DAY: "2026-07-19T00:00:00Z",
};

// What a command needs for itself, because it changes it.
const prepared = {
	"Cancel a policy": async () => ({ POLICY_ID: (await bind({ starts_at: later })).id }),
	"Withdraw a claim": async () => ({ CLAIM_ID: (await ask("/claims", { policy_id: policy.id, description: "The sign fell down." })).id }),
};
const rehearsed = async () => {
	const { claim } = await paid((policy) => ask("/sandbox/observations", { ...quake, source_event_id: `rehearsal-${policy.id}`, occurred_at: policy.effective_at }));
	return { PAYOUT_ID: claim.payouts[0].id };
};
for (const title of ["Settle a payout", "Return a payout", "Report another amount"]) prepared[title] = rehearsed;
prepared["Read a run"] = async () => ({ RUN_ID: (await ask("/sandbox/runs")).data[0].id });
prepared["Send a wrong signature"] = () => endpoint();
async function endpoint() {
	const created = await ask("/webhook_endpoints", { url: "http://127.0.0.1:9/hooks", event_types: ["*"] });
	const [delivery] = await until("a delivery", async () => {
		const { data } = await ask(`/webhook_endpoints/${created.id}/deliveries`);
		return data.length && data;
	});
	return { ENDPOINT_ID: created.id, DELIVERY_ID: delivery.id };
}

// These come last, because they change what others need.
const last = ["Read a run", "End open records", "Move the clock"];
let commands = 0;
const pages = [...new Set((await (await fetch(`${base}/docs/search.json`)).json()).map(([address]) => address.split("#")[0]))];
const operations = [];
for (const address of pages.filter((page) => page.startsWith("/docs/rest/"))) {
	for (const operation of parse(await (await fetch(base + address)).text())) operations.push({ address, ...operation });
}
operations.sort((a, b) => last.indexOf(a.title) - last.indexOf(b.title));
for (const { address, title, scope, status, samples } of operations) {
	for (const sample of samples) {
		const own = { QUOTE_ID: (await quote()).id, ...(address.endsWith("/webhooks") ? await endpoint() : {}), ...await prepared[title]?.() };
		const env = { ...process.env, ...values, ...own, BASE: base, TOKEN: tokenOf(scope === "observations:write" ? "source" : "acme") };
		const answer = execFileSync("sh", ["-euc", `curl() { command curl -w '\\n%{http_code}' "$@"; }\n${sample}`], { env, encoding: "utf8", maxBuffer: 1 << 26 });
		const got = answer.slice(answer.lastIndexOf("\n") + 1);
		assert(got === status || got === "200" && status === "201", `${address}, ${title}: ${got}, not ${status}\n${sample}\n${answer}`);
		commands++;
		if (address.endsWith("/webhooks") && title !== "Delete a webhook endpoint") execFileSync("curl", ["-sf", "-X", "DELETE", "-H", `Authorization: Bearer ${env.TOKEN}`, `${base}/v1/webhook_endpoints/${own.ENDPOINT_ID}`]);
	}
}
// The samples that follow quote and bind: a clock that still moves would expire their quotes.
await until("the end of the runs", async () => (await ask("/sandbox/runs")).data.every((run) => run.status === "done" || run.status === "failed"), 6000);
assert(commands > 60, `only ${commands} commands`);
console.log(`docs: ${commands} commands of the REST reference answered as shown`);
