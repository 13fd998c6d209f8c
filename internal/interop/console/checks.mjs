// The console in a browser: what a partner and operators do with it, by clicks.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { get } from "node:http";
import { ask, base, browser, faults, Person, script, sell, wait } from "./person.mjs";

let checks = 0;
async function check(what, test) {
	try {
		await test();
	} catch (cause) {
		for (const [n, context] of browser.contexts().entries()) await Person.atFault(context.pages()[0], `failed-${n}`);
		throw new Error(what, { cause });
	}
	checks++;
	if (process.env.VERBOSE) console.log(new Date().toISOString().slice(11, 19), what);
}

const acme = await Person.signIn("acme");
const { page } = acme;

// price fills in the form of a quote and returns when its price is shown, above that of an
// earlier quote.
async function price({ latitude, longitude, limit, reference }) {
	await acme.choose("Quotes");
	await page.getByRole("link", { name: "New quote" }).first().click();
	await page.getByLabel("Product", { exact: true }).selectOption({ label: "Earthquake in a circle" });
	await acme.fill("Latitude", latitude);
	await acme.fill("Longitude", longitude);
	await acme.fill("Limit", limit);
	await acme.fill("Your reference", reference);
	const [answer] = await Promise.all([
		page.waitForResponse((response) => response.request().postData()?.includes("CreateQuote") ?? false),
		acme.press(/^Price (it|this variant)$/),
	]);
	const { id } = (await answer.json()).data.createQuote.quote;
	await page.locator(".offers > section.card").first().filter({ has: page.locator(`a[href$="${id}"]`) }).getByRole("button", { name: /^Bind for USD / }).waitFor();
}

async function bind(holder) {
	const card = page.locator("form.bind").first();
	await acme.fill("Policyholder", holder, card);
	await card.getByRole("button", { name: /^Bind for/ }).click();
	await acme.sees(/^Policy /);
}

// openClaim goes to the page of an event and from there to its claim; it returns the claim's id.
async function openClaim(show) {
	await show();
	await acme.sees("Map");
	await page.locator(".results a[href*='/claims/']").first().click();
	await acme.sees(/^Claim /);
	await page.getByText("Approved", { exact: true }).first().waitFor();
	return page.url().split("/").pop();
}

// rehearse lets an earthquake happen from the page What if.
async function rehearse(latitude, longitude, magnitude) {
	await acme.choose("What if");
	await acme.fill("Latitude", latitude);
	await acme.fill("Longitude", longitude);
	await page.getByRole("slider", { name: "Magnitude" }).fill(magnitude);
	return openClaim(() => acme.press("Let it happen"));
}

// settle lets the simulated bank report a payment, which it does by itself after a minute.
async function settle() {
	const button = page.getByRole("button", { name: "Settle", exact: true }), done = page.getByText(/^Reconciled/).filter({ visible: true }).first();
	await button.or(done).first().waitFor();
	if (await button.isVisible()) await button.click({ timeout: 5000 }).catch(() => {});
	await done.waitFor();
}

async function recordAccount(holder) {
	await acme.press("Record an account");
	const form = page.getByRole("dialog");
	await acme.fill("Name of the holder", holder, form);
	await acme.fill("Country", "TW", form);
	await acme.fill("Routing number", "021000021", form);
	await acme.fill("Account number", "000123456789", form);
	await acme.press("Record", form);
	await form.waitFor({ state: "detached" });
}

// reload reads a page again until it shows a text.
async function untilShown(person, text) {
	await person.page.getByText(text).filter({ visible: true }).first().waitFor({ timeout: wait });
}

await check("the first load is at most 120 KB in gzip", async () => {
	const loaded = await page.evaluate(() => performance.getEntriesByType("resource").map((entry) => entry.name).filter((name) => name.includes("/console/assets/")));
	let total = 0;
	for (const address of [`${base}/console`, ...new Set(loaded)]) {
		total += await new Promise((done, fail) => get(address, { headers: { "Accept-Encoding": "gzip" } }, (answer) => {
			let size = 0;
			answer.on("data", (part) => { size += part.length; }).on("end", () => done(size));
		}).on("error", fail));
	}
	assert(loaded.length >= 3 && total <= 120 * 1024, `${total} bytes in ${loaded.length} files`);
	console.log(`console: the first load is ${(total / 1024).toFixed(1)} KB in gzip`);
});

