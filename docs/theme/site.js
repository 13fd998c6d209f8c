// The documentation works without this program. It adds: dark mode, the navigation on
// small screens, tabs, copy buttons, colours of code, and the search.
"use strict";

const root = document.documentElement;
const stored = {
	get(name) { try { return localStorage.getItem(name); } catch { return null; } },
	set(name, value) { try { localStorage.setItem(name, value); } catch { /* private mode */ } },
};
if (stored.get("theme")) root.dataset.theme = stored.get("theme"); // before anything is painted

function make(tag, attributes = {}, ...children) {
	const node = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
	node.append(...children);
	return node;
}

function setUpTheme() {
	const button = document.querySelector(".theme");
	const isDark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
	const show = () => button.setAttribute("aria-pressed", isDark());
	button.addEventListener("click", () => {
		root.dataset.theme = isDark() ? "light" : "dark";
		stored.set("theme", root.dataset.theme);
		show();
	});
	show();
}

function setUpMenu() {
	const button = document.querySelector(".menu"), side = document.querySelector(".side");
	const open = (isOpen) => {
		side.classList.toggle("open", isOpen);
		button.setAttribute("aria-expanded", isOpen);
	};
	button.addEventListener("click", () => open(!side.classList.contains("open")));
	document.addEventListener("keydown", (event) => { if (event.key === "Escape") open(false); });
	const current = side.querySelector("[aria-current]");
	if (current) side.scrollTop = current.offsetTop - side.offsetTop - side.clientHeight / 3;
}

// Tabs with the same titles change together, on this page and on the next ones.
function setUpTabs() {
	const groups = [];
	document.querySelectorAll(".tabs").forEach((group, number) => {
		const sections = [...group.children];
		const list = make("div", { class: "tablist", role: "tablist", "aria-label": "Examples" });
		const buttons = sections.map((section, i) => {
			const id = `tab-${number}-${i}`;
			const button = make("button", { type: "button", role: "tab", id, "aria-controls": `${id}-panel` }, section.dataset.tab);
			section.id = `${id}-panel`;
			section.setAttribute("role", "tabpanel");
			section.setAttribute("aria-labelledby", id);
			return button;
		});
		const select = (title) => {
			const chosen = Math.max(0, sections.findIndex((section) => section.dataset.tab === title));
			sections.forEach((section, i) => {
				section.hidden = i !== chosen;
				buttons[i].setAttribute("aria-selected", i === chosen);
				buttons[i].tabIndex = i === chosen ? 0 : -1;
			});
		};
		const key = sections.map((section) => section.dataset.tab).join(",");
		const choose = (i) => {
			const before = buttons[i].getBoundingClientRect().top;
			groups.filter((other) => other.key === key).forEach((other) => other.select(sections[i].dataset.tab));
			scrollBy({ top: buttons[i].getBoundingClientRect().top - before, behavior: "instant" });
			stored.set(`tab:${key}`, sections[i].dataset.tab);
		};
		buttons.forEach((button, i) => {
			button.addEventListener("click", () => choose(i));
			button.addEventListener("keydown", (event) => {
				const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
				if (!step) return;
				const next = (i + step + buttons.length) % buttons.length;
				choose(next);
				buttons[next].focus();
			});
		});
		list.append(...buttons);
		group.prepend(list);
		groups.push({ key, select });
		select(stored.get(`tab:${key}`));
	});
}

function setUpCopying() {
	for (const pre of document.querySelectorAll("pre")) {
		const button = make("button", { type: "button", class: "copy" }, "Copy");
		button.addEventListener("click", async () => {
			await navigator.clipboard.writeText(pre.textContent);
			button.textContent = "Copied";
			setTimeout(() => { button.textContent = "Copy"; }, 1500);
		});
		const box = make("div", { class: "code" });
		pre.replaceWith(box);
		box.append(pre, button);
	}
}

// Code is coloured by ranges of the CSS Custom Highlight API, which need no elements.
const comment = { sh: "#[^\\n]*", python: "#[^\\n]*", go: "//[^\\n]*", ts: "//[^\\n]*", js: "//[^\\n]*", yaml: "#[^\\n]*" };
const keywords = {
	sh: "if|then|else|fi|for|in|do|done|while|export|curl|jq",
	python: "import|from|def|return|if|elif|else|for|while|in|not|and|or|with|as|try|except|raise|class|None|True|False|lambda|break",
	go: "package|import|func|return|if|else|for|range|var|const|type|struct|map|string|int|int64|any|error|nil|true|false|defer|switch|case|break|continue",
	ts: "import|from|export|const|let|function|return|if|else|for|of|while|async|await|new|throw|try|catch|type|interface|null|true|false|as|break",
	json: "true|false|null", graphql: "query|mutation|subscription|fragment|on|true|false|null",
};
keywords.js = keywords.ts;

