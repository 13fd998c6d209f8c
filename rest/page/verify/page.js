"use strict";

// Verifies receipts with the code of `parapet verify`, compiled to WebAssembly. Files are
// read here and sent nowhere; only the published keys are fetched.
const part = (id) => document.getElementById(id);
const [files, drop, keys, state, results] = ["files", "drop", "keys", "state", "results"].map(part);

function element(name, text, className) {
	const made = document.createElement(name);
	made.textContent = text;
	if (className) made.className = className;
	return made;
}

async function start() {
	const go = new Go();
	const packed = await fetch("/verify/verify.wasm.gz");
	if (!packed.ok) throw new Error(`the program cannot be loaded: ${packed.status}`);
	const program = new Response(packed.body.pipeThrough(new DecompressionStream("gzip")), { headers: { "Content-Type": "application/wasm" } });
	const { instance } = await WebAssembly.instantiateStreaming(program, go.importObject);
	go.run(instance);
	files.disabled = false;
	state.textContent = "Ready.";
}

// The keys that are trusted: the text of a document, or the thumbprint of one key.
async function trusted() {
	if (!document.querySelector("input[value=paste]").checked) {
		const published = await fetch("/.well-known/parapet-receipt-keys.json");
		if (!published.ok) throw new Error(`this server publishes no keys: ${published.status}`);
		return { keys: await published.text(), pin: "" };
	}
	const text = keys.value.trim();
	return text.startsWith("{") ? { keys: text, pin: "" } : { keys: "", pin: text };
}

function list(title, entries) {
	const block = document.createElement("details");
	block.append(element("summary", `${title} (${entries.length})`));
	const names = document.createElement("dl");
	for (const [name, text] of entries) names.append(element("dt", name), element("dd", text));
	block.append(names);
	return block;
}

function show(name, report) {
	const row = element("li", "");
	results.append(row);
	if (report.error) {
		row.className = "bad";
		row.append(element("strong", "It proves nothing"), element("p", name), element("p", report.error));
		return;
	}
	const different = report.differences.length > 0;
	const unchecked = report.not_checked.filter((remark) => remark.pointer !== "/basis" && remark.pointer !== "/history");
	row.className = different ? "bad" : unchecked.length ? "part" : "good";
	const verdict = different ? "Values differ" : unchecked.length ? "Right as far as it was checked" : "Right";
	row.append(element("strong", verdict), element("p", `${name} · the ${report.type} ${report.id}`));
	row.append(element("p", `${report.checked} values computed again · signed by ${report.key_id} (${report.key_status || "pinned"})`));
	if (different) {
		const block = list("Differences", report.differences.map((d) => [d.pointer, `states ${d.stated || "nothing"}, computed is ${d.computed || "nothing"}`]));
		block.open = true;
		row.append(block);
	}
	for (const [title, remarks] of [["Decided, not computed", report.decided], ["Not checked here", report.not_checked]]) {
		if (remarks.length) row.append(list(title, remarks.map((remark) => [remark.pointer, remark.reason])));
	}
}

async function verify(chosen) {
	results.replaceChildren();
	try {
		const trust = await trusted();
		for (const [i, file] of [...chosen].entries()) {
			state.textContent = `Verifying ${i + 1} of ${chosen.length} …`;
			await new Promise((resume) => setTimeout(resume)); // lets the page draw
			show(file.name, JSON.parse(parapetVerify(await file.text(), trust.keys, trust.pin)));
		}
		const wrong = results.querySelectorAll(".bad").length;
		state.textContent = `${chosen.length} verified, ${wrong} wrong.`;
	} catch (failure) {
		state.textContent = failure.message;
	}
}

files.addEventListener("change", () => verify(files.files));
drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
drop.addEventListener("dragleave", () => drop.classList.remove("over"));
drop.addEventListener("drop", (event) => {
	event.preventDefault();
	drop.classList.remove("over");
	if (!files.disabled) verify(event.dataTransfer.files);
});
for (const choice of document.querySelectorAll("input[name=trust]")) {
	choice.addEventListener("change", () => { keys.hidden = !document.querySelector("input[value=paste]").checked; });
}
start().catch((failure) => { state.textContent = `This page cannot verify here: ${failure.message}`; });
