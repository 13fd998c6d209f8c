// The console with an issuer that is not ours, npm's oidc-provider, whose tokens live a minute.
import assert from "node:assert/strict";
import { base, browser, faults, Person } from "./person.mjs";

const issuer = process.env.OIDC_ISSUER;

async function form(page, login) {
	await page.getByPlaceholder("Enter any login").fill(login);
	await page.getByPlaceholder("and password").fill("-");
	await page.getByRole("button", { name: "Sign-in" }).click();
	await page.getByRole("button", { name: "Continue" }).click();
}

const ann = await Person.signIn("ann", { issuer, form });
const { page } = ann;
const refreshed = [];
page.on("request", (request) => { if (request.url() === `${issuer}/token`) refreshed.push(new URLSearchParams(request.postData())); });
await ann.sees("Home");
await ann.choose("Quotes");
await page.getByRole("link", { name: "New quote" }).first().click();
await page.getByLabel("Product", { exact: true }).selectOption({ label: "Earthquake in a circle" });
await ann.press("Price it");
await ann.fill("Policyholder", "Ann", page.locator("form.bind"));
await page.waitForTimeout(5000);
await page.getByRole("button", { name: /^Bind for/ }).click();
await ann.sees(/^Policy /);
await page.waitForTimeout(5000);
await ann.choose("Claims");
await page.getByText("No claims yet.").waitFor();
assert(refreshed.length >= 2, "the tokens were refreshed");
assert(refreshed.every((sent) => sent.get("grant_type") === "refresh_token"));
assert.equal(new Set(refreshed.map((sent) => sent.get("refresh_token"))).size, refreshed.length, "each refresh token is used once");
await page.reload(); // the tokens were in memory only; the issuer knows the person, and asks a native client to confirm
await page.getByRole("button", { name: "Continue" }).click();
await ann.sees("Claims");

const olive = await Person.signIn("olive", { issuer, form, operator: true });
await olive.sees("Inbox");
await olive.choose("Jobs");
assert.deepEqual(faults, []);
const policy = (await (await fetch(`${base}/console`)).headers).get("Content-Security-Policy");
assert.match(policy, new RegExp(`connect-src 'self' ${issuer};`));
await browser.close();
console.log(`console: a partner and an operator of oidc-provider work with it; ${refreshed.length} refresh tokens, each used once`);