function colourCode() {
	if (!CSS.highlights) return;
	const found = { keyword: [], string: [], number: [], name: [], comment: [] };
	for (const code of document.querySelectorAll("pre > code")) {
		const language = code.parentElement.dataset.lang, text = code.firstChild;
		if (!text || !keywords[language]) continue;
		const quoted = language === "sh" ? `"(?:[^"\\\\]|\\\\.)*"` : `"(?:[^"\\\\\\n]|\\\\.)*"|'(?:[^'\\\\\\n]|\\\\.)*'|\`[^\`]*\``;
		const pattern = new RegExp([
			comment[language] ? `(?<comment>(?<![^\\s])${comment[language]})` : "(?<comment>$^)",
			language === "json" ? `(?<name>"[^"\\n]*"(?=:))` : "(?<name>\\$\\{?\\w+\\}?|\\b\\w+(?=\\())",
			`(?<string>${quoted})`, "(?<number>\\b\\d[\\d_.]*\\b)", `(?<keyword>\\b(?:${keywords[language]})\\b)`,
		].join("|"), "g");
		for (const match of text.data.matchAll(pattern)) {
			const kind = Object.keys(found).find((name) => match.groups[name] !== undefined);
			const range = new Range();
			range.setStart(text, match.index);
			range.setEnd(text, match.index + match[0].length);
			found[match.groups.keyword ? "keyword" : kind].push(range);
		}
	}
	for (const [kind, ranges] of Object.entries(found)) CSS.highlights.set(kind, new Highlight(...ranges));
}

// The entry of the heading that is being read is marked in "On this page".
function followHeadings() {
	const entries = new Map([...document.querySelectorAll(".toc a")].map((a) => [decodeURIComponent(a.hash.slice(1)), a]));
	const headings = [...entries.keys()].map((id) => document.getElementById(id)).filter(Boolean);
	const mark = () => {
		const read = headings.findLast((h) => h.getBoundingClientRect().top < 120) ?? headings[0];
		for (const [id, a] of entries) a.classList.toggle("here", id === read.id);
	};
	if (!headings.length) return;
	new IntersectionObserver(mark, { rootMargin: "-100px 0px -60% 0px", threshold: [0, 1] }).observe(headings[0]);
	let isWaiting = false;
	addEventListener("scroll", () => {
		if (isWaiting) return;
		isWaiting = true;
		requestAnimationFrame(() => { isWaiting = false; mark(); });
	}, { passive: true });
	mark();
}

// rank returns how well an entry [address, page, heading, text] matches all words.
function rank([, page, heading, text], words) {
	const fields = [[page.toLowerCase(), heading ? 4 : 12], [heading.toLowerCase(), 8], [text.toLowerCase(), 1]];
	let total = 0;
	for (const word of words) {
		let best = 0;
		for (const [field, weight] of fields) {
			const at = field.indexOf(word);
			if (at < 0) continue;
			const begins = at === 0 || /[^\p{L}\d]/u.test(field[at - 1]);
			best = Math.max(best, weight * (field === word ? 3 : begins ? 2 : 1));
		}
		if (!best) return 0;
		total += best;
	}
	return total;
}

function setUpSearch() {
	const input = make("input", { type: "search", placeholder: "Search the documentation", "aria-label": "Search the documentation", role: "combobox", "aria-expanded": "true", "aria-controls": "found", autocomplete: "off", spellcheck: "false" });
	const list = make("ul", { id: "found", role: "listbox", "aria-label": "Results" });
	const dialog = make("dialog", { "aria-label": "Search" }, input, list);
	let index, chosen = 0;
	const mark = () => [...list.children].forEach((item, i) => {
		item.setAttribute("aria-selected", i === chosen);
		if (i !== chosen) return;
		input.setAttribute("aria-activedescendant", item.id);
		item.scrollIntoView({ block: "nearest" });
	});
	const show = () => {
		const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
		const results = !words.length ? [] : index.map((entry) => [rank(entry, words), entry]).filter(([points]) => points).sort((a, b) => b[0] - a[0]).slice(0, 20);
		list.replaceChildren(...results.map(([, [address, page, heading, text]], i) => {
			const item = make("li", { role: "option", id: `result-${i}`, "data-to": address }, make("b", {}, heading ? `${page} › ${heading}` : page), make("span", {}, text));
			item.addEventListener("click", () => go(address));
			return item;
		}));
		if (words.length && !results.length) list.append(make("li", { role: "option", "aria-disabled": "true" }, `Nothing has "${input.value}".`));
		chosen = 0;
		mark();
	};
	const go = (address) => { dialog.close(); location.href = address; };
	const open = async () => {
		if (dialog.open) return;
		if (!dialog.isConnected) document.body.append(dialog);
		dialog.showModal();
		input.select();
		index ??= await (await fetch("/docs/search.json")).json();
		show();
	};
	input.addEventListener("input", () => index && show());
	input.addEventListener("keydown", (event) => {
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (step) {
			chosen = Math.max(0, Math.min(list.children.length - 1, chosen + step));
			mark();
			event.preventDefault();
		} else if (event.key === "Enter" && list.children[chosen]?.dataset.to) go(list.children[chosen].dataset.to);
	});
	dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
	document.querySelector(".search").addEventListener("click", open);
	document.addEventListener("keydown", (event) => {
		const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
		if (event.key === "/" && !isTyping || event.key === "k" && (event.metaKey || event.ctrlKey)) {
			event.preventDefault();
			open();
		}
	});
}

addEventListener("DOMContentLoaded", () => {
	if (!document.querySelector(".top")) return;
	for (const setUp of [setUpTheme, setUpMenu, setUpCopying, setUpTabs, colourCode, followHeadings, setUpSearch]) setUp();
});
