// What every partner's program here begins with: where the server is, a token, and
// a count of what held.
import assert from "node:assert/strict";

interface Ready {
	base_url: string;
	graphql_url: string;
	token_url: string;
	clients: { name: string; client_id: string; client_secret: string }[];
}

export const ready = JSON.parse(process.env["PARAPET"] ?? "") as Ready;
let checks = 0;

export function check(holds: boolean, what: string): asserts holds {
	assert(holds, what);
	checks++;
}

// passed says how much held, at the end.
export function passed(who: string): void {
	console.log(`${who}: ${checks} checks passed`);
}

// token signs in by RFC 6749's client credentials.
export async function token(name: string): Promise<string> {
	const account = ready.clients.find((c) => c.name === name);
	assert(account, `no client ${name}`);
	const basic = Buffer.from(`${account.client_id}:${account.client_secret}`).toString("base64");
	const answer = await fetch(ready.token_url, {
		method: "POST",
		headers: { Authorization: `Basic ${basic}` },
		body: new URLSearchParams({ grant_type: "client_credentials" }),
	});
	check(answer.status === 200, `token for ${name}: ${answer.status}`);
	const { access_token } = (await answer.json()) as { access_token: string };
	return access_token;
}

// until asks again until there is an answer, for at most 20 seconds. However
// often it asked, it is one check.
export async function until<T>(what: string, ask: () => Promise<T | undefined> | T | undefined): Promise<T> {
	const before = checks;
	for (const end = Date.now() + 20_000; Date.now() < end; await new Promise((done) => setTimeout(done, 100))) {
		const answer = await ask();
		if (answer !== undefined) {
			checks = before + 1;
			return answer;
		}
	}
	throw new Error(`waited in vain for ${what}`);
}
