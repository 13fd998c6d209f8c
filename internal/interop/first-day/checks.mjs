// What a newcomer does with the issuer of the page.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const server = JSON.parse(process.env.PARAPET).base_url;
const issuer = process.env.OIDC_ISSUER;
let checks = 0;

async function check(what, test) {
	try {
		await test();
	} catch (cause) {
		throw new Error(what, { cause });
	}
	checks++;
}

// parapet runs the program as a person with a settings folder of their own; seen gets
// what it has printed so far.
async function parapet(folder, args, seen = () => {}) {
	const child = spawn("../../bin/parapet", args, { env: { PATH: process.env.PATH, XDG_CONFIG_HOME: folder } });
	let text = "";
	for (const stream of [child.stdout, child.stderr]) {
		stream.on("data", (chunk) => {
			text += chunk;
			seen(text);
		});
	}
	const [code] = await once(child, "close");
	return { code, text };
}

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

// consent signs in and agrees at the issuer's forms.
async function consent(jar, page, login) {
	const agree = await browse(jar, page.address, { prompt: "login", login, password: "-" });
	return browse(jar, agree.address, { prompt: "consent" });
}

// pressOn sends a form with what it already holds.
async function pressOn(jar, page) {
	const action = /<form[^>]+action="([^"]+)"/.exec(page.text)[1];
	const hidden = [...page.text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
	return browse(jar, new URL(action, page.address).href, Object.fromEntries(hidden.map(([, name, value]) => [name, value])));
}

// signIn runs parapet login, and acts at the address that it prints.
async function signIn(folder, args, login) {
	let acting;
	const act = async (address) => {
		const jar = {};
		let page = await browse(jar, address);
		if (args.includes("--device")) page = await pressOn(jar, await pressOn(jar, page));
		return consent(jar, page, login);
	};
	const { code, text } = await parapet(folder, ["login", "--server", server, ...args], (text) => {
		const address = /(?:Sign in at\s+|Or open )(http\S+)\n/.exec(text)?.[1];
		if (address) acting ??= act(address);
	});
	assert.equal(code, 0, text);
	await acting;
	return text;
}

async function stored(folder) {
	const [name, ...others] = await readdir(join(folder, "parapet"));
	assert.deepEqual(others, []);
	const file = join(folder, "parapet", name);
	assert.equal((await stat(file)).mode & 0o777, 0o600);
	return { file, login: JSON.parse(await readFile(file, "utf8")) };
}

const ask = async (folder, ...args) => {
	const { code, text } = await parapet(folder, ["ops", ...args]);
	assert.equal(code, 0, text);
	return JSON.parse(text);
};

await check("a partner asks for its first quote by the lines of the page", async () => {
	const page = await readFile("../../rest/first-day.md", "utf8");
	const lines = /```sh\n([^]*?)```/.exec(page)[1];
	const environment = { PATH: process.env.PATH, BASE: server, CLIENT_ID: "acme", CLIENT_SECRET: process.env.ACME_SECRET };
	const { stdout } = await promisify(execFile)("sh", ["-euc", lines], { env: environment });
	const { status, premium } = JSON.parse(stdout);
	assert.equal(status, "priced");
	assert(premium.amount > 0);
});

const [olive, ann, dora] = await Promise.all(["olive", "ann", "dora"].map((name) => mkdtemp(join(tmpdir(), `parapet-${name}-`))));
await check("an operator signs in with a browser", async () => {
	assert.match(await signIn(olive, [], "olive"), /Signed in at \S+ as olive \(operator\)/);
	const { login } = await stored(olive);
	assert.deepEqual([login.server, login.issuer, login.refresh_token], [server, issuer, undefined]);
	assert.deepEqual((await ask(olive, "partners")).nodes.map((partner) => partner.slug), ["acme", "globex"]);
});
await check("an operator signs in on another device", async () => {
	await signIn(dora, ["--device"], "dora");
	assert.equal((await ask(dora, "viewer")).name, "dora");
});
await check("a partner's login is renewed, and its refresh token works once", async () => {
	assert.match(await signIn(ann, ["--partner"], "ann"), /partner acme/);
	const { file, login } = await stored(ann);
	await writeFile(file, JSON.stringify({ ...login, expires_at: "2020-01-01T00:00:00Z" }));
	assert.equal((await ask(ann, "viewer")).partner, "acme");
	const renewed = (await stored(ann)).login;
	assert.notEqual(renewed.access_token, login.access_token);
	assert.notEqual(renewed.refresh_token, login.refresh_token);
});
await check("logout revokes at the issuer", async () => {
	const { login } = await stored(ann);
	for (const folder of [olive, ann, dora]) {
		const { code, text } = await parapet(folder, ["logout"]);
		assert.equal(code, 0, text);
		assert.deepEqual(await readdir(join(folder, "parapet")), []);
		await rm(folder, { recursive: true });
	}
	const form = { grant_type: "refresh_token", refresh_token: login.refresh_token, client_id: "console" };
	const answer = await fetch(`${issuer}/token`, { method: "POST", body: new URLSearchParams(form) });
	assert.equal((await answer.json()).error, "invalid_grant");
});

console.log(`first day: ${checks} checks passed`);
