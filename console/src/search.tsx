// Find a record by its id or a reference. What is typed never enters the address bar.
import { useState } from "preact/compat";
import { Link } from "wouter";
import { graphql, useRead } from "./api";
import { human } from "./format";
import { address } from "./lines";
import { t } from "./texts";
import { Empty, Load, Modal, shortId } from "./ui";

const searchQuery = graphql(`query Search($text: String!) { search(text: $text) { id object partner match } }`);

export function Search() {
	const [text, setText] = useState(""), [asked, setAsked] = useState("");
	return (
		<form class="find" role="search" onSubmit={(e) => { e.preventDefault(); setAsked(text.trim()); }}>
			<input type="search" aria-label={t.find.label} placeholder={t.find.label} value={text} maxLength={255} autoComplete="off" onInput={(e) => setText(e.currentTarget.value)} />
			{asked && <Results text={asked} onClose={() => setAsked("")} />}
		</form>
	);
}

function Results({ text, onClose }: { text: string; onClose: () => void }) {
	const read = useRead(searchQuery, { text });
	return (
		<Modal title={t.find.title(text)} onClose={onClose}>
			<Load from={read}>
				{({ search }) => (search?.length ? (
					<ul class="rows">{search.map((r) => {
						const to = r.object === "occurrence" ? `/map/${r.id}` : address(r.object, r.id);
						return <li key={r.id}><span>{human(r.object)} {to ? <Link class="id" href={to} onClick={onClose}>{shortId(r.id)}</Link> : <code>{r.id}</code>}</span><span class="faint">{[r.partner, human(r.match)].filter(Boolean).join(" · ")}</span></li>;
					})}</ul>
				) : <Empty>{t.find.none}</Empty>)}
			</Load>
		</Modal>
	);
}
