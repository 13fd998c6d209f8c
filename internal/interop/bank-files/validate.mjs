// Validates what the rail of ISO 20022 writes and what its tests read against the
// schemas of the very versions, and counts; then shows that the schemas refuse.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { validateXML } from "xmllint-wasm";

const samples = new URL("../../../jobs/rail/iso20022/testdata/", import.meta.url);
let checks = 0;

// judge is what xmllint says of a file, by the schema that its namespace names.
async function judge(fileName, contents) {
	const message = contents.match(/urn:iso:std:iso:20022:tech:xsd:([a-z]+\.[0-9.]+)"/)?.[1];
	const schema = readFileSync(new URL(`${message}.xsd`, import.meta.url), "utf8");
	const { valid, rawOutput } = await validateXML({ xml: [{ fileName, contents }], schema: [schema] });
	checks++;
	return { valid, rawOutput };
}

const files = readdirSync(samples).filter((name) => name.endsWith(".xml"));
for (const name of files) {
	const contents = readFileSync(new URL(name, samples), "utf8");
	const { valid, rawOutput } = await judge(name, contents);
	assert(valid, rawOutput);
	// What breaks a sum of parts breaks the structure too: without its first
	// required leaf, or with one that does not exist, no message is valid.
	for (const broken of [contents.replace(/<MsgId>[^<]*<\/MsgId>/, ""), contents.replace("</GrpHdr>", "<Xyz/></GrpHdr>"), contents.replace(/Ccy="[A-Z]{3}"/, 'Ccy="eur"')]) {
		assert.notEqual(broken, contents, name);
		assert(!(await judge(name, broken)).valid, `${name} is valid when broken`);
	}
}
assert(files.some((name) => name.startsWith("pain.001")) && files.length >= 6, `only ${files} were judged`);
console.log(`bank files: ${checks} checks passed of ${files.length} messages`);
