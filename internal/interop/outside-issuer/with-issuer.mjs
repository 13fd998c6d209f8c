// with-issuer COMMAND…: runs a command beside an oidc-provider of its own, whose
// address it finds in $OIDC_ISSUER. SIGHUP to $ISSUER_PID restarts the issuer at
// the same address with another key.
import { spawn } from "node:child_process";
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";

// The provider warns of what is meant here: plain http, and a Node older than
// the newest. Errors still show.
console.info = console.warn = () => {};
const { Provider } = await import("oidc-provider");

const audience = process.env.PARAPET_AUDIENCE;
const scope = process.env.ISSUER_SCOPE ?? "quotes:read quotes:write operator";
// A person's partner is a claim of the token; the operator Olive has none.
const partners = { acme: "acme", ann: "acme" };

// resources are what tokens can be asked for, by their resource indicator.
const resources = {
	"urn:own": { audience, scope, accessTokenFormat: "jwt", jwt: { sign: { alg: "ES256" } } },
	"urn:other": { audience: "another-service", scope, accessTokenFormat: "jwt", jwt: { sign: { alg: "ES256" } } },
	"urn:opaque": { audience, scope, accessTokenFormat: "opaque" },
};

const client = { client_secret: "no secret here", token_endpoint_auth_method: "client_secret_post", redirect_uris: [], response_types: [], id_token_signed_response_alg: "ES256" };

function provider(issuer) {
	const made = new Provider(issuer, {
		...(process.env.ISSUER_TOKEN_LIFETIME && { ttl: { AccessToken: Number(process.env.ISSUER_TOKEN_LIFETIME) } }),
		issueRefreshToken: (_, asking) => asking.grantTypeAllowed("refresh_token"),
		jwks: { keys: [{ ...generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" }), kid: randomUUID(), alg: "ES256", use: "sig" }] },
		scopes: ["openid", ...scope.split(" ")],
		clients: [
			{ ...client, client_id: "acme", grant_types: ["client_credentials"], scope },
			{ ...client, client_id: "nobody", grant_types: ["client_credentials"], scope },
			{ ...client, client_id: "olive", grant_types: ["client_credentials"], scope },
			// The operators' pages and the sandbox: on this machine, at any port.
			{ client_id: "console", application_type: "native", token_endpoint_auth_method: "none", grant_types: ["authorization_code", "refresh_token"], redirect_uris: ["http://127.0.0.1/ops/callback", "http://127.0.0.1/sandbox", "http://127.0.0.1/console"], id_token_signed_response_alg: "ES256" },
			// An ID token's audience is its client: this one is called like the service,
			// so that nothing but its kind speaks against its ID tokens.
			{ ...client, client_id: audience, grant_types: ["urn:openid:params:grant-type:ciba"], scope: "openid", backchannel_token_delivery_mode: "poll" },
		],
		findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
		extraTokenClaims: (_, token) => {
			const partner = partners[token.accountId ?? token.clientId];
			return partner && { partner };
		},
		// The sandbox redeems its code in the browser, from another origin.
		clientBasedCORS: (_, origin, asking) => asking.clientId === "console" && new URL(origin).hostname === "127.0.0.1",
		enabledJWA: { idTokenSigningAlgValues: ["ES256"] },
		features: {
			clientCredentials: { enabled: true },
			devInteractions: { enabled: true }, // forms that believe every name
			resourceIndicators: { enabled: true, getResourceServerInfo: (_, indicator) => resources[indicator] },
			// Gives real ID tokens without a browser: everybody consents at once. The
			// binding message becomes the nonce that a browser's request would carry.
			ciba: {
				enabled: true,
				deliveryModes: ["poll"],
				processLoginHint: (_, hint) => hint,
				validateBindingMessage: () => {},
				validateRequestContext: () => {},
				verifyUserCode: () => {},
				triggerAuthenticationDevice: async (ctx, request, account, { clientId }) => {
					const grant = new made.Grant({ accountId: account.accountId, clientId });
					grant.addOIDCScope("openid");
					await grant.save();
					request.nonce = ctx.oidc.params.binding_message;
					await made.backchannelResult(request, grant, { acr: "0" });
				},
			},
		},
	});
	return made.callback();
}

let answer = (_, response) => response.destroy();
const server = createServer((request, response) => answer(request, response)).listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address();
const issuer = `http://127.0.0.1:${port}`;
answer = provider(issuer);

process.on("SIGHUP", async () => {
	const closed = once(server, "close");
	server.close();
	server.closeAllConnections();
	await closed;
	answer = provider(issuer);
	server.listen(port, "127.0.0.1");
});

const [command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: "inherit", env: { ...process.env, OIDC_ISSUER: issuer, ISSUER_PID: String(process.pid) } });
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
const [status] = await once(child, "exit");
process.exit(status ?? 1);
