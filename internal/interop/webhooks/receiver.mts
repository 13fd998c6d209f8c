// A partner's receiver: it takes what is really delivered, from the quote to the
// payout, and lets npm's standardwebhooks and the manual's own recipes judge it.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import { check, passed, ready, token, until } from "../partner.mjs";
import { javascript, python, type Judge, type Received } from "./recipes.mjs";

interface Event {
	id: string;
	type: string;
	sequence: number;
	data: { object: { id: string } };
}

// The first delivery is refused, so that one comes twice. What parapet listen
// forwards has an address of its own.
const received: Received[] = [];
const forwarded: Received[] = [];
const receiver = createServer((request, response) => {
	void buffer(request).then((body) => {
		const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
		const into = request.url === "/hooks" ? received : forwarded;
		into.push({ headers, body });
		response.writeHead(into === received && received.length === 1 ? 503 : 204).end();
	});
});
await new Promise<void>((done) => receiver.listen(0, "127.0.0.1", done));
const origin = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;

const authorization = { Authorization: `Bearer ${await token("acme")}` };

// call is what REST answers, which must be this status.
async function call<T>(status: number, method: string, path: string, body?: object): Promise<T> {
	const headers = { ...authorization, ...(body && { "Content-Type": "application/json" }) };
	const answer = await fetch(`${ready.base_url}/v1${path}`, { method, headers, body: body ? JSON.stringify(body) : null });
	const text = await answer.text();
	check(answer.status === status, `${method} ${path}: ${answer.status} ${text}`);
	return JSON.parse(text) as T;
}

interface Endpoint {
	id: string;
	secret?: string;
}
const endpoint = await call<Endpoint>(201, "POST", "/webhook_endpoints", { url: `${origin}/hooks` });
const at = `/webhook_endpoints/${endpoint.id}`;
const secret = endpoint.secret ?? "";
check(secret.startsWith("whsec_"), "the secret is shown at creation");
check((await call<Endpoint>(200, "GET", at)).secret === undefined, "and never again");

// What the deliveries tell of.
const context = { partner: "acme" };
type Quote = { id: string; cover: { limit: { currency: string }; place: { latitude: number; longitude: number } } };
const { cover, id: quoteId } = await call<Quote>(201, "POST", "/quotes", { product: "quake-circle", context });
const policy = await call<{ id: string; effective_at: string }>(201, "POST", "/policies", { quote_id: quoteId, policyholder: { name: "Ålesund 旅館", country: "TW" } });
await call(201, "POST", "/payout_methods", {
	policy_id: policy.id,
	type: "iban",
	currency: cover.limit.currency,
	beneficiary: { name: "Lin Mei-hua", country: "DE" },
	iban: { iban: "DE89370400440532013000" },
});
await call(201, "POST", "/sandbox/observations", {
	source: "usgs",
	source_event_id: "story-quake",
	kind: "earthquake",
	stage: "final",
	occurred_at: new Date(Math.max(Date.now(), Date.parse(policy.effective_at) + 1)).toISOString(),
	location: { latitude: cover.place.latitude, longitude: cover.place.longitude },
	measures: { magnitude: { value: "7.4", unit: "mw" } },
});

const told = ({ body }: Received) => JSON.parse(body.toString()) as Event;
const types = ["quote.created", "quote.bound", "policy.activated", "claim.opened", "claim.approved", "payout.created", "payout.released"];
await until(`${types}`, () => types.every((type) => received.some((one) => told(one).type === type)) || undefined);
const [first] = received;
check(first !== undefined, "something came");
const id = first.headers["webhook-id"];
const again = await until("the refused one to come again", () => received.find((one) => one !== first && one.headers["webhook-id"] === id));
check(again.body.equals(first.body), "it comes again as it was");
check(again.headers["webhook-timestamp"] !== first.headers["webhook-timestamp"], "signed for the time of the attempt");

// genuine is what the library says, which parses what it finds to be genuine.
function genuine(secret: string, { headers, body }: Received): boolean {
	try {
		return (new Webhook(secret).verify(body, headers) as Event).id === headers["webhook-id"];
	} catch {
		return false;
	}
}
const library: Judge = (secret, deliveries) => deliveries.map((one) => genuine(secret, one));