await check("an empty home says what to do", async () => {
	await page.getByRole("link", { name: "Price the first cover" }).waitFor();
	await acme.inspect("home-empty", { shot: true });
});

await check("errors of a form stand at the field, in the API's words", async () => {
	await acme.choose("Quotes");
	await page.getByRole("link", { name: "New quote" }).first().click();
	await page.getByLabel("Product", { exact: true }).selectOption({ label: "Earthquake in a circle" });
	await acme.fill("Radius (km)", "900");
	await acme.press("Price it");
	await page.locator(".field.invalid", { hasText: "Radius (km)" }).getByText(/at most 300/).waitFor();
	await acme.inspect("quote-error");
	await acme.fill("Radius (km)", "50");
});

await check("a quote shows its parts and the past, and two variants side by side", async () => {
	await price({ latitude: "23.98", longitude: "121.61", limit: "100000", reference: script.slice(0, 60) });
	await page.getByText(/past events? would have paid/).first().waitFor();
	await page.getByText("Expected loss").first().waitFor();
	await acme.fill("Radius (km)", "80");
	await acme.press("Price this variant");
	await page.getByRole("heading", { name: "The variant before" }).waitFor();
	await acme.inspect("quote-builder", { shot: true });
});

await check("a quote becomes a policy", async () => {
	await bind(script);
	await page.getByText("In force").first().waitFor();
	await page.getByText(script).first().waitFor();
	await acme.inspect("policy");
});

await check("metadata is shown as text", async () => {
	const policyId = await sell({ partner: "acme", location: { latitude: -33.45, longitude: -70.67 } }, { broker: script, [script.slice(0, 40)]: "a key" });
	await acme.choose("Policies");
	await page.getByRole("link", { name: new RegExp(policyId.slice(-8)) }).first().click();
	await acme.sees(/^Policy /);
	await page.getByText(script).first().waitFor();
	await acme.inspect("policy-metadata");
});

await check("what-if shows what the API computes, at most four requests a second", async () => {
	await acme.choose("What if");
	await acme.fill("Latitude", "24");
	await acme.fill("Longitude", "121.6");
	await acme.page.getByRole("slider", { name: "Magnitude" }).fill("6.6");
	const { exposure } = await ask("acme", `{ exposure(occurrence: { earthquake: { location: { latitude: 24, longitude: 121.6 }, magnitude: "6.6", depthKm: "10" } }) { totals { paying payable { amount } } } }`);
	const [total] = exposure.totals;
	assert.equal(total.paying, 1);
	const text = `USD ${new Intl.NumberFormat("en-GB").format(total.payable.amount / 100)}`;
	await page.locator(".figures").getByText(text, { exact: true }).first().waitFor();
	const sent = [];
	page.on("request", (request) => { if (request.postData()?.includes("query WhatIf")) sent.push(Date.now()); });
	const slider = page.getByRole("slider", { name: "Magnitude" });
	for (let n = 0; n < 40; n++) await slider.fill((5 + n / 10).toFixed(1));
	await page.waitForTimeout(600);
	assert(sent.length > 0);
	for (const at of sent) assert(sent.filter((other) => other >= at && other < at + 900).length <= 4, `${sent}`);
	const canvas = page.locator("canvas");
	const box = await canvas.boundingBox();
	await page.mouse.click(box.x + box.width / 3, box.y + box.height / 3);
	await page.waitForFunction((input) => input.value !== "24", await page.getByLabel("Latitude", { exact: true }).elementHandle());
	await acme.fill("Latitude", "24");
	await acme.fill("Longitude", "121.6");
	await slider.fill("6.6");
	await page.locator(".figures").getByText(text, { exact: true }).first().waitFor();
	await acme.inspect("what-if", { shot: true });
});

