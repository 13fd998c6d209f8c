"use strict";

// Draws the document of this server. The renderer is served from here too, so
// that the page works without any other address.
const text = "system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', 'DejaVu Sans', sans-serif";
const code = "ui-monospace, 'Cascadia Mono', Menlo, 'Liberation Mono', 'DejaVu Sans Mono', monospace";

const options = {
	disableSearch: false,
	downloadDefinitionUrl: "/v1/openapi.json",
	expandResponses: "200,201",
	hideDownloadButton: false,
	jsonSampleExpandLevel: 3,
	nativeScrollbars: true,
	pathInMiddlePanel: false,
	requiredPropsFirst: true,
	schemaExpansionLevel: 1,
	theme: {
		breakpoints: { medium: "60rem", large: "80rem" },
		colors: {
			primary: { main: "#0b5d66" },
			text: { primary: "#1d2a30", secondary: "#51646d" },
			http: { get: "#1f7a5c", post: "#0b5d9a" },
			border: { dark: "#d5dee2", light: "#e8eef0" },
		},
		typography: {
			fontSize: "15px", lineHeight: "1.6", fontFamily: text,
			headings: { fontFamily: text, fontWeight: "600" },
			code: { fontFamily: code, fontSize: "13px", color: "#0b5d66", backgroundColor: "#eef4f5", wrap: true },
			links: { color: "#0b5d66" },
		},
		sidebar: { backgroundColor: "#f5f8f9", textColor: "#1d2a30", width: "17rem" },
		rightPanel: { backgroundColor: "#16262d", width: "38%" },
	},
};

// The headers that every answer has are explained once, under Conventions; below
// each answer they would hide what is its own.
const everywhere = /^(x-request-id|traceparent|ratelimit.*)$/i;

function withoutCommonHeaders(reference) {
	const operations = Object.values({ ...reference.paths, ...reference.webhooks }).flatMap(Object.values);
	const answers = [...Object.values(reference.components.responses), ...operations.flatMap((o) => Object.values(o.responses))];
	for (const answer of answers) {
		for (const name of Object.keys(answer.headers ?? {})) {
			if (everywhere.test(name)) delete answer.headers[name];
		}
		if (answer.headers && Object.keys(answer.headers).length === 0) delete answer.headers;
	}
	delete reference.info.license;
	return reference;
}

fetch("/v1/openapi.json")
	.then((answer) => answer.json())
	.then((reference) => Redoc.init(withoutCommonHeaders(reference), options, document.getElementById("reference")));
