// Builds the console into dist: hashed assets, compressed with gzip and brotli, the page, the
// manifest of its GraphQL documents and a digest of the sources. `node build.mjs --check`
// builds into a temporary folder and fails when the committed folder differs.
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { formatDocument, stringifyDocument } from "@urql/core";
import { parse } from "graphql";
import { build } from "vite";

const root = fileURLToPath(new URL(".", import.meta.url));
const check = process.argv.includes("--check");
const out = check ? mkdtempSync(join(tmpdir(), "console-")) : join(root, "dist");

function filesOf(folder) {
	return readdirSync(folder, { withFileTypes: true, recursive: true })
		.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name)).sort();
}

const sources = [...filesOf(join(root, "src")), ...["build.mjs", "index.html", "package-lock.json"].map((name) => join(root, name))];

// The digest that console_test.go computes too: the SHA-256 of "<sha256>  <path>\n" lines.
function digest() {
	const lines = sources.map((file) => [relative(root, file), createHash("sha256").update(readFileSync(file)).digest("hex")])
		.sort(([a], [b]) => (a < b ? -1 : 1)).map(([path, sum]) => `${sum}  ${path}\n`);
	return createHash("sha256").update(lines.join("")).digest("hex");
}

// The documents as the client sends them: a server that runs trusted documents only trusts these.
function documents() {
	const found = {};
	for (const file of sources.filter((name) => name.endsWith(".tsx") || name.endsWith(".ts"))) {
		for (const [, text] of readFileSync(file, "utf8").matchAll(/\bgraphql\(`([^`]*)`\)/g)) {
			const node = parse(text);
			for (const sent of [stringifyDocument(node), stringifyDocument(formatDocument(node))]) found[createHash("sha256").update(sent).digest("hex")] = sent;
		}
	}
	return found;
}

const compat = { react: "preact/compat", "react-dom": "preact/compat", "react/jsx-runtime": "preact/jsx-runtime" };
await build({
	root, base: "/console/", configFile: false, logLevel: "warn",
	resolve: { alias: { "use-sync-external-store/shim/index.js": "preact/compat", ...compat } },
	oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
	build: { outDir: out, emptyOutDir: true, target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false }, reportCompressedSize: false },
});
for (const file of filesOf(join(out, "assets"))) {
	const content = readFileSync(file);
	writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
	writeFileSync(`${file}.br`, brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length } }));
	rmSync(file);
}
writeFileSync(join(out, "documents.json"), `${JSON.stringify(documents())}\n`);
writeFileSync(join(out, "sources.sha256"), `${digest()}\n`);

if (check) {
	const read = (folder) => filesOf(folder).map((file) => `${relative(folder, file)} ${createHash("sha256").update(readFileSync(file)).digest("hex")}`);
	const [fresh, committed] = [read(out), read(join(root, "dist"))];
	rmSync(out, { recursive: true });
	const differ = fresh.filter((line) => !committed.includes(line));
	if (differ.length > 0 || fresh.length !== committed.length) {
		console.error("console/dist is not what its sources build: run `make console` and commit it\n" + differ.join("\n"));
		process.exit(1);
	}
}