let claim;
await check("a past disaster is replayed: a claim opens, an account is recorded, and the payout is reconciled", async () => {
	await acme.choose("Time machine");
	await page.getByText("Hualien 2018").click();
	await acme.press("Replay it now");
	const run = page.locator(".runs article").first();
	await run.getByText("Done", { exact: true }).waitFor();
	await run.getByRole("cell", { name: "USD 20,000" }).first().waitFor();
	await acme.inspect("time-machine", { shot: true });
	claim = await openClaim(() => run.getByRole("link", { name: "See the covers it touched" }).click());
	await page.getByText(/It reaches the threshold/).waitFor();
	await recordAccount(script.slice(0, 100));
	await page.getByRole("link", { name: /^pay_/ }).click();
	await acme.sees("Payout of USD 20,000");
	await settle();
	await page.getByText("Confirmed by the bank's own report").waitFor();
	await acme.inspect("payout");
	await page.getByRole("link", { name: /^clm_/ }).first().click();
	await acme.sees(/^Claim /);
	await untilShown(acme, /^Closed/);
	await acme.inspect("claim", { shot: true });
});

const olive = await Person.signIn("operator", { operator: true });
const second = await Person.signIn("second-operator", { operator: true });

await check("documents and messages go both ways", async () => {
	await acme.choose("Claims");
	await page.getByRole("link", { name: new RegExp(claim.slice(-8)) }).first().click();
	await acme.sees(/^Claim /);
	await acme.fill("Message", `Look: ${script}`);
	await acme.press("Send");
	await page.locator(".messages").getByText(`Look: ${script}`).waitFor();
	await page.getByLabel("Add a document").setInputFiles({ name: "<img src=x onerror=window.hacked=1>.txt", mimeType: "text/plain", buffer: Buffer.from("The wall, as text.") });
	await page.getByRole("button", { name: /onerror/ }).waitFor();
	await olive.choose("Claims");
	await olive.page.getByRole("link", { name: new RegExp(claim.slice(-8)) }).first().click();
	await olive.page.locator(".messages").getByText(`Look: ${script}`).waitFor();
	const [file] = await Promise.all([olive.page.waitForEvent("download"), olive.page.getByRole("button", { name: /onerror/ }).click()]);
	assert.match(file.suggestedFilename(), /onerror/);
	await olive.fill("Message", "We have seen it.");
	await olive.press("Send");
	await olive.inspect("claim-operator", { shot: true });
	await page.locator(".messages").getByText("We have seen it.").waitFor();
	const [receipt] = await Promise.all([page.waitForEvent("download"), acme.press("Receipt")]);
	assert.match(receipt.suggestedFilename(), /receipt\.json$/);
});

await check("a million dollars leave after two operators have approved the same account", async () => {
	await price({ latitude: "35.68", longitude: "139.69", limit: "1000000", reference: "harbour" });
	await bind("Harbour works");
	await rehearse("35.7", "139.7", "7.6");
	await recordAccount("Harbour works");
	await untilShown(acme, /Needs approval/);
	for (const [operator, given] of [[olive, 0], [second, 1]]) {
		await operator.choose("Inbox");
		await operator.page.getByRole("link", { name: "Review" }).first().click();
		await operator.sees("Payout of USD 1,000,000");
		await operator.page.getByText(`${given} of 2 given`).waitFor();
		if (given === 0) await operator.inspect("payout-approval", { shot: true });
		await operator.press("Approve");
		const dialog = operator.page.getByRole("dialog");
		await operator.fill("Note", script, dialog);
		await operator.press("Approve", dialog);
		await dialog.waitFor({ state: "detached" });
	}
	await olive.page.getByText("2 of 2 given").waitFor();
	await untilShown(acme, /^(Released|Reconciled)/);
});

