"use strict";

// Signs somebody in at the issuer that this server trusts (authorization code
// with PKCE, RFC 7636) and lets GraphiQL ask with their token. The token lives as
// long as the tab and is sent to this server alone.
const here = location.origin + location.pathname;
const { client, scope, operatorScope } = document.body.dataset;
const params = JSON.parse(document.body.dataset.params); // that this issuer needs in both requests
const element = (id) => document.getElementById(id);
const show = (id, visible) => { element(id).hidden = !visible; };

function explain(problem) {
	element("problem").textContent = problem;
	show("problem", problem !== "");
}

function base64url(bytes) {
	return btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

async function read(address, options) {
	const answer = await fetch(address, options).catch((e) => {
		throw new Error(`${address} cannot be read (${e.message}). The issuer must run and allow this page's origin ${location.origin} by CORS`);
	});
	if (!answer.ok) throw new Error(`${address} answers ${answer.status}`);
	return answer.json();
}

// issuer is where tokens come from: RFC 9728 names it, and it describes itself.
async function issuer() {
	const { authorization_servers: issuers } = await read("/.well-known/oauth-protected-resource");
	if (!issuers?.length) throw new Error("this server names no issuer");
	return read(issuers[0].replace(/\/$/, "") + "/.well-known/openid-configuration");
}

async function enter(scope) {
	const found = await issuer();
	const pending = { state: random(), verifier: random(), issuer: found.issuer, endpoint: found.token_endpoint };
	sessionStorage.setItem("pending", JSON.stringify(pending));
	const challenge = base64url(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(pending.verifier)));
	location.assign(found.authorization_endpoint + "?" + new URLSearchParams({
		...params, response_type: "code", client_id: client, redirect_uri: here, scope, state: pending.state,
		code_challenge: challenge, code_challenge_method: "S256",
	}));
}

// back ends a sign-in: the address carries a code, which is good for one token.
async function back() {
	const result = new URLSearchParams(location.search);
	const pending = JSON.parse(sessionStorage.getItem("pending") ?? "null");
	if (!result.has("code") && !result.has("error")) return;
	sessionStorage.removeItem("pending");
	history.replaceState(null, "", here);
	if (result.get("state") !== pending?.state || (result.get("iss") ?? pending.issuer) !== pending.issuer) throw new Error("it was not asked for here; sign in again");
	if (result.has("error")) throw new Error(result.get("error_description") || result.get("error"));
	const granted = await read(pending.endpoint, {
		method: "POST",
		body: new URLSearchParams({
			...params, grant_type: "authorization_code", client_id: client, code: result.get("code"), redirect_uri: here, code_verifier: pending.verifier,
		}),
	});
	sessionStorage.setItem("token", granted.access_token);
}

// claims of a token, for the header of this page; the server judges it.
function claims(token) {
	try {
		const part = token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
		return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(part), (c) => c.charCodeAt(0))));
	} catch {
		return {};
	}
}

function leave(problem = "") {
	sessionStorage.removeItem("token");
	explain(problem);
	arrange();
}

// events reads a subscription, which comes as server-sent events.
async function* events(answer) {
	const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
	for (let text = ""; ;) {
		const { value, done } = await reader.read();
		if (done) return;
		const blocks = (text + value).split("\n\n");
		text = blocks.pop();
		for (const block of blocks) {
			const lines = block.split("\n");
			const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5)).join("\n").trim();
			if (data !== "" && lines.some((line) => /^event: ?next$/.test(line))) yield JSON.parse(data);
		}
	}
}

async function ask(request, { headers = {} } = {}) {
	const answer = await fetch("/graphql", {
		method: "POST",
		headers: {
			"Content-Type": "application/json",
			Accept: /^\s*subscription\b/m.test(request.query) ? "text/event-stream" : "application/graphql-response+json, application/json;q=0.9",
			...headers,
			Authorization: "Bearer " + sessionStorage.getItem("token"),
		},
		body: JSON.stringify(request),
	});
	if (answer.headers.get("Content-Type")?.startsWith("text/event-stream")) return events(answer);
	const result = await answer.json();
	if (answer.status === 401) leave(result.errors?.[0]?.message ?? "Your token is not accepted any more.");
	return result;
}

let root = null;

async function arrange() {
	const token = sessionStorage.getItem("token");
	show("welcome", !token);
	show("leave", Boolean(token));
	element("who").replaceChildren();
	if (!token) {
		root?.unmount();
		root = null;
		element("console").replaceChildren();
		return;
	}
	const { sub, partner } = claims(token);
	const name = document.createElement("b");
	name.textContent = sub ?? "somebody";
	element("who").append(name, partner && partner !== sub ? ` for ${partner}` : "");
	const tabs = await read("/sandbox/examples.json");
	for (const tab of tabs) tab.query = tab.query.replaceAll('"acme"', JSON.stringify(partner ?? "acme"));
	root ??= ReactDOM.createRoot(element("console"));
	root.render(React.createElement(GraphiQL, { fetcher: ask, defaultTabs: tabs, shouldPersistHeaders: false, isHeadersEditorEnabled: true, defaultEditorToolsVisibility: "variables" }));
}

for (const [button, asked] of [["enter", scope], ["enter-operator", operatorScope]]) {
	element(button).addEventListener("click", () => enter(asked).catch((e) => explain(`You cannot sign in: ${e.message}.`)));
}
element("leave").addEventListener("click", () => leave());
element("token-form").addEventListener("submit", (event) => {
	event.preventDefault();
	sessionStorage.setItem("token", element("token").value.trim());
	event.target.reset();
	explain("");
	arrange();
});
back().catch((e) => explain(`You are not signed in: ${e.message}.`)).then(arrange);
