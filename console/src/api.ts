// The client of /graphql, with what every page needs: tokens, waiting when the server asks
// for it, and reading again after a change or a lost connection.
import { initGraphQLTada } from "gql.tada";
import { createClient as createFeedClient } from "graphql-sse";
import { useCallback, useEffect, useRef, useState } from "preact/compat";
import { type AnyVariables, cacheExchange, Client, type CombinedError, fetchExchange, stringifyDocument, type TypedDocumentNode, useQuery } from "urql";
import type { introspection } from "../.generated/graphql-env";
import { sessionLost, token } from "./session";
import { store } from "./store";

export const graphql = initGraphQLTada<{
	introspection: introspection;
	scalars: { Long: number; DateTime: string; Duration: string; Decimal: string; JSON: any; Metadata: Record<string, string>; MetadataChange: Record<string, string | null> };
}>();

export const online = store(true);

// epoch changes when records may have changed: mounted queries then read again.
export const epoch = store(0);
export const touch = () => epoch.set(epoch.get() + 1);

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

// send is fetch with the token. A server that is busy says when to come back.
export async function send(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
	for (let turn = 0; ; turn++) {
		const headers = new Headers(init.headers);
		headers.set("Authorization", `Bearer ${await token()}`);
		let answer: Response;
		try {
			answer = await fetch(input, { ...init, headers });
		} catch (e) {
			if (!init.signal?.aborted) online.set(false);
			throw e;
		}
		online.set(true);
		if (answer.status === 401 && !answer.headers.get("WWW-Authenticate")?.includes("insufficient_user_authentication")) sessionLost();
		if (answer.status !== 429 || turn === 3) return answer;
		await pause(1000 * Math.min(10, Number(answer.headers.get("Retry-After")) || 1));
	}
}

export const client = new Client({ url: "/graphql", exchanges: [cacheExchange, fetchExchange], fetch: send, preferGetMethod: false, requestPolicy: "cache-and-network" });

export interface FieldProblem { pointer: string; code: string; detail: string }
export interface Problem { message: string; code: string; fields: FieldProblem[]; offline: boolean; requestId: string; maxAge: number | null }

// toProblem is what to show of an error: the API's own sentence, and the fields it names.
export function toProblem(error: CombinedError | undefined): Problem | null {
	if (!error) return null;
	const first = error.graphQLErrors[0];
	const extensions = (first?.extensions ?? {}) as { code?: string; errors?: FieldProblem[]; request_id?: string; max_age?: number };
	return {
		message: first?.message ?? "", code: extensions.code ?? "", fields: extensions.errors ?? [], offline: Boolean(error.networkError) && !first, requestId: extensions.request_id ?? "", maxAge: extensions.code === "insufficient_user_authentication" ? (extensions.max_age ?? 0) : null,
	};
}

export interface Loaded<T> { data: T | undefined; problem: Problem | null; loading: boolean; again: () => void }

// useRead reads a document, again after each change and once a lost connection is back.
// Until then the page keeps what it read before.
export function useRead<T, V extends AnyVariables>(query: TypedDocumentNode<T, V>, variables: V, options: { every?: number; pause?: boolean } = {}): Loaded<T> {
	const [result, execute] = useQuery<T, V>({ query, variables, pause: options.pause } as Parameters<typeof useQuery<T, V>>[0]);
	const now = epoch.use();
	const seen = useRef(now);
	const again = useCallback(() => execute({ requestPolicy: "network-only" }), [execute]);
	useEffect(() => {
		if (seen.current !== now && !options.pause) again();
		seen.current = now;
	}, [now]);
	// The hook forgets its data when a reading fails, and the failure when the next reading
	// begins: only an answer or another failure replaces what is kept here.
	const last = useRef<{ key?: number; data?: T; problem: Problem | null }>({ problem: null });
	const key = result.operation?.key ?? last.current.key, failed = toProblem(result.error);
	if (last.current.key !== key) last.current = { key, problem: null };
	if (failed || result.data !== undefined) last.current = { key, data: failed?.offline ? last.current.data : result.data, problem: failed };
	const { data, problem } = last.current;
	const wait = problem?.offline ? 3000 : options.every;
	useEffect(() => {
		if (!wait || options.pause) return;
		const timer = setInterval(again, wait);
		return () => clearInterval(timer);
	}, [wait, again, options.pause]);
	return { data, problem, loading: result.fetching, again };
}

// useChange sends a mutation. The same input after a lost connection is the same request:
// the server then does it once.
export function useChange<T, V extends { input: any }>(mutation: TypedDocumentNode<T, V>) {
	const [state, setState] = useState<{ busy: boolean; problem: Problem | null }>({ busy: false, problem: null });
	const last = useRef({ body: "", id: "" });
	const run = useCallback(async (input: V["input"]): Promise<T | null> => {
		const body = JSON.stringify(input);
		if (last.current.body !== body) last.current = { body, id: crypto.randomUUID() };
		setState({ busy: true, problem: null });
		const result = await client.mutation(mutation, { input: { ...input, clientMutationId: last.current.id } } as V).toPromise();
		const problem = toProblem(result.error);
		if (!problem?.offline) last.current = { body: "", id: "" };
		setState({ busy: false, problem });
		if (problem) return null;
		touch();
		return result.data ?? null;
	}, [mutation]);
	const clear = useCallback(() => setState({ busy: false, problem: null }), []);
	return { run, clear, ...state };
}

const headQuery = graphql(`query FeedHead($filter: EventFilter) { events(first: 1, filter: $filter) { totalCount totalCountExceeded } }`);

// lastSequence is the sequence of a partner's newest event. A count ends at 10,000, so the
// end of a longer feed is searched in steps that double and halve.
export async function lastSequence(partner?: string): Promise<number> {
	for (let low = 0, step = 0; ; ) {
		const answer = await client.query(headQuery, { filter: { afterSequence: low + step, ...(partner ? { partner } : {}) } }, { requestPolicy: "network-only" }).toPromise();
		const events = answer.data?.events;
		if (!events) return 0;
		if (events.totalCountExceeded) [low, step] = [low + step, step ? step * 2 : 10_000];
		else if (events.totalCount > 0 || step === 0) return low + step + events.totalCount;
		else step = Math.floor(step / 2);
	}
}

const feedClient = createFeedClient({ url: "/graphql", headers: async () => ({ Authorization: `Bearer ${await token()}` }), retryAttempts: 0 });

// follow reads a subscription until stop is called. After a broken connection it goes on
// where it was: resume gives the variables of the next attempt.
export function follow<T, V extends AnyVariables>(document: TypedDocumentNode<T, V>, resume: () => V, receive: (data: T) => void, onLive: (live: boolean) => void = () => {}): () => void {
	let stopped = false, stop = () => {};
	const query = stringifyDocument(document);
	void (async () => {
		for (let wait = 1000; !stopped; wait = Math.min(30_000, wait * 2)) {
			await new Promise<void>((done) => {
				stop = feedClient.subscribe<T>({ query, variables: resume() as Record<string, unknown> }, {
					next(message) {
						if (message.data) receive(message.data as T);
						wait = 1000;
						onLive(true);
					},
					error: () => done(),
					complete: () => done(),
				});
			});
			onLive(false);
			if (!stopped) await pause(wait);
		}
	})();
	return () => { stopped = true; stop(); };
}
