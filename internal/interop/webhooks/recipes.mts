// The lines that the manual prints for those without a library, as they stand in
// the document that the running server serves.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ready } from "../partner.mjs";

// Received is one delivery as it came in.
export interface Received {
	headers: Record<string, string>;
	body: Buffer;
}

// Judge says of each delivery whether it is genuine under the secret.
export type Judge = (secret: string, deliveries: Received[]) => boolean[];

// printed is the block of a language that verifies, wherever the document has it.
async function printed(language: string): Promise<string> {
	const text = JSON.stringify(await (await fetch(`${ready.base_url}/v1/openapi.json`)).json());
	const strings = [...text.matchAll(/"(?:[^"\\]|\\.)*"/g)].map(([literal]) => JSON.parse(literal) as string);
	const blocks = strings.flatMap((s) => [...s.matchAll(new RegExp("```" + language + "\n([^`]*(?:`(?!``)[^`]*)*)```", "g"))].map(([, block]) => block ?? ""));
	const recipes = [...new Set(blocks.filter((block) => block.includes("webhook-signature")))];
	if (recipes.length !== 1) throw new Error(`the document has ${recipes.length} recipes in ${language}`);
	return recipes[0] ?? "";
}

// folder is where they are written: beside what was compiled.
const folder = import.meta.dirname;

export async function javascript(): Promise<Judge> {
	const file = join(folder, "recipe.mjs");
	writeFileSync(file, await printed("js"));
	const { verify } = (await import(pathToFileURL(file).href)) as { verify: (secret: string, headers: object, body: Buffer) => boolean };
	return (secret, deliveries) => deliveries.map(({ headers, body }) => verify(secret, headers, body));
}

const harness = `
import base64, json, sys
from recipe import verify
given = json.load(sys.stdin)
print(json.dumps([verify(given["secret"], one["headers"], base64.b64decode(one["body"])) for one in given["deliveries"]]))
`;

// python is null where there is no Python of at least 3.9.
export async function python(): Promise<Judge | null> {
	if (spawnSync("python3", ["-c", "import sys; sys.exit(sys.version_info < (3, 9))"]).status !== 0) return null;
	writeFileSync(join(folder, "recipe.py"), await printed("python"));
	return (secret, deliveries) => {
		const given = { secret, deliveries: deliveries.map(({ headers, body }) => ({ headers, body: body.toString("base64") })) };
		const { status, stdout, stderr } = spawnSync("python3", ["-c", harness], { input: JSON.stringify(given), env: { ...process.env, PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: "1" } });
		if (status !== 0) throw new Error(`the recipe in Python: ${stderr.toString()}`);
		return JSON.parse(stdout.toString()) as boolean[];
	};
}