await check("a claim that nobody measured is decided from the inbox", async () => {
	await price({ latitude: "-12.05", longitude: "-77.04", limit: "50000", reference: "lima" });
	await bind("Lima");
	await page.waitForTimeout(2000); // the form has whole seconds, and cover begins within one
	await page.getByText("Report a loss yourself").click();
	await acme.fill("When it happened", new Date(Date.now() - new Date().getTimezoneOffset() * 60_000).toISOString().slice(0, 19));
	await acme.fill("Description", script);
	await acme.press("Open the claim");
	await acme.sees(/^Claim /);
	await olive.choose("Inbox");
	await olive.inspect("inbox", { shot: true });
	await olive.page.getByRole("row").filter({ hasText: "window.hacked" }).getByRole("link", { name: "Decide" }).click();
	await olive.sees(/^Claim /);
	await olive.press("Decide");
	const dialog = olive.page.getByRole("dialog");
	await dialog.getByLabel("Outcome").selectOption("DECLINED");
	await olive.fill("Message to the partner", `No: ${script}`, dialog);
	await olive.press("Decide", dialog);
	await page.locator(".messages").getByText(`No: ${script}`).waitFor();
});

await check("a product is published and retired", async () => {
	const shipped = readFileSync(new URL("../../../model/quoting/product/catalog/quake-circle.yaml", import.meta.url), "utf8");
	const document = shipped.replace(/^key: .*/m, "key: stored-script").replace(/^version: .*/m, "version: 1").replace(/^title: .*/m, `title: '${script}'`).replace(/^summary: .*/m, `summary: '${script}'`);
	await olive.choose("Products");
	await olive.page.getByRole("link", { name: "Publish a product" }).click();
	await olive.fill("Document", document.replace("place: circle", "place: square"));
	await olive.press("Publish a product");
	await olive.page.locator(".notice.bad code", { hasText: "/place" }).waitFor();
	await olive.inspect("product-error");
	await olive.fill("Document", document);
	await olive.press("Publish a product");
	await olive.page.getByRole("link", { name: "stored-script, 1" }).click();
	await olive.sees(script);
	await olive.inspect("product", { shot: true });
	await olive.press("Retire");
	const dialog = olive.page.getByRole("dialog");
	await dialog.getByLabel("Version").selectOption({ label: "All versions" });
	await olive.fill("Reason", script, dialog);
	await olive.press("Retire", dialog);
	await olive.page.getByText("This version is retired.").waitFor();
});

await check("the terms of a partner are set", async () => {
	await olive.choose("Partners");
	const row = olive.page.getByRole("row").filter({ hasText: "globex" }), dialog = olive.page.getByRole("dialog");
	await olive.press("Terms", row);
	await olive.fill("Largest limit of one cover", "a lot", dialog);
	await olive.fill("Reason", script, dialog);
	await olive.press("Save", dialog);
	await dialog.getByText("Write each limit as a currency and an amount").waitFor();
	await olive.fill("Largest limit of one cover", "USD 250,000.50", dialog);
	await olive.fill("Share of the premium", "0.9", dialog);
	await olive.press("Save", dialog);
	await dialog.locator(".field.invalid", { hasText: "Share of the premium" }).waitFor();
	await olive.inspect("terms-error");
	await olive.fill("Share of the premium", "0.125", dialog);
	await olive.fill("Contacts", `${script} <lin@example.com>`, dialog);
	await olive.press("Save", dialog);
	await row.getByText("12.5%").waitFor();
	await olive.press("Terms", row);
	assert.equal(await dialog.getByLabel("Largest limit of one cover").inputValue(), "USD 250000.50");
	assert.equal(await dialog.getByLabel("Contacts").inputValue(), `${script} <lin@example.com>`);
	await olive.inspect("terms", { shot: true });
	await olive.press("Cancel", dialog);
});

await check("an operator looks at one partner", async () => {
	const partner = olive.page.getByRole("combobox", { name: "Partner", exact: true }).filter({ visible: true });
	await olive.choose("Policies");
	await olive.page.getByRole("cell", { name: "acme", exact: true }).first().waitFor();
	await partner.selectOption("globex");
	await olive.page.getByText("No policies yet.").waitFor();
	await olive.choose("Portfolio");
	await olive.page.getByText("No policy is in force yet.").waitFor();
	await partner.selectOption("acme");
	await olive.page.getByText(/^Figures of Acme/).waitFor();
	await partner.selectOption("");
	await olive.page.getByText(/^Figures of All partners/).waitFor();
});

