// A console that stays open: everything over one WebSocket with npm's graphql-ws,
// then the same over server-sent events with graphql-sse, and who is not let in.
import { once } from "node:events";
import { createClient as createStream, NetworkError } from "graphql-sse";
import { createClient, type Client } from "graphql-ws";
import WebSocket from "ws";
import { check, passed, ready, token, until } from "../partner.mjs";

const address = ready.graphql_url.replace("http", "ws");
const bearer = { acme: `Bearer ${await token("acme")}`, globex: `Bearer ${await token("globex")}`, source: `Bearer ${await token("source")}` };

interface Entry {
	sequence: number;
	kind: string;
	summary: string;
}
interface Happened {
	sequence: number;
	type: string;
	hash: string;
	subject: { id: string };
}

const timeline = "subscription Story($claimId: ID!, $after: Long) { claimTimeline(claimId: $claimId, afterSequence: $after) { sequence kind summary } }";
const events = "subscription Feed($after: Long, $types: [EventType!], $subject: ID) { events(afterSequence: $after, types: $types, subject: $subject) { sequence type hash subject { id } } }";

type Result<T> = { data?: T | null | undefined; errors?: readonly { extensions?: { [name: string]: unknown } }[] | undefined };

// must unwraps an answer that has to be a success.
function must<T>({ data, errors }: Result<T>): T {
	check(data != null && errors === undefined, `refused: ${JSON.stringify(errors)}`);
	return data;
}

const code = ({ errors }: Result<unknown>) => errors?.[0]?.extensions?.["code"];

// ask is the one answer of a query or a mutation over a socket.
async function ask<T>(client: Client, query: string, variables: Record<string, unknown> = {}): Promise<Result<T>> {
	for await (const result of client.iterate<T>({ query, variables })) return result;
	throw new Error("no answer came");
}

// hear collects a subscription until its last word, and then lets it go.
async function hear<T>(stream: AsyncIterable<Result<T>>, last: (word: T) => boolean): Promise<T[]> {
	const heard: T[] = [];
	for await (const result of stream) {
		const word = must(result);
		heard.push(word);
		if (last(word)) break;
	}
	return heard;
}

let pongs = 0;
let sockets = 0;
const acme = createClient({
	url: address,
	webSocketImpl: WebSocket,
	connectionParams: { Authorization: bearer.acme },
	lazy: false,
	keepAlive: 200,
	retryWait: () => Promise.resolve(),
	on: { pong: () => pongs++, connected: () => sockets++ },
});

const { viewer } = must(await ask<{ viewer: { partner: string } }>(acme, "{ viewer { partner } }"));
check(viewer.partner === "acme", "the socket is acme's");
type Quoted = { createQuote: { quote: { id: string; cover: { limit: { currency: string }; place: { latitude: number; longitude: number } } } } };
const quoteIt = "mutation($input: CreateQuoteInput!) { createQuote(input: $input) { quote { id cover { limit { currency } place { latitude longitude } } } } }";
const { quote } = must(await ask<Quoted>(acme, quoteIt, { input: { product: "quake-circle", context: { partner: "acme" } } })).createQuote;

const feed = (after: number, more = {}) => acme.iterate<{ events: Happened }>({ query: events, variables: { after, ...more } });
const live = hear(feed(0), ({ events: event }) => event.type === "POLICY_ACTIVATED");
type Bound = { bindPolicy: { policy: { id: string; effectiveAt: string } } };
const { policy } = must(await ask<Bound>(acme, "mutation($id: ID!) { bindPolicy(input: { quoteId: $id }) { policy { id effectiveAt } } }", { id: quote.id })).bindPolicy;
const early = (await live).map(({ events: event }) => event);
check(early[0]?.type === "QUOTE_CREATED" && early.some((event) => event.type === "QUOTE_BOUND"), "the feed tells of the quote and its binding");
check(early.every((event, i) => event.sequence === i + 1), "and counts 1, 2, 3 …");

// The source speaks by a single request of server-sent events.
const options = { url: ready.graphql_url, retryAttempts: 0 };
const source = createStream({ ...options, headers: { Authorization: bearer.source } });
const quake = {
	source: "usgs",
	sourceEventId: "story-quake",
	kind: "EARTHQUAKE",
	stage: "FINAL",
	occurredAt: new Date(Math.max(Date.now(), Date.parse(policy.effectiveAt) + 1)).toISOString(),
	location: quote.cover.place,
	measures: [{ name: "magnitude", value: "7.4", unit: "mw" }],
};
const record = "mutation($input: RecordObservationsInput!) { recordObservations(input: $input) { results { result } } }";
for await (const result of source.iterate<{ recordObservations: { results: { result: string }[] } }>({ query: record, variables: { input: { observations: [quake] } } })) {
	check(must(result).recordObservations.results[0]?.result === "CREATED", "the quake is recorded");
}

const opened = await hear(feed(early.length, { types: ["CLAIM_OPENED"] }), () => true);
check(opened.length === 1 && opened[0]?.events.type === "CLAIM_OPENED", "the feed tells of the claim, and of nothing else when asked for that");
const claimId = opened[0].events.subject.id;

