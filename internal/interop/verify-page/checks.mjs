// 99 quotes and a claim: their receipts are right, and an altered one is named.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const require = createRequire(new URL("../../../console/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const ready = JSON.parse(process.env.PARAPET);
const { base_url: base } = ready;

async function ask(path, body) {
	const answer = await fetch(`${base}/v1${path}`, {
		method: body ? "POST" : "GET", body: body && JSON.stringify(body),
		headers: { Authorization: `Bearer ${ready.clients[0].token}`, "Content-Type": "application/json" },
	});
	const text = await answer.text();
	assert(answer.ok, `${path}: ${text}`);
	return text;
}

const file = (name, text) => ({ name: `${name}.json`, mimeType: "application/json", buffer: Buffer.from(text) });
const receipts = [];
let quote;
for (const product of ["quake-circle", "cyclone-circle", "rain-excess"]) {
	for (let i = 0; i < 33; i++) {
		quote = JSON.parse(await ask("/quotes", { product, context: { partner: "acme", limit: { amount: 1_000_000 + 10_000 * i, currency: "USD" } } }));
		receipts.push(file(`${product}-${i}`, await ask(`/quotes/${quote.id}/receipt`)));
	}
}

// The claim of an earthquake at the instant cover begins.
quote = JSON.parse(await ask("/quotes", { product: "quake-circle", context: { partner: "acme", location: { latitude: 23.98, longitude: 121.61 } } }));
const policy = JSON.parse(await ask("/policies", { quote_id: quote.id }));
await ask("/sandbox/observations", {
	source: "usgs", source_event_id: "rehearsal-1", kind: "earthquake", stage: "final", occurred_at: policy.effective_at,
	location: { latitude: 24.17, longitude: 121.65 }, measures: { magnitude: { value: "6.4", unit: "mw" }, depth: { value: "10.6", unit: "km" } },
});
let claim;
for (let tries = 0; !claim?.decision && tries < 100; tries++) {
	await new Promise((resume) => setTimeout(resume, 100));
	const [brief] = JSON.parse(await ask(`/policies/${policy.id}`)).claims;
	claim = brief && JSON.parse(await ask(`/claims/${brief.id}`));
}
const receipt = await ask(`/claims/${claim.id}/receipt`);
receipts.push(file("claim", receipt));
assert.equal(receipts.length, 100);

const browser = await chromium.launch({
	executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
	args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const page = await browser.newPage();
const faults = [], posted = [];
page.on("console", (message) => { if (["error", "warning"].includes(message.type())) faults.push(message.text()); });
page.on("pageerror", (error) => faults.push(error.stack));
page.on("request", (request) => {
	if (!request.url().startsWith(base) && !request.url().startsWith("data:")) faults.push(`a request to ${request.url()}`);
	if (request.method() !== "GET") posted.push(request.url());
});
await page.goto(`${base}/verify`);
const state = page.getByRole("status");
const says = (text) => page.waitForFunction((want) => document.getElementById("state").textContent === want, text, { timeout: 120_000 });
await says("Ready.");

await page.locator("#files").setInputFiles(receipts);
await says("100 verified, 0 wrong.");
assert.equal(await page.locator("#results > .good").count(), 100, await page.locator("#results").textContent());

const altered = receipt.replace('"decided_by":"system"', '"decided_by":"operator"');
assert.notEqual(altered, receipt);
await page.locator("#files").setInputFiles([file("altered", altered), file("claim", receipt)]);
await says("2 verified, 1 wrong.");
assert.match(await page.locator("#results > .bad").textContent(), /altered\.json.*the receipt was changed/);
if (process.env.SHOT) await page.screenshot({ path: process.env.SHOT, fullPage: true });

// Another server's thumbprint is not that of the key, and the right one is.
await page.getByLabel("Keys that I have kept").check();
for (const [pin, wrong] of [["kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k", 1], [JSON.parse(receipt).key.kid, 0]]) {
	await page.getByLabel("Keys or thumbprint").fill(pin);
	await page.locator("#files").setInputFiles([file("claim", receipt)]);
	await says(`1 verified, ${wrong} wrong.`);
}
assert.deepEqual(faults, []);
assert.deepEqual(posted, [], "the page sends nothing");
assert.equal(await state.textContent(), "1 verified, 0 wrong.");
await browser.close();
console.log("verify-page: 100 receipts verified in Chromium, an altered one and a foreign key refused");