await check("releases stop and go on by one switch", async () => {
	await olive.choose("Release stop");
	await olive.press("Stop all releases");
	await olive.fill("Reason", script, olive.page.getByRole("dialog"));
	await olive.press("Stop all releases", olive.page.getByRole("dialog"));
	await olive.page.getByText("Stopped", { exact: true }).first().waitFor();
	await olive.press("Resume releases");
	await olive.fill("Reason", "The drill is over.", olive.page.getByRole("dialog"));
	await olive.press("Resume releases", olive.page.getByRole("dialog"));
	await olive.page.getByText("Flowing", { exact: true }).waitFor();
});

await check("an endpoint is added, tested and rotated", async () => {
	await acme.choose("Developers");
	await acme.press("Endpoints");
	await acme.press("Add an endpoint");
	const form = page.getByRole("dialog");
	await acme.fill("Address", "http://127.0.0.1:9/hook", form);
	await acme.fill("Your reference", script.slice(0, 60), form);
	await acme.press("Add an endpoint", form);
	await acme.press("I have stored it");
	await page.getByRole("link", { name: "http://127.0.0.1:9/hook" }).click();
	await acme.press("Send a test");
	await page.getByRole("button", { name: "Send again" }).first().waitFor();
	await acme.press("Rotate the secret");
	await acme.press("Rotate the secret", page.getByRole("dialog"));
	await acme.press("I have stored it");
	await acme.inspect("endpoint");
});

await check("what was typed survives an expired session and a lost connection", async () => {
	await acme.choose("Quotes");
	await page.getByRole("link", { name: "New quote" }).first().click();
	await acme.fill("Your reference", "kept");
	await page.route("**/graphql", (route) => route.abort());
	await acme.press(/^Price (it|this variant)$/);
	await page.getByText("No connection to the server.").waitFor();
	const readAgain = page.waitForEvent("requestfailed"); // the new policy's event makes the page read
	await sell({ partner: "acme", location: { latitude: 37.77, longitude: -122.42 } });
	await readAgain;
	await page.waitForTimeout(7000); // a reading that found no server is repeated every three seconds
	assert.equal(await page.getByLabel("Your reference", { exact: true }).inputValue(), "kept", "the page stays");
	await page.unroute("**/graphql");
	await acme.press(/^Price (it|this variant)$/);
	await page.getByText("No connection to the server.").waitFor({ state: "detached" });
	await page.getByRole("button", { name: /^Bind for/ }).first().waitFor();
	await acme.fill("Your reference", "kept twice");
	await page.reload();
	await page.getByRole("radio", { name: /^acme/ }).check();
	await page.getByRole("button", { name: "Sign in" }).click();
	await page.waitForFunction(() => [...document.querySelectorAll("input")].some((input) => input.value === "kept twice"));
	const kept = await page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }));
	assert.doesNotMatch(kept, /eyJ|000123456789|021000021/, "no token and no account number is stored");
	faults.splice(0, faults.length, ...faults.filter((fault) => !fault.includes("net::ERR_FAILED")));
});

const partnerPages = ["Home", "Map", "What if", "Quotes", "Policies", "Claims", "Payouts", "Statement", "Developers", "Time machine"];
const operatorPages = ["Inbox", "Event desk", "Release stop", "Claims", "Payouts", "Policies", "Quotes", "Portfolio", "Map", "What if", "Statement", "Partners", "Products", "Sources", "Capacity and moratoria", "Jobs", "Audit log"];
for (const [name, operator, pages] of [["acme", false, partnerPages], ["operator", true, operatorPages]]) {
	for (const [colorScheme, width] of [["light", 1280], ["dark", 1280], ["dark", 360]]) {
		await check(`${operator ? "an operator" : "a partner"} finds nothing broken, ${colorScheme}, ${width} pixels wide`, async () => {
			const person = await Person.signIn(name, { operator, colorScheme, viewport: { width, height: 800 } });
			for (const title of pages) {
				await person.choose(title);
				await person.inspect(`${operator ? "operator" : "partner"}-${title.toLowerCase().replaceAll(" ", "-")}-${colorScheme}-${width}`, { shot: true });
			}
			if (operator) {
				await person.choose("Event desk");
				await person.page.getByRole("link", { name: /us1000chhc/ }).first().click();
				await person.page.getByRole("heading", { name: "Money owed by product" }).waitFor();
				await person.inspect(`operator-event-${colorScheme}-${width}`, { shot: true });
			}
			await person.page.context().close();
		});
	}
}

