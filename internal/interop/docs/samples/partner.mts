// The samples of the documentation in TypeScript: the tasks in order, as one program. It
// needs Node's standard library only.
// docs: authenticate
const { BASE, CLIENT_ID, CLIENT_SECRET } = process.env;

async function getToken(): Promise<string> {
  const read = async (url: string) => (await fetch(url)).json();
  const resource = await read(`${BASE}/.well-known/oauth-protected-resource`);
  const [server] = resource.authorization_servers;
  const issuer = await read(`${server}/.well-known/openid-configuration`);
  const answer = await fetch(issuer.token_endpoint, {
    method: "POST",
    headers: { Authorization: "Basic " + btoa(`${CLIENT_ID}:${CLIENT_SECRET}`) },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  return (await answer.json()).access_token;
}

const token = await getToken();

async function call(
  method: string, path: string, body?: object, more = {},
): Promise<any> {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const answer = await fetch(`${BASE}/v1${path}`, {
    method,
    headers: { ...headers, ...more },
    body: body ? JSON.stringify(body) : null,
  });
  const record = await answer.json();
  if (answer.ok) return record;
  const error = new Error(`${record.code}: ${record.detail}`);
  throw Object.assign(error, { problem: record, answer });
}

const products = await call("GET", "/products");
console.log(products.data.map((product: { key: string }) => product.key));
// docs: end

// docs: quote
const quote = await call("POST", "/quotes", {
  product: "quake-circle",
  context: {
    partner: "acme",
    location: { latitude: 23.98, longitude: 121.61 },
    limit: { amount: 100_000_00, currency: "USD" },
    term: "P365D",
  },
});
console.log(quote.id, quote.expires_at, quote.price.premium);
console.log(`${quote.history.length} past events would have paid`);
// docs: end

// docs: bind
const policy = await call("POST", "/policies", {
  quote_id: quote.id,
  policyholder: { name: "Lin Mei-hua", country: "TW" },
}, { "Idempotency-Key": `bind-${quote.id}` });
// docs: end

// docs: payout-method
const method = await call("POST", "/payout_methods", {
  policy_id: policy.id,
  type: "iban",
  currency: "USD",
  iban: { iban: "DE89370400440532013000" },
  beneficiary: { name: "Lin Mei-hua", country: "TW" },
});
console.log(method.status, method.display);
// docs: end

// docs: rehearse
await call("POST", "/sandbox/observations", {
  source: "usgs",
  kind: "earthquake",
  stage: "final",
  source_event_id: `rehearsal-${policy.id}`,
  occurred_at: policy.effective_at,
  location: { latitude: 24.17, longitude: 121.65 },
  measures: {
    magnitude: { value: "6.4", unit: "mw" },
    depth: { value: "10.6", unit: "km" },
  },
});
// docs: end

// docs: claim
const pause = (seconds: number) => new Promise((resume) => setTimeout(resume, seconds * 1000));

let claims = [];
while (!claims.length) {
  await pause(1);
  ({ claims } = await call("GET", `/policies/${policy.id}`));
}
const claim = await call("GET", `/claims/${claims[0].id}`);
console.log(claim.status, claim.amount, claim.determination.index);
for (const entry of (await call("GET", `/claims/${claim.id}/timeline`)).data) {
  console.log(entry.at, entry.summary);
}
// docs: end

// docs: payout
let payout;
do {
  await pause(1);
  [payout] = (await call("GET", `/claims/${claim.id}/payouts`)).data;
} while (!["released", "reconciled"].includes(payout.status));
console.log(payout.status, payout.amount, payout.provider_reference);
// docs: end

// docs: events
let after = 0; // store it: it is all that a reader must remember
for (;;) {
  const { data } = await call("GET", `/events?after_sequence=${after}&limit=100`);
  if (!data.length) break;
  for (const event of data) console.log(event.sequence, event.type, event.subject.id);
  after = data.at(-1).sequence;
}
// docs: end

// docs: webhooks
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { buffer } from "node:stream/consumers";
import type { AddressInfo } from "node:net";

function isGenuine(secret: string, headers: IncomingHttpHeaders, body: Buffer) {
  const sent = Number(headers["webhook-timestamp"]);
  if (!(Math.abs(Date.now() / 1000 - sent) <= 300)) return false;
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const signed = createHmac("sha256", key)
    .update(`${headers["webhook-id"]}.${sent}.`).update(body).digest("base64");
  const mine = Buffer.from("v1," + signed);
  return String(headers["webhook-signature"]).split(" ").map((one) => Buffer.from(one))
    .some((one) => one.length === mine.length && timingSafeEqual(one, mine));
}

const received: string[] = [];
let endpoint = { id: "", secret: "" };
const server = createServer(async (request, response) => {
  const body = await buffer(request);
  const genuine = isGenuine(endpoint.secret, request.headers, body);
  response.writeHead(genuine ? 204 : 400).end();
  received.push(genuine ? JSON.parse(body.toString()).type : "refused");
});
await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
const { port } = server.address() as AddressInfo;
endpoint = await call("POST", "/webhook_endpoints", {
  url: `http://127.0.0.1:${port}/hooks`, // https in production
  event_types: ["*"],
});
// The first event says that the endpoint is enabled.
// docs: end
while (!received.length) await pause(0.1);
if (received[0] !== "webhook_endpoint.enabled") throw new Error(`the first webhook is ${received[0]}`);
server.closeAllConnections();
server.close();

// docs: errors
async function callSafely(path: string, body: object, key: string) {
  for (let attempt = 0; attempt < 6; attempt++) {
    try {
      return await call("POST", path, body, { "Idempotency-Key": key });
    } catch (error: any) {
      if (error.problem && !error.problem.retryable) throw error;
      // Without a problem no answer came: the key makes it safe to repeat.
      await pause(Number(error.answer?.headers.get("Retry-After") ?? 2 ** attempt));
    }
  }
  throw new Error("the API does not answer");
}

try {
  const context = { partner: "acme", term: "1 year" };
  await callSafely("/quotes", { product: "quake-circle", context }, "quote-4711");
} catch (error: any) {
  console.log(error.message, error.problem.errors);
}
// docs: end
