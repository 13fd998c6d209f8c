// An operator whose sign-in is older than PARAPET_SIGN_IN_MAX_AGE signs in again to approve a
// payout (RFC 9470); the note that was typed is still there.
import assert from "node:assert/strict";
import { ask, browser, faults, Person, sell } from "./person.mjs";

const place = { latitude: 35.68, longitude: 139.69 };
const policyId = await sell({ partner: "acme", location: place, limit: { amount: 100_000_000, currency: "USD" } });
await ask("acme", "mutation($input: RecordPayoutMethodInput!) { recordPayoutMethod(input: $input) { payoutMethod { id } } }", { input: { policyId, currency: "USD", type: "IBAN", beneficiary: { name: "Harbour works", country: "TW" }, iban: { iban: "DE89370400440532013000" } } });
const reading = { source: "usgs", sourceEventId: "strong", kind: "EARTHQUAKE", stage: "FINAL", occurredAt: new Date().toISOString(), location: place, measures: [{ name: "magnitude", value: "7.6", unit: "mw" }] };
await ask("acme", "mutation($input: RehearseObservationsInput!) { rehearseObservations(input: $input) { results { result } } }", { input: { observations: [reading] } });

const olive = await Person.signIn("operator", { operator: true });
const { page } = olive;
const signedIn = Date.now();
await page.getByRole("link", { name: "Review" }).first().click();
await olive.sees("Payout of USD 1,000,000");
await page.waitForTimeout(Math.max(0, signedIn + 6000 - Date.now()));
await olive.press("Approve");
const dialog = page.getByRole("dialog");
await olive.fill("Note", "I have called them.", dialog);
const [refused] = await Promise.all([page.waitForResponse((answer) => answer.request().postData()?.includes("mutation Approve") ?? false), olive.press("Approve", dialog)]);
assert.match(refused.headers()["www-authenticate"] ?? "", /^Bearer error="insufficient_user_authentication", max_age=5/);
await dialog.getByText("What you typed is kept.").waitFor();
await olive.inspect("step-up", { shot: true });
await olive.press("Sign in again", dialog);
await page.waitForURL((url) => url.searchParams.get("max_age") === "5" && url.searchParams.get("prompt") === "login");
await olive.form();
await olive.sees("Payout of USD 1,000,000");
assert.equal(await dialog.getByLabel("Note").inputValue(), "I have called them.");
await olive.press("Approve", dialog);
await page.getByText("1 of 2 given").waitFor();
assert.deepEqual(faults, []);
await browser.close();
console.log("console: an operator signs in again to approve, and what was typed is kept");