const story = [...received];
for (const one of story) {
	const { headers, body } = one;
	check(genuine(secret, one), `a delivery is not genuine: ${JSON.stringify(headers)} ${body.toString()}`);
	const record = await fetch(`${ready.base_url}/v1/events/${headers["webhook-id"]}`, { headers: authorization });
	check(Buffer.from(await record.arrayBuffer()).equals(body), "the body is what the feed has, byte for byte");
}
// For a day after a rotation either secret verifies, and then the test delivery
// carries two signatures.
const { secret: fresh = "" } = await call<Endpoint>(200, "POST", `${at}/rotate_secret`, {});
check(fresh.startsWith("whsec_") && fresh !== secret, "a rotation shows a new secret");
const before = received.length;
await call(202, "POST", `${at}/test`, {});
const test = await until("the test", () => received[before]);
check(test.headers["webhook-signature"]?.split(" ").length === 2, "after a rotation there are two signatures");

// What is not genuine, in every way that a forger has.
const stranger = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const old = new Date(Date.now() - 6 * 60_000);
const { "webhook-id": name = "", "webhook-timestamp": sent = "", "webhook-signature": signed = "" } = test.headers;
const forgeries: Received[] = [
	{ headers: test.headers, body: Buffer.from(test.body.toString().replace(/"sequence":\s*(\d)/, '"sequence":9$1')) },
	{ headers: test.headers, body: Buffer.concat([test.body, Buffer.from(" ")]) },
	{ headers: { ...test.headers, "webhook-id": name.replace("evt", "dlv") }, body: test.body },
	{ headers: { ...test.headers, "webhook-timestamp": String(Number(sent) + 1) }, body: test.body },
	{ headers: { ...test.headers, "webhook-signature": signed.replaceAll("v1,", "v2,") }, body: test.body },
	{ headers: { ...test.headers, "webhook-signature": "" }, body: test.body },
	{ headers: { ...test.headers, "webhook-signature": new Webhook(stranger).sign(name, new Date(Number(sent) * 1000), test.body) }, body: test.body },
	{ headers: { ...test.headers, "webhook-timestamp": String(Math.floor(old.getTime() / 1000)), "webhook-signature": new Webhook(fresh).sign(name, old, test.body) }, body: test.body },
];
check(forgeries.every(({ body }, i) => i > 1 || !body.equals(test.body)), "two bodies are other than what was sent");

const judges: [string, Judge | null][] = [
	["the library", library],
	["the manual's JavaScript", await javascript()],
	["the manual's Python", await python()],
];
for (const [who, judge] of judges) {
	if (judge === null) {
		console.log(`webhooks: ${who} was not run: there is no python3 of at least 3.9`);
		continue;
	}
	judge(secret, story).forEach((good, i) => check(good, `${who} takes delivery ${i}`));
	check(judge(secret, [test]).join() === "true" && judge(fresh, [test]).join() === "true", `${who} takes either secret after a rotation`);
	check(judge(stranger, [...story, test]).every((good) => !good), `${who} refuses a stranger's secret`);
	judge(fresh, forgeries).forEach((good, i) => check(!good, `${who} refuses forgery ${i}`));
}

// The same events, forwarded as on a developer's machine: signed there, and byte
// for byte what an endpoint is sent.
const acme = ready.clients.find(({ name }) => name === "acme");
const what = ["--server", ready.base_url, "--forward", `${origin}/forwarded`, "--secret", stranger, "--after", "0", "--state", "none"];
const who = ["--client-id", acme?.client_id ?? "", "--client-secret", acme?.client_secret ?? ""];
const listen = spawn("../../../bin/parapet", ["listen", ...what, ...who], { stdio: ["ignore", "ignore", "inherit"] });
const delivered = new Map(story.map((one) => [one.headers["webhook-id"], one.body]));
await until("every event to be forwarded", () => [...delivered.keys()].every((id) => forwarded.some((one) => one.headers["webhook-id"] === id)) || undefined);
listen.kill();
for (const one of forwarded) {
	check(genuine(stranger, one), "what is forwarded is signed by the secret that was given");
	check(delivered.get(one.headers["webhook-id"])?.equals(one.body) ?? true, "and has the same bytes");
}

receiver.close();
receiver.closeAllConnections();
passed(`webhooks: ${story.length + 1} deliveries, ${forwarded.length} forwarded`);