await check("the keyboard reaches the content, forms, dialogs and the map", async () => {
	const key = (name) => page.keyboard.press(name), focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.textContent);
	await acme.choose("Policies");
	assert.equal(await focused(), "Policies", "a new page begins at its heading");
	await page.getByRole("link", { name: "Skip to the content" }).focus();
	await key("Enter");
	assert.equal(await focused(), "content");
	await page.getByRole("link", { name: "Quotes", exact: true }).filter({ visible: true }).focus();
	await key("Enter");
	await acme.sees("Quotes");
	await page.getByRole("link", { name: "New quote" }).first().focus();
	await key("Enter");
	await acme.sees("New quote");
	await page.getByLabel("Your reference", { exact: true }).focus();
	await page.keyboard.type("by keyboard");
	await key("Enter");
	await page.getByRole("button", { name: /^Bind for/ }).first().waitFor();
	const button = olive.page.getByRole("button", { name: "Register a partner" }), dialog = olive.page.getByRole("dialog");
	await olive.choose("Partners");
	await button.focus();
	await olive.page.keyboard.press("Enter");
	await dialog.waitFor();
	await olive.page.keyboard.press("Escape");
	await dialog.waitFor({ state: "detached" });
	await olive.page.waitForFunction((element) => element === document.activeElement, await button.elementHandle());
	await acme.choose("Map");
	await page.locator("canvas").focus();
	const before = await page.locator("canvas").evaluate((canvas) => canvas.toDataURL().length);
	await page.keyboard.press("+");
	await page.waitForFunction((size) => document.querySelector("canvas").toDataURL().length !== size, before);
});

await check("10,000 covers are drawn in at most 33 milliseconds", async () => {
	const person = await Person.signIn("globex");
	// The drawing is measured, not the server: one of its covers is answered ten thousand times.
	const { coverMap } = await ask("acme", `{ coverMap(box: { west: -180, south: -90, east: 180, north: 90 }, zoom: 1) { covers { policyId partner productKey peril place { kind latitude longitude radiusKm west south east north } } } }`);
	await person.page.route("**/graphql", async (route) => {
		if (!route.request().postData()?.includes("query Covers")) return route.continue();
		const covers = Array.from({ length: 10_000 }, (_, n) => ({ ...structuredClone(coverMap.covers[0]), policyId: `pol_${n}` }));
		for (const cover of covers) Object.assign(cover.place, { latitude: 60 - Math.random() * 100, longitude: Math.random() * 340 - 170 });
		await route.fulfill({ json: { data: { coverMap: { policies: covers.length, covers, cells: [] } } } });
	});
	await person.choose("Map");
	const canvas = person.page.locator("canvas");
	await person.page.waitForFunction(() => Number(document.querySelector("canvas").dataset.drawn) >= 10_000);
	const box = await canvas.boundingBox();
	const times = [];
	await person.page.mouse.move(box.x + 200, box.y + 200);
	await person.page.mouse.down();
	for (let n = 0; n < 30; n++) {
		await person.page.mouse.move(box.x + 200 + 4 * n, box.y + 200 + n);
		await person.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
		times.push(Number(await canvas.getAttribute("data-milliseconds")));
	}
	await person.page.mouse.up();
	// Other work on this machine makes frames longer, never shorter: the best quarter counts.
	const least = times.sort((a, b) => a - b)[7];
	assert(least > 0 && least <= 33, `${least} ms a frame`);
	console.log(`console: 10,000 covers are drawn in ${least.toFixed(1)} ms`);
});

assert.deepEqual(faults, []);
await browser.close();
console.log(`console: ${checks} checks passed in Chromium`);
