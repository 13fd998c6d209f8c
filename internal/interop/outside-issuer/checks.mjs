// What the service makes of an outside issuer's tokens.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import vm from "node:vm";

const ready = JSON.parse(process.env.PARAPET);
const issuer = process.env.OIDC_ISSUER;
let checks = 0;

// read answers a JSON document of the issuer.
async function read(path, form) {
	const answer = await fetch(`${issuer}${path}`, form && { method: "POST", body: new URLSearchParams({ client_secret: "no secret here", ...form }) });
	const document = await answer.json();
	assert(answer.ok, `${path}: ${JSON.stringify(document)}`);
	return document;
}

async function token(resource, { client_id = "acme", scope = "quotes:read quotes:write" } = {}) {
	return (await read("/token", { grant_type: "client_credentials", client_id, resource, scope })).access_token;
}

async function idToken(request) {
	const client_id = process.env.PARAPET_AUDIENCE;
	const { auth_req_id } = await read("/backchannel", { client_id, scope: "openid", login_hint: "acme", ...request });
	return (await read("/token", { grant_type: "urn:openid:params:grant-type:ciba", client_id, auth_req_id })).id_token;
}

async function quote(bearer) {
	const answer = await fetch(`${ready.base_url}/v1/quotes`, {
		method: "POST",
		headers: { Authorization: `Bearer ${bearer}`, "Content-Type": "application/json" },
		body: JSON.stringify({ product: "quake-circle", context: { partner: "acme" } }),
	});
	return { code: (await answer.json()).code, status: answer.status, challenge: answer.headers.get("WWW-Authenticate") ?? "" };
}

function part(jwt, index) {
	return JSON.parse(Buffer.from(jwt.split(".")[index], "base64url"));
}

async function check(what, test) {
	try {
		await test();
	} catch (cause) {
		throw new Error(what, { cause });
	}
	checks++;
}

async function refuses(what, bearer, status, code, challenge) {
	await check(what, async () => {
		const got = await quote(bearer);
		assert.deepEqual([got.status, got.code], [status, code]);
		assert.match(got.challenge, challenge);
	});
}

const kid = async () => (await read("/jwks")).keys[0].kid;

await check("the server names the outside issuer and no clients of its own", () => {
	assert.deepEqual([ready.issuer, ready.clients], [issuer, []]);
});

const first = await token("urn:own");
await check("the issuer makes tokens as RFC 9068 wants them", () => {
	assert.deepEqual([part(first, 0).typ, part(first, 0).alg], ["at+jwt", "ES256"]);
	assert.deepEqual([part(first, 1).aud, part(first, 1).partner], [process.env.PARAPET_AUDIENCE, "acme"]);
});
await check("an access token is accepted", async () => assert.equal((await quote(first)).status, 201));

await refuses("another audience", await token("urn:other"), 401, "token_invalid", /error="invalid_token"/);
await refuses("an opaque token", await token("urn:opaque"), 401, "token_invalid", /error="invalid_token"/);
const identity = await idToken({ binding_message: "n-0S6" });
await check("an ID token has the right issuer, audience and key", async () => {
	const { iss, aud, nonce } = part(identity, 1);
	assert.deepEqual([iss, aud, nonce], [issuer, process.env.PARAPET_AUDIENCE, "n-0S6"]);
	assert.equal(part(identity, 0).kid, await kid());
});
await refuses("an ID token", identity, 401, "token_invalid", /error="invalid_token"/);
await check("an ID token without a nonce, which nothing gives away, permits nothing", async () => {
	const { status } = await quote(await idToken());
	assert(status === 401 || status === 403, `status ${status}`);
});
const [header, , signature] = first.split(".");
const altered = Buffer.from(JSON.stringify({ ...part(first, 1), partner: "globex" })).toString("base64url");
await refuses("altered claims", `${header}.${altered}.${signature}`, 401, "token_invalid", /error="invalid_token"/);
await refuses("a scope that is missing", await token("urn:own", { scope: "quotes:read" }), 403, "insufficient_scope", /scope="quotes:write"/);
await check("a token without a partner", async () => {
	assert.equal((await quote(await token("urn:own", { client_id: "nobody" }))).status, 403);
});

// ops runs an operator's verb from a shell, as a client that proves itself in the
// body of its request only.
async function ops(...args) {
	const environment = { PATH: process.env.PATH, PARAPET_SERVER: ready.base_url, PARAPET_CLIENT_SECRET: "no secret here" };
	const { stdout } = await promisify(execFile)("../../bin/parapet", ["ops", ...args, "--client-id", "olive"], { env: environment });
	return JSON.parse(stdout);
}

const own = ["--token-param", "resource=urn:own"];
await check("an operator works from a shell", async () => {
	assert(Array.isArray(await ops("job-counts", ...own)));
	await ops("stop-releases", "--reason", "A drill.", ...own);
	await ops("resume-releases", "--reason", "It is over.", ...own);
	const { nodes } = await ops("audit-log", "--first", "2", ...own);
	assert.deepEqual(nodes.map((line) => [line.actor, line.operation, line.reason]), [["olive", "resumeReleases", "It is over."], ["olive", "stopReleases", "A drill."]]);
});
await check("a shell is told why it has no token, or a bad one", async () => {
	await assert.rejects(ops("job-counts", ...own, "--client-secret", "wrong"), /get a token: 401 .*invalid_client/);
	await assert.rejects(ops("job-counts", "--token-param", "resource=urn:opaque"), /token_invalid: .*not a signed JWT/);
	await assert.rejects(ops("job-counts", ...own, "--token-param", "scope=quotes:read"), /insufficient_scope: .*operator/);
});

