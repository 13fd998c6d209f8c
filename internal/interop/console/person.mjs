// A person at the console: a browser of their own, which notes every fault.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const require = createRequire(new URL("../../../console/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const axe = require("axe-core").source;

export const ready = JSON.parse(process.env.PARAPET);
export const base = ready.base_url;
export const faults = [];
export const wait = Number(process.env.WAIT ?? 120_000);
// What a partner may write anywhere; a page that interprets it sets window.hacked.
export const script = `<script>window.hacked=1</script><img src=x onerror="window.hacked=1">`;

const shots = process.env.SHOTS ?? fileURLToPath(new URL("../../../bin/console", import.meta.url));
mkdirSync(shots, { recursive: true });

export const browser = await chromium.launch({
	executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
	args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-features=LocalNetworkAccessChecks"],
});

export class Person {
	static async signIn(name, { operator = false, issuer = ready.issuer, form = developmentForm, ...options } = {}) {
		const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", acceptDownloads: true, ...options });
		context.setDefaultTimeout(wait);
		const page = await context.newPage();
		const person = new Person(name, page);
		person.form = () => form(page, name);
		const fault = (text) => faults.push(`${name} at ${new URL(page.url()).pathname}: ${text}`);
		page.on("console", (message) => { if (["error", "warning"].includes(message.type()) && page.url().startsWith(base)) fault(message.text()); });
		page.on("pageerror", (error) => fault(error.stack));
		page.on("dialog", (dialog) => { fault(`a dialog: ${dialog.message()}`); void dialog.dismiss(); });
		page.on("request", (request) => { if (page.url().startsWith(base) && !/^(data|blob):/.test(request.url()) && ![base, issuer].some((host) => request.url().startsWith(`${host}/`))) fault(`a request to ${request.url()}`); });
		await page.goto(`${base}/console`);
		const { width } = await page.locator(".door .card").boundingBox();
		assert(width > 250, `the card to sign in is ${width} pixels wide`);
		await page.getByRole("button", { name: operator ? "Sign in as an operator" : "Sign in", exact: true }).click();
		await person.form();
		await page.getByRole("heading", { level: 1 }).waitFor();
		return person;
	}

	constructor(name, page) {
		this.name = name;
		this.page = page;
	}

	// choose follows a link of the menu.
	async choose(link) {
		const menu = this.page.locator("#menu > summary");
		if (await menu.isVisible()) await menu.click();
		await this.page.getByRole("navigation", { name: "Menu" }).getByRole("link", { name: link, exact: true }).filter({ visible: true }).click();
		await this.sees(link);
	}

	// sees waits for a page by its heading.
	async sees(title) {
		await this.page.getByRole("heading", { level: 1, name: title, exact: typeof title === "string" }).waitFor();
	}

	async press(name, within = this.page) {
		await within.getByRole("button", { name, exact: true }).click();
	}

	async fill(label, value, within = this.page) {
		await within.getByLabel(label, { exact: true }).fill(value);
	}

	card(title) {
		return this.page.locator("section.card").filter({ has: this.page.getByRole("heading", { name: title }) });
	}

	// inspect finds what must not be on any page: faults of accessibility, text that was
	// interpreted, a page wider than its window.
	async inspect(what, { shot = false } = {}) {
		await this.page.waitForFunction(() => !document.querySelector(".skeleton"));
		await this.page.evaluate(axe);
		const found = await this.page.evaluate(async () => {
			const { violations } = await axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] });
			return {
				violations: violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(" | ")}`),
				hacked: "hacked" in window || document.querySelector("img[src=x]") !== null, over: document.documentElement.scrollWidth - innerWidth,
			};
		});
		if (shot) await this.shoot(what);
		assert.deepEqual(found, { violations: [], hacked: false, over: 0 }, what);
	}

	// atFault keeps what a page showed when a check failed.
	static async atFault(page, what) {
		if (!page) return;
		console.error(page.url(), await page.locator(".notice.bad, .error").allTextContents().catch(() => []));
		await page.screenshot({ path: `${shots}/${what}.png` }).catch(() => {});
	}

	async shoot(what) {
		await this.page.evaluate(() => scrollTo(0, 0));
		await this.page.screenshot({ path: `${shots}/${what}.png`, fullPage: true });
	}
}

async function developmentForm(page, name) {
	await page.getByRole("radio", { name: new RegExp(`^${name}( |$)`) }).check();
	await page.getByRole("button", { name: "Sign in" }).click();
}

// ask reads the GraphQL API as a client of the development issuer.
export async function ask(name, query, variables = {}) {
	const { token } = ready.clients.find((client) => client.name === name);
	const answer = await fetch(ready.graphql_url, { method: "POST", headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" }, body: JSON.stringify({ query, variables }) });
	const { data, errors } = await answer.json();
	assert(!errors, JSON.stringify(errors));
	return data;
}

// sell binds a cover against an earthquake in a circle and returns the policy's id.
export async function sell(context, metadata) {
	const { createQuote } = await ask("acme", "mutation($context: JSON!) { createQuote(input: { product: \"quake-circle\", context: $context }) { quote { id } } }", { context });
	const { bindPolicy } = await ask("acme", "mutation($id: ID!, $metadata: Metadata) { bindPolicy(input: { quoteId: $id, metadata: $metadata }) { policy { id } } }", { id: createQuote.quote.id, metadata });
	return bindPolicy.policy.id;
}