// One listener hears the claim's story from its beginning while it happens.
type Told = { claimTimeline: Entry };
const paid = ({ claimTimeline: entry }: Told) => entry.kind === "PAYOUT_RELEASED";
const telling = hear(acme.iterate<Told>({ query: timeline, variables: { claimId } }), paid);
const input = { claimId, type: "IBAN", currency: quote.cover.limit.currency, beneficiary: { name: "Lin Mei-hua", country: "DE" }, iban: { iban: "DE89370400440532013000" } };
must(await ask(acme, "mutation($input: RecordPayoutMethodInput!) { recordPayoutMethod(input: $input) { payoutMethod { id } } }", { input }));
const story = (await telling).map(({ claimTimeline: entry }) => entry);
check(story.length > 3 && story.every((entry, i) => entry.sequence === i + 1), "the story counts 1, 2, 3 …");

// Whoever comes again after a sequence hears what follows, once, over either way.
const rest = JSON.stringify(story.slice(2));
const again = await hear(acme.iterate<Told>({ query: timeline, variables: { claimId, after: 2 } }), paid);
check(JSON.stringify(again.map(({ claimTimeline: entry }) => entry)) === rest, "resumed over a WebSocket, nothing is lost or comes twice");
const streams = createStream({ ...options, headers: { Authorization: bearer.acme } });
const third = await hear(streams.iterate<Told>({ query: timeline, variables: { claimId, after: 2 } }), paid);
check(JSON.stringify(third.map(({ claimTimeline: entry }) => entry)) === rest, "nor over server-sent events");
const all = await hear(streams.iterate<{ events: Happened }>({ query: events, variables: { after: 0 } }), ({ events: event }) => event.type === "PAYOUT_RELEASED");
check(all.every(({ events: event }, i) => event.sequence === i + 1), "server-sent events tell the whole feed without gaps");
check(early.every((event, i) => event.hash === all[i]?.events.hash), "and the same events as the WebSocket");
const about = await hear(streams.iterate<{ events: Happened }>({ query: events, variables: { subject: claimId } }), ({ events: event }) => event.type === "CLAIM_APPROVED");
check(about.every(({ events: event }) => event.subject.id === claimId), "asked for one record, the feed tells of it alone");

// A line that breaks: the client comes back by itself and subscribes again.
const seen: number[] = [];
const dispose = acme.subscribe<{ events: Happened }>(
	{ query: events, variables: { after: 0, types: ["QUOTE_CREATED"] } },
	{ next: (result) => seen.push(must(result).events.sequence), error: (wrong) => check(false, JSON.stringify(wrong)), complete: () => {} },
);
await until("the first quote", () => seen[0]);
acme.terminate();
await until("the quote again, on a second socket", () => (sockets === 2 && seen.length > 1 ? true : undefined));
dispose();
check(seen.join() === "1,1", "the broken line gave the same event again");
await until("a pong", () => pongs || undefined);

// Who may not hear.
const globex = createClient({ url: address, webSocketImpl: WebSocket, connectionParams: { Authorization: bearer.globex }, retryAttempts: 0 });
const foreign = await new Promise((done) => globex.subscribe<Told>({ query: timeline, variables: { claimId } }, { next: done, error: done, complete: () => {} }));
const refusals = (Array.isArray(foreign) ? { errors: foreign } : foreign) as Result<unknown>;
check(code(refusals) === "not_found", `another partner's story is not found: ${JSON.stringify(foreign)}`);
await globex.dispose();

// closed is the code a socket is closed with, by the library or after one message.
async function closed(connectionParams: Record<string, unknown>): Promise<number> {
	const client = createClient({ url: address, webSocketImpl: WebSocket, connectionParams, retryAttempts: 0 });
	const end = await new Promise((done) => client.subscribe({ query: events }, { next: () => done({ code: 0 }), error: done, complete: () => done({ code: 0 }) }));
	return (end as { code: number }).code;
}
check((await closed({ Authorization: "Bearer not.a.token" })) === 4403, "a wrong token is forbidden");
check((await closed({})) === 4403, "no token is forbidden");

async function raw(protocol: string, ...messages: object[]): Promise<number> {
	const socket = new WebSocket(address, protocol);
	await once(socket, "open");
	for (const message of messages) socket.send(JSON.stringify(message));
	return (await once(socket, "close"))[0] as number;
}
const greeting = { type: "connection_init", payload: { Authorization: bearer.acme } };
const subscribe = { id: "1", type: "subscribe", payload: { query: events } };
check((await raw("graphql-transport-ws", subscribe)) === 4401, "who subscribes before a greeting is unauthorised");
check((await raw("graphql-transport-ws", greeting, greeting)) === 4429, "who greets twice is sent away");
check((await raw("graphql-transport-ws", greeting, subscribe, subscribe)) === 4409, "an id is taken once");
check((await raw("graphql-transport-ws", { type: "hello" })) === 4400, "an unknown message is a bad request");

// refusal is what a stream that may not begin is refused with.
async function refusal(authorization: string): Promise<unknown> {
	try {
		const stream = createStream({ ...options, headers: { Authorization: authorization } });
		for await (const result of stream.iterate({ query: events })) return code(result as Result<unknown>);
	} catch (wrong) {
		return wrong instanceof NetworkError ? wrong.response?.status : wrong;
	}
	return undefined;
}
check((await refusal("Bearer not.a.token")) === 401, "a wrong token gets no stream");
const scopeless = await refusal(bearer.source);
check(scopeless === "insufficient_scope", `nor one without the scope: ${String(scopeless)}`);

await acme.dispose();
streams.dispose();
source.dispose();
passed("subscriptions");
