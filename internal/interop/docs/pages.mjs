// Measures every page of the documentation in Chromium: size, elements, errors in the
// console, axe in light and dark, width on a phone, links. SHOTS names a folder for
// screenshots.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const require = createRequire(new URL("../../../console/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const { AxeBuilder } = require("@axe-core/playwright");
const base = JSON.parse(process.env.PARAPET).base_url;
const maxBytes = 150 * 1024, maxElements = 3000;

const index = await (await fetch(`${base}/docs/search.json`)).json();
const pages = [...new Set(index.map(([address]) => address.split("#")[0]))];
assert(pages.length > 80, `only ${pages.length} pages`);

const browser = await chromium.launch({
	executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
	args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const faults = [];
const links = new Set();
let largest = 0, most = 0;

async function open(settings) {
	const context = await browser.newContext(settings);
	const page = await context.newPage();
	page.on("console", (message) => { if (["error", "warning"].includes(message.type())) faults.push(`${page.url()}: ${message.text()}`); });
	page.on("pageerror", (error) => faults.push(`${page.url()}: ${error.stack}`));
	page.on("request", (request) => { if (!request.url().startsWith(base)) faults.push(`${page.url()}: a request to ${request.url()}`); });
	return page;
}

// Pages of errors are alike: the first of them stands for all. Each page is loaded with an
// empty cache and measured: all that a first visit sends. In dark, which has the same
// elements in other colours, one page of each kind is enough.
const distinct = pages.filter((address) => !address.startsWith("/docs/errors/")).concat("/docs/errors/validation_failed");
const kinds = distinct.filter((address) => /docs$|quickstart|guides.webhooks|prices|event-types|rest.webhooks|queries|alarms|errors/.test(address));
for (const [colorScheme, some] of [["light", distinct], ["dark", kinds]]) {
	const page = await open({ viewport: { width: 1400, height: 900 }, colorScheme });
	const network = await page.context().newCDPSession(page);
	let bytes = 0;
	await network.send("Network.enable");
	await network.send("Network.setCacheDisabled", { cacheDisabled: true });
	network.on("Network.loadingFinished", (event) => { bytes += event.encodedDataLength; });
	for (const address of some) {
		bytes = 0;
		await page.goto(base + address);
		const elements = await page.evaluate(() => document.querySelectorAll("*").length);
		largest = Math.max(largest, bytes);
		most = Math.max(most, elements);
		if (bytes > maxBytes) faults.push(`${address} sends ${bytes} bytes`);
		if (elements > maxElements) faults.push(`${address} has ${elements} elements`);
		for (const link of await page.evaluate(() => [...document.links].map((a) => a.href))) links.add(link);
		const { violations } = await new AxeBuilder({ page }).analyze();
		for (const found of violations) faults.push(`${address}, ${colorScheme}: ${found.id} ${found.nodes.slice(0, 3).map((node) => node.html).join(" ")}`);
		if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${colorScheme}${address.replaceAll("/", "-")}.png` });
	}
	await page.context().close();
}

const phone = await open({ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });
for (const address of distinct) {
	await phone.goto(base + address);
	const width = await phone.evaluate(() => document.scrollingElement.scrollWidth);
	if (width > 390) faults.push(`${address} is ${width} pixels wide on a phone`);
	if (process.env.SHOTS) await phone.screenshot({ path: `${process.env.SHOTS}/phone${address.replaceAll("/", "-")}.png` });
}
await phone.goto(`${base}/docs`);
await phone.getByRole("button", { name: "Navigation" }).click();
await phone.getByRole("link", { name: "Quickstart" }).first().click();
await phone.waitForURL(`${base}/docs/quickstart`);

// Search, tabs, copying and dark mode, as a reader uses them.
const reader = await open({ viewport: { width: 1400, height: 900 }, permissions: ["clipboard-read", "clipboard-write"] });
await reader.goto(`${base}/docs`);
await reader.keyboard.press("/");
await reader.getByRole("combobox").fill("idempot");
await reader.getByRole("option").first().waitFor();
await reader.keyboard.press("Enter");
await reader.waitForURL(/idempotency/i);
await reader.goto(`${base}/docs/guides/quote`);
await reader.getByRole("tab", { name: "Python" }).click();
await reader.goto(`${base}/docs/guides/bind`);
const python = reader.getByRole("tabpanel", { name: "Python" });
assert(await python.isVisible(), "the chosen language stays");
await python.hover();
await python.getByRole("button", { name: "Copy" }).click();
assert.match(await reader.evaluate(() => navigator.clipboard.readText()), /^policy = call\(/);
await reader.getByRole("button", { name: "Dark mode" }).click();
await reader.goto(`${base}/docs`);
assert.equal(await reader.evaluate(() => document.documentElement.dataset.theme), "dark");

const plain = await open({ javaScriptEnabled: false });
await plain.goto(`${base}/docs/guides/quote`);
for (const code of await plain.locator(".tabs pre").all()) assert(await code.isVisible(), "without JavaScript all samples are shown");

for (const link of links) {
	if (!link.startsWith(base)) continue;
	const answer = await fetch(link.split("#")[0], { headers: { Accept: "text/html" } });
	if (!answer.ok) faults.push(`${link} is ${answer.status}`);
	await answer.body?.cancel();
}
assert.deepEqual(faults, []);
await browser.close();
console.log(`docs: ${pages.length} pages of at most ${largest} bytes and ${most} elements, ${links.size} links, axe clean in light and dark`);