// browse follows an address as a browser does, with its cookies, to a page.
async function browse(jar, address, form) {
	for (;;) {
		const { origin } = new URL(address);
		const known = (jar[origin] ??= {});
		const headers = { Cookie: Object.entries(known).map(([name, value]) => `${name}=${value}`).join("; ") };
		const answer = await fetch(address, { redirect: "manual", headers, ...(form && { method: "POST", body: new URLSearchParams(form) }) });
		for (const cookie of answer.headers.getSetCookie()) {
			const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie);
			known[name] = value;
		}
		if (!answer.headers.has("Location")) return { address, status: answer.status, text: await answer.text() };
		[address, form] = [new URL(answer.headers.get("Location"), address).href, undefined];
	}
}

await check("an operator signs in to the pages of the job queue", async () => {
	const jar = {};
	const login = await browse(jar, `${ready.base_url}/ops/jobs`);
	const consent = await browse(jar, login.address, { prompt: "login", login: "olive", password: "-" });
	const page = await browse(jar, consent.address, { prompt: "consent" });
	assert.deepEqual([page.status, page.address], [200, `${ready.base_url}/ops/jobs/jobs`], page.text);
	assert.match((await browse(jar, `${ready.base_url}/ops/session`)).text, /olive <button>Sign out/);
});

// tab is a browser's tab at the sandbox: it runs the page's script and keeps what the page
// may read of other origins to what they allow.
function tab(html) {
	const attribute = (name) => new RegExp(`data-${name}="([^"]*)"`).exec(html)[1].replaceAll("&#34;", '"').replaceAll("&#43;", "+");
	const kept = new Map();
	const elements = {};
	const element = () => ({ listeners: {}, addEventListener(type, then) { this.listeners[type] = then; }, replaceChildren() {}, append() {} });
	const location = { origin: ready.base_url, pathname: "/sandbox", search: "", assign: (to) => { location.left = to; } };
	const own = { location, document: {
		body: { dataset: { client: attribute("client"), scope: attribute("scope"), operatorScope: attribute("operator-scope"), params: attribute("params") } },
		getElementById: (id) => (elements[id] ??= element()), createElement: element,
	} };
	const storage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value), removeItem: (key) => kept.delete(key) };
	const crossing = async (address, options = {}) => {
		const to = new URL(address, ready.base_url);
		if (to.origin === ready.base_url) return fetch(to, options);
		const answer = await fetch(to, { ...options, headers: { ...options.headers, Origin: ready.base_url } });
		const allowed = answer.headers.get("Access-Control-Allow-Origin");
		if (allowed !== "*" && allowed !== ready.base_url) throw new TypeError(`${to} does not allow ${ready.base_url}`);
		return answer;
	};
	const rendered = {};
	const React = { createElement: (_, props) => props };
	const ReactDOM = { createRoot: () => ({ render: (props) => Object.assign(rendered, props), unmount() {} }) };
	return { ...own, elements, rendered, globals: {
		...own, sessionStorage: storage, history: { replaceState() {} }, fetch: crossing, React, ReactDOM, GraphiQL: {},
		crypto, URLSearchParams, TextEncoder, TextDecoder, TextDecoderStream, Uint8Array, btoa, atob,
	} };
}

// until waits for what a page does by itself.
async function until(what, happened) {
	for (let tries = 0; !happened(); tries++) {
		assert(tries < 100, what);
		await new Promise((done) => setTimeout(done, 50));
	}
}

// signIn signs somebody in at the sandbox and returns what the page shows them.
async function signIn(button, login) {
	const page = await fetch(`${ready.base_url}/sandbox`);
	assert.match(page.headers.get("Content-Security-Policy"), new RegExp(`connect-src 'self' ${issuer};`));
	const script = await (await fetch(`${ready.base_url}/sandbox/page.js`)).text();
	const browser = tab(await page.text());
	vm.runInNewContext(script, { ...browser.globals });
	browser.elements[button].listeners.click();
	await until("the page leaves for the issuer", () => browser.location.left);
	const jar = {};
	const form = await browse(jar, browser.location.left);
	const consent = await browse(jar, form.address, { prompt: "login", login, password: "-" });
	const back = await browse(jar, consent.address, { prompt: "consent" });
	assert(back.address.startsWith(`${ready.base_url}/sandbox?`), back.text);
	browser.location.search = new URL(back.address).search;
	vm.runInNewContext(script, { ...browser.globals });
	await until("the page has a token", () => browser.rendered.fetcher);
	const { data, errors } = await browser.rendered.fetcher({ query: "{ viewer { partner scopes } }" });
	assert(data, JSON.stringify(errors));
	return data.viewer;
}

await check("a partner and an operator sign in at the sandbox and ask with their own tokens", async () => {
	const { partner, scopes } = await signIn("enter", "ann");
	assert.deepEqual([partner, scopes.sort()], ["acme", ["quotes:read", "quotes:write"]]);
	assert.deepEqual(await signIn("enter-operator", "olive"), { partner: null, scopes: ["operator"] });
});

await check("a new key works within 30 seconds", async () => {
	const old = await kid();
	process.kill(Number(process.env.ISSUER_PID), "SIGHUP");
	const end = Date.now() + 30_000;
	const pause = () => new Promise((done) => setTimeout(done, 200));
	while ((await kid().catch(() => old)) === old) await pause();
	const second = await token("urn:own");
	assert.notEqual(part(second, 0).kid, part(first, 0).kid);
	let status;
	while ((status = (await quote(second)).status) === 401 && Date.now() < end) await pause();
	assert.equal(status, 201);
});

console.log(`outside issuer: ${checks} checks passed`);
