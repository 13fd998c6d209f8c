// Sign-in with the authorization code flow and PKCE (RFC 7636). The tokens live in memory
// only: after a reload the browser visits the issuer again, which usually returns at once.
import { base, config } from "./config";
import { store } from "./store";
import { t } from "./texts";

export type Role = "partner" | "operator";
interface Session { token: string; expiresAt: number; refresh?: string }
interface Pending { state: string; verifier: string; path: string; role: Role }

let session: Session | null = null;

// phase is what the shell shows: lost means that the token is no longer accepted.
export const phase = store<"starting" | "out" | "in" | "lost">("starting");
export const problem = store("");

const pendingKey = "parapet.pending", roleKey = "parapet.role";
const redirect = location.origin + base;

function base64url(bytes: ArrayBuffer | Uint8Array): string {
	return btoa(String.fromCharCode(...new Uint8Array(bytes as ArrayBuffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

export function lastRole(): Role | null {
	return sessionStorage.getItem(roleKey) as Role | null;
}

export async function signIn(role: Role = lastRole() ?? "partner", extra: Record<string, string> = {}): Promise<void> {
	const pending: Pending = { state: random(), verifier: random(), path: location.pathname === base ? base : location.pathname + location.search, role };
	sessionStorage.setItem(pendingKey, JSON.stringify(pending));
	const challenge = base64url(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(pending.verifier)));
	const address = new URL(config.authorization);
	const wanted = {
		...config.params, ...extra, response_type: "code", client_id: config.client, redirect_uri: redirect, state: pending.state,
		scope: role === "operator" ? config.operator_scope : config.scope, code_challenge: challenge, code_challenge_method: "S256",
	};
	for (const [name, value] of Object.entries(wanted)) address.searchParams.set(name, value);
	location.assign(address);
}

export function signOut(): void {
	session = null;
	sessionStorage.clear();
	phase.set("out");
	history.replaceState(null, "", base);
}

export function sessionLost(): void {
	session = null;
	if (phase.get() === "in") phase.set("lost");
}

async function redeem(form: Record<string, string>): Promise<void> {
	const answer = await fetch(config.token, { method: "POST", body: new URLSearchParams({ ...config.params, client_id: config.client, ...form }) });
	const body = await answer.json().catch(() => ({}));
	if (!answer.ok || typeof body.access_token !== "string") throw new Error(body.error_description || body.error || `${config.token}: ${answer.status}`);
	session = { token: body.access_token, refresh: body.refresh_token, expiresAt: Date.now() + (Number(body.expires_in) || 300) * 1000 };
}

// finish ends a sign-in that the issuer has sent back: the address carries a code.
async function finish(): Promise<boolean> {
	const result = new URLSearchParams(location.search);
	if (location.pathname !== base || (!result.has("code") && !result.has("error"))) return false;
	const pending: Pending | null = JSON.parse(sessionStorage.getItem(pendingKey) ?? "null");
	sessionStorage.removeItem(pendingKey);
	history.replaceState(null, "", pending?.path ?? base);
	if (!pending || result.get("state") !== pending.state || (result.get("iss") ?? config.issuer) !== config.issuer) throw new Error(t.signIn.notAsked);
	if (result.has("error")) throw new Error(result.get("error_description") || result.get("error")!);
	await redeem({ grant_type: "authorization_code", code: result.get("code")!, redirect_uri: redirect, code_verifier: pending.verifier });
	sessionStorage.setItem(roleKey, pending.role);
	return true;
}

export async function start(): Promise<void> {
	try {
		if (await finish()) return phase.set("in");
		if (lastRole()) return await signIn();
	} catch (e) {
		sessionStorage.removeItem(roleKey);
		problem.set(e instanceof Error ? e.message : String(e));
	}
	phase.set("out");
}

let refreshing: Promise<void> | null = null;

// token returns a token that is valid now; empty when the session has ended.
export async function token(): Promise<string> {
	if (session?.refresh && Date.now() > session.expiresAt - 60_000) {
		refreshing ??= redeem({ grant_type: "refresh_token", refresh_token: session.refresh }).catch(sessionLost).finally(() => { refreshing = null; });
		await refreshing;
	}
	return session?.token ?? "";
}
