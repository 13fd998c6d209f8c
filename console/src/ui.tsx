// The parts that every page is made of.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/compat";
import { type AnyVariables, type TypedDocumentNode } from "urql";
import { Link } from "wouter";
import { type Loaded, type Problem, useChange, useRead } from "./api";
import { type Amount, ago, human, money, when, zone } from "./format";
import { signIn } from "./session";
import { t } from "./texts";

export function Page({ title, lead, actions, children, back }: { title: string; lead?: ComponentChildren; actions?: ComponentChildren; children?: ComponentChildren; back?: [string, string] }) {
	const heading = useRef<HTMLHeadingElement>(null);
	useEffect(() => { document.title = `${title} · Parapet`; }, [title]);
	useEffect(() => { heading.current?.focus({ preventScroll: true }); scrollTo(0, 0); }, []);
	return (
		<>
			<header class="page-head">
				<div>
					{back && <p class="back"><Link href={back[0]}>← {back[1]}</Link></p>}
					<h1 tabIndex={-1} ref={heading}>{title}</h1>
					{lead && <p class="lead">{lead}</p>}
				</div>
				{actions && <div class="actions">{actions}</div>}
			</header>
			{children}
		</>
	);
}

export function Card({ title, children, actions, class: more = "" }: { title?: ComponentChildren; children?: ComponentChildren; actions?: ComponentChildren; class?: string }) {
	return (
		<section class={`card ${more}`}>
			{(title || actions) && <header class="card-head">{title && <h2>{title}</h2>}{actions && <div class="actions">{actions}</div>}</header>}
			{children}
		</section>
	);
}

const tones: Record<string, string> = {
	IN_FORCE: "good", ACTIVE: "good", APPROVED: "good", RECONCILED: "good", RELEASED: "good", CLOSED: "good", VERIFIED: "good", BOUND: "good", ENABLED: "good", DELIVERED: "good", COMPLETE: "good", FINAL: "good", DONE: "good", COMPLETED: "good", OK: "good",
	OPENED: "note", PENDING: "note", PRICED: "note", WAITING: "note", RELEASING: "note", SCHEDULED: "note", DECIDING: "note", PRELIMINARY: "note", CHECKING: "note", RESUMING: "note", RUNNING: "note", AVAILABLE: "note",
	BLOCKED: "bad", RETURNED: "bad", REJECTED: "bad", FAILED: "bad", REFUSED: "bad", DISCARDED: "bad", STOPPED: "bad", VIOLATED: "bad", STALE: "bad",
	DEFERRED: "warn", RECONCILING: "warn", EXHAUSTED: "warn", DISABLED: "warn", RETRYABLE: "warn", RETRACTED: "warn",
};

export const Status = ({ code, more }: { code: string; more?: string | null }) => <span class={`status ${tones[code] ?? "plain"}`}>{human(code)}{more ? ` · ${human(more)}` : ""}</span>;
export const Money = ({ of }: { of: Amount | null | undefined }) => <span class="money">{money(of)}</span>;

// When shows an instant in the zone that the reader chose, and in the other one on pointing.
export function When({ at, short, exact }: { at: string | null | undefined; short?: boolean; exact?: boolean }) {
	const where = zone.use();
	if (!at) return <>–</>;
	return <time dateTime={at} title={when(at, where === "utc" ? "local" : "utc")}>{short ? ago(at) : when(at, where, exact)}</time>;
}

export const Id = ({ id, href }: { id: string; href?: string }) => href ? <Link class="id" href={href} title={id}>{shortId(id)}</Link> : <code class="id" title={id}>{shortId(id)}</code>;
export const shortId = (id: string) => (id.length > 16 ? `${id.slice(0, 4)}…${id.slice(-8)}` : id);

export function Note({ tone = "plain", children, title }: { tone?: "plain" | "good" | "warn" | "bad"; title?: string; children?: ComponentChildren }) {
	return <div class={`notice ${tone}`} role={tone === "bad" ? "alert" : undefined}>{title && <strong>{title} </strong>}{children}</div>;
}

// Errors shows the API's sentence, and what it says about fields that the form does not show.
export function Errors({ problem, shown = [], beforeStepUp }: { problem: Problem | null; shown?: string[]; beforeStepUp?: () => void }) {
	if (!problem) return null;
	const rest = problem.fields.filter((f) => !shown.some((pointer) => f.pointer === pointer || f.pointer.startsWith(`${pointer}/`)));
	return (
		<div class="notice bad" role="alert">
			<p>{problem.offline ? t.offline.change : problem.message}</p>
			{rest.length > 0 && <ul>{rest.map((f) => <li key={f.pointer + f.detail}>{f.pointer && <code>{f.pointer}</code>} {f.detail}</li>)}</ul>}
			{problem.maxAge !== null && <p>{t.session.stepUp(Math.round(problem.maxAge / 60))} <button type="button" class="small" onClick={() => { beforeStepUp?.(); void signIn(undefined, { prompt: "login", max_age: String(problem.maxAge) }); }}>{t.session.again}</button></p>}
			{problem.requestId && <p class="faint">{t.requestId} <code>{problem.requestId}</code></p>}
		</div>
	);
}

