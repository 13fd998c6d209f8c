// A token issuer to try Parapet with: npm's oidc-provider. It has two clients, acme (a
// partner) and operator, whose common secret is ISSUER_CLIENT_SECRET, and pages where
// people sign in without a password. Never let it issue tokens for real money.
//
// ISSUER_URL is the address that Parapet has in OIDC_ISSUER; ISSUER_LISTEN (127.0.0.1:3000)
// is where it listens. ISSUER_KEY names the file of its signing key, which it creates.
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";

console.info = console.warn = () => {}; // it warns of plain http and of the sign-in pages
const { Provider } = await import("oidc-provider");

const { ISSUER_URL, ISSUER_CLIENT_SECRET, ISSUER_LISTEN = "127.0.0.1:3000", ISSUER_KEY = "issuer-key.json", PARAPET_URL = "http://127.0.0.1:8080", PARAPET_AUDIENCE = "parapet" } = process.env;
if (!ISSUER_URL || !ISSUER_CLIENT_SECRET) {
	console.error("set ISSUER_URL and ISSUER_CLIENT_SECRET");
	process.exit(2);
}
if (!existsSync(ISSUER_KEY)) {
	const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
	writeFileSync(ISSUER_KEY, JSON.stringify({ ...privateKey.export({ format: "jwk" }), kid: randomUUID(), alg: "ES256", use: "sig" }), { mode: 0o600 });
}

const partnerScopes = ["quotes", "policies", "claims", "payout_methods", "webhooks"].flatMap((noun) => [`${noun}:read`, `${noun}:write`])
	.filter((scope) => scope !== "payout_methods:read").concat("payouts:read", "products:read", "events:read");
const scopes = [...partnerScopes, "operator"];
const partners = { acme: "acme", ann: "acme" }; // everybody else who signs in is an operator
const machine = {
	client_secret: ISSUER_CLIENT_SECRET, grant_types: ["client_credentials"], redirect_uris: [], response_types: [],
	token_endpoint_auth_method: "client_secret_basic", id_token_signed_response_alg: "ES256",
};
const api = { audience: PARAPET_AUDIENCE, scope: scopes.join(" "), accessTokenFormat: "jwt", jwt: { sign: { alg: "ES256" } } };
const provider = new Provider(ISSUER_URL, {
	jwks: { keys: [JSON.parse(readFileSync(ISSUER_KEY))] },
	scopes: ["openid", "offline_access", ...scopes],
	clients: [
		{ ...machine, client_id: "acme", scope: partnerScopes.join(" ") },
		{ ...machine, client_id: "operator", scope: "operator" },
		{
			client_id: "console", token_endpoint_auth_method: "none", application_type: "native", grant_types: ["authorization_code"],
			redirect_uris: ["/console", "/sandbox", "/ops/callback"].map((path) => PARAPET_URL + path), id_token_signed_response_alg: "ES256",
		},
	],
	findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
	extraTokenClaims: (_, token) => {
		const partner = partners[token.accountId ?? token.clientId];
		return partner && { partner };
	},
	clientBasedCORS: (_, origin) => origin === new URL(PARAPET_URL).origin,
	enabledJWA: { idTokenSigningAlgValues: ["ES256"] },
	features: {
		clientCredentials: { enabled: true },
		devInteractions: { enabled: true },
		resourceIndicators: { enabled: true, defaultResource: () => "urn:parapet", getResourceServerInfo: () => api },
	},
});
const [, host, port] = /^(.*):(\d+)$/.exec(ISSUER_LISTEN);
const server = provider.listen(Number(port), host, () => console.log(`issuer ${ISSUER_URL} listens on ${ISSUER_LISTEN}`));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => { server.close(); server.closeAllConnections(); });
