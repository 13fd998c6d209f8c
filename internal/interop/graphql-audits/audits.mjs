// Runs every audit with a token, names those that fail with the answer they got,
// and counts. Then it reads the schema as every console does.
import assert from "node:assert/strict";
import { buildClientSchema, getIntrospectionQuery } from "graphql";
import { auditServer } from "graphql-http";

const all = 61;
const ready = JSON.parse(process.env.PARAPET);
const { token } = ready.clients.find((client) => client.name === "acme");

const asAcme = (url, init = {}) => fetch(url, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } });
const results = await auditServer({ url: ready.graphql_url, fetchFn: asAcme });

const good = results.filter(({ status }) => status === "ok");
for (const { id, name, status, reason, response } of results) {
	if (status === "ok") continue;
	console.log(`${status} ${id} ${name}: ${reason}`);
	if (response) console.log(`  ${response.status} ${response.headers.get("content-type")} ${await response.clone().text().catch(() => "")}`);
}
console.log(`graphql-http: ${good.length} of ${results.length} audits`);

const answer = await asAcme(ready.graphql_url, {
	method: "POST",
	headers: { "content-type": "application/json" },
	body: JSON.stringify({ query: getIntrospectionQuery({ inputValueDeprecation: true, specifiedByUrl: true, oneOf: false }) }),
});
const { data, errors } = await answer.json();
assert(errors === undefined, JSON.stringify(errors));
console.log(`introspection: ${Object.keys(buildClientSchema(data).getTypeMap()).length} types`);
process.exit(good.length === all && results.length === all ? 0 : 1);