// Load shows what a page reads: its skeleton, its problem, or its content.
export function Load<T>({ from, children }: { from: Loaded<T>; children: (data: T) => ComponentChildren }) {
	const { data, problem, again, loading } = from;
	return (
		<>
			{problem && !problem.offline && <Note tone="bad">{problem.message} <button class="link" onClick={again}>{t.tryAgain}</button></Note>}
			{data ? children(data) : loading || problem?.offline ? <div class="skeleton" role="status"><span class="hidden">{t.loading}</span><i /><i /><i /></div> : null}
		</>
	);
}

export interface Column<N> { title: string; cell: (node: N) => ComponentChildren; end?: boolean; wide?: boolean }

export function Table<N>({ rows, columns, empty, name, keyOf }: { rows: readonly N[]; columns: Column<N>[]; empty?: ComponentChildren; name: string; keyOf?: (node: N) => string }) {
	if (rows.length === 0) return <Empty>{empty ?? t.nothing}</Empty>;
	return (
		<div class="scroll" role="region" aria-label={name} tabIndex={0}>
			<table class={columns.length > 4 ? "many" : ""}>
				<caption class="hidden">{name}</caption>
				<thead><tr>{columns.map((c) => <th key={c.title} scope="col" class={c.end ? "end" : ""}>{c.title}</th>)}</tr></thead>
				<tbody>
					{rows.map((row, i) => (
						<tr key={keyOf?.(row) ?? (row as { id?: string }).id ?? i}>
							{columns.map((c) => <td key={c.title} data-title={c.title} class={`${c.end ? "end" : ""} ${c.wide ? "wide" : ""}`}><div>{c.cell(row)}</div></td>)}
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}

export const Empty = ({ children }: { children?: ComponentChildren }) => <div class="empty"><svg viewBox="0 0 48 32" aria-hidden="true"><path d="M4 30V12h8v6h6v-6h12v6h6v-6h8v18z" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linejoin="round" stroke-dasharray="3 3" /></svg><div>{children}</div></div>;

interface Connection<N> { nodes: readonly N[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } }

// List is a table that a reader pages through. A change of its variables starts at the first page.
export function List<T, V extends AnyVariables, N>(props: { query: TypedDocumentNode<T, V>; variables: V; pick: (data: T) => Connection<N> | null | undefined; columns: Column<N>[]; empty?: ComponentChildren; name: string; every?: number }) {
	const key = JSON.stringify(props.variables);
	const [pages, setPages] = useState<{ key: string; cursors: string[] }>({ key, cursors: [] });
	const cursors = pages.key === key ? pages.cursors : [];
	const after = cursors.at(-1);
	const read = useRead(props.query, { ...props.variables, ...(after ? { after } : {}) } as V, { every: after ? undefined : props.every });
	return (
		<Load from={read}>
			{(data) => {
				const page = props.pick(data);
				return (
					<>
						<Table rows={page?.nodes ?? []} columns={props.columns} empty={props.empty} name={props.name} />
						<Pager page={cursors.length} more={page?.pageInfo.hasNextPage ?? false} onPage={(next) => setPages({ key, cursors: next < cursors.length ? cursors.slice(0, -1) : [...cursors, page!.pageInfo.endCursor!] })} />
					</>
				);
			}}
		</Load>
	);
}

export function Pager({ page, more, onPage }: { page: number; more: boolean; onPage: (page: number) => void }) {
	if (page === 0 && !more) return null;
	return (
		<nav class="pager" aria-label={t.pages}>
			<button class="quiet" disabled={page === 0} onClick={() => onPage(page - 1)}>← {t.newer}</button>
			<span class="faint">{t.page(page + 1)}</span>
			<button class="quiet" disabled={!more} onClick={() => onPage(page + 1)}>{t.older} →</button>
		</nav>
	);
}

// metadataRows are the facts that a partner has attached to a record.
export const metadataRows = (metadata: Record<string, string> | null | undefined) => Object.entries(metadata ?? {}).map(([key, value]): [string, ComponentChildren] => [key, value]);

export function Facts({ rows, class: more = "" }: { rows: ([string, ComponentChildren] | null | false | "" | undefined)[]; class?: string }) {
	return <dl class={`facts ${more}`}>{rows.map((row) => row && <div key={row[0]}><dt>{row[0]}</dt><dd>{row[1] ?? "–"}</dd></div>)}</dl>;
}

export function Field({ label, hint, error, children }: { label: string; hint?: ComponentChildren; error?: string; children: (attributes: { id: string; "aria-describedby"?: string; "aria-invalid"?: "true" }) => ComponentChildren }) {
	const id = useId();
	return (
		<div class={`field ${error ? "invalid" : ""}`}>
			<label for={id}>{label}</label>
			{children({ id, ...(hint || error ? { "aria-describedby": `${id}-more` } : {}), ...(error ? { "aria-invalid": "true" as const } : {}) })}
			{(hint || error) && <p id={`${id}-more`} class="hint">{error ? <span class="error">{error}</span> : hint}</p>}
		</div>
	);
}

// fieldError is what the API says of one field of a mutation's input.
export const fieldError = (problem: Problem | null, name: string) => problem?.fields.find((f) => f.pointer === `/input/${name}`)?.detail;

type TextProps = { label: string; value: string; onValue: (value: string) => void; hint?: ComponentChildren; error?: string; type?: string; required?: boolean; autoComplete?: string; inputMode?: "decimal" | "numeric"; placeholder?: string; maxLength?: number; list?: string };

export const Text = ({ label, value, onValue, hint, error, ...more }: TextProps) => (
	<Field label={label} hint={hint} error={error}>{(a) => <input {...more} {...a} type={(more.type ?? "text") as "text"} step={more.type === "datetime-local" ? 1 : undefined} value={value} onInput={(e) => onValue(e.currentTarget.value)} />}</Field>
);

export const Area = ({ label, value, onValue, hint, error, rows = 3, ...more }: { label: string; value: string; onValue: (value: string) => void; hint?: ComponentChildren; error?: string; rows?: number; required?: boolean; spellcheck?: boolean; class?: string }) => (
	<Field label={label} hint={hint} error={error}>{(a) => <textarea {...more} {...a} rows={rows} value={value} onInput={(e) => onValue(e.currentTarget.value)} />}</Field>
);

export const Choice = ({ label, value, onValue, options, hint, error }: { label: string; value: string; onValue: (value: string) => void; options: readonly (string | readonly [string, string])[]; hint?: ComponentChildren; error?: string }) => (
	<Field label={label} hint={hint} error={error}>
		{(a) => <select {...a} value={value} onChange={(e) => onValue(e.currentTarget.value)}>{options.map((o) => { const [code, name] = typeof o === "string" ? [o, o ? human(o) : t.all] : o; return <option key={code} value={code}>{name}</option>; })}</select>}
	</Field>
);

// Modal is a native dialog that is open while it is mounted.
export function Modal({ title, onClose, children, wide }: { title: string; onClose: () => void; children?: ComponentChildren; wide?: boolean }) {
	const ref = useRef<HTMLDialogElement>(null);
	const id = useId();
	useEffect(() => {
		const before = document.activeElement as HTMLElement | null;
		if (!ref.current?.open) ref.current?.showModal();
		// The focus goes back to where it was, unless the next page has it.
		return () => void setTimeout(() => { if (document.activeElement === document.body) before?.focus(); });
	}, []);
	return (
		<dialog ref={ref} aria-labelledby={id} class={wide ? "wide" : ""} onCancel={(e) => { e.preventDefault(); onClose(); }} onClose={onClose}>
			<header class="card-head"><h2 id={id}>{title}</h2><button class="quiet" aria-label={t.close} onClick={onClose}>✕</button></header>
			{children}
		</dialog>
	);
}

// draft keeps what was typed over a reload or a new sign-in; never for accounts or files.
export function useDraft<T>(name: string, initial: T): [T, (value: T) => void, () => void] {
	const key = `parapet.draft.${name}`;
	const [value, setValue] = useState<T>(() => {
		const kept = sessionStorage.getItem(key);
		return kept ? { ...initial, ...JSON.parse(kept) } : initial;
	});
	return [
		value,
		(next) => { sessionStorage.setItem(key, JSON.stringify(next)); setValue(next); },
		() => { sessionStorage.removeItem(key); setValue(initial); },
	];
}

export interface FormField { name: string; label: string; kind?: "text" | "area" | "choice" | "check"; options?: readonly (string | readonly [string, string])[]; hint?: string; required?: boolean; initial?: string; secret?: boolean; type?: string }

const actKey = "parapet.act";

// takeAct returns what was typed into a form before a sign-in that it needed.
function takeAct(title: string): Record<string, string> | undefined {
	const kept = JSON.parse(sessionStorage.getItem(actKey) ?? "null");
	if (kept?.path !== location.pathname || kept.title !== title) return undefined;
	sessionStorage.removeItem(actKey);
	return kept.values;
}

// Act is a button that opens a form of a mutation: its fields, the API's errors, and done.
export function Act<T, V extends { input: any }>({ name, title, tone = "", mutation, fields = [], input, onDone, lead, confirm, disabled, hidden }: {
	hidden?: boolean; name: string; title?: string; tone?: string; mutation: TypedDocumentNode<T, V>; fields?: FormField[]; input: (values: Record<string, string>) => V["input"] | string; onDone?: (data: T) => void; lead?: ComponentChildren; confirm?: string; disabled?: boolean;
}) {
	const [kept] = useState(() => takeAct(title ?? name));
	const [open, setOpen] = useState(kept !== undefined);
	if (hidden && !open) return null;
	return (
		<>
			<button class={tone} disabled={disabled} onClick={() => setOpen(true)}>{name}</button>
			{open && <ActForm title={title ?? name} tone={tone} confirm={confirm ?? name} {...{ kept, mutation, fields, input, lead }} onClose={() => setOpen(false)} onDone={(data) => { setOpen(false); onDone?.(data); }} />}
		</>
	);
}

function ActForm<T, V extends { input: any }>({ title, tone, mutation, fields, input, lead, confirm, onClose, onDone, kept }: {
	kept?: Record<string, string>; title: string; tone: string; mutation: TypedDocumentNode<T, V>; fields: FormField[]; input: (values: Record<string, string>) => V["input"] | string; lead?: ComponentChildren; confirm: string; onClose: () => void; onDone: (data: T) => void;
}) {
	const change = useChange(mutation);
	const first = Object.fromEntries(fields.map((f) => [f.name, f.initial ?? (f.kind === "choice" ? (typeof f.options?.[0] === "string" ? f.options[0] : (f.options?.[0]?.[0] ?? "")) : "")]));
	const [values, setValues] = useState<Record<string, string>>({ ...first, ...kept });
	const [own, setOwn] = useState("");
	const keep = () => sessionStorage.setItem(actKey, JSON.stringify({ path: location.pathname, title, values }));
	const submit = async (event: Event) => {
		event.preventDefault();
		const made = input(values);
		if (typeof made === "string") return setOwn(made);
		setOwn("");
		const data = await change.run(made as V["input"]);
		if (data) onDone(data);
	};
	return (
		<Modal title={title} onClose={onClose}>
			<form onSubmit={submit} noValidate={false}>
				{lead && <div class="lead">{lead}</div>}
				{fields.map((f) => {
					const shared = { label: f.label, hint: f.hint, error: fieldError(change.problem, f.name), value: values[f.name], onValue: (value: string) => setValues({ ...values, [f.name]: value }) };
					if (f.kind === "area") return <Area key={f.name} {...shared} required={f.required} />;
					if (f.kind === "choice") return <Choice key={f.name} {...shared} options={f.options ?? []} />;
					if (f.kind === "check") return <label key={f.name} class="check"><input type="checkbox" checked={values[f.name] === "yes"} onChange={(e) => shared.onValue(e.currentTarget.checked ? "yes" : "")} /> {f.label}</label>;
					return <Text key={f.name} {...shared} type={f.type} required={f.required} autoComplete="off" />;
				})}
				{own && <Note tone="bad">{own}</Note>}
				<Errors problem={change.problem} shown={fields.map((f) => `/input/${f.name}`)} beforeStepUp={keep} />
				<div class="actions end"><button type="button" class="quiet" onClick={onClose}>{t.cancel}</button><button class={tone || "primary"} disabled={change.busy}>{change.busy ? t.working : confirm}</button></div>
			</form>
		</Modal>
	);
}

export function Tabs({ value, onValue, options, name }: { value: string; onValue: (value: string) => void; options: readonly (readonly [string, string])[]; name: string }) {
	return <div class="tabs" role="group" aria-label={name}>{options.map(([code, label]) => <button key={code} aria-pressed={code === value} onClick={() => onValue(code)}>{label}</button>)}</div>;
}

export function Copy({ text }: { text: string }) {
	const [done, setDone] = useState(false);
	return <button type="button" class="quiet small" onClick={async () => { await navigator.clipboard.writeText(text); setDone(true); setTimeout(() => setDone(false), 1500); }}>{done ? t.copied : t.copy}</button>;
}

export const Json = ({ of }: { of: unknown }) => <pre class="json" tabIndex={0}>{JSON.stringify(of, null, 2)}</pre>;
