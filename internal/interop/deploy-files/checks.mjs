// Reads the files of internal/deploy as the programs do that they are for: the manifests
// against the models of Kubernetes, compose.yaml against the schema of compose (in the folder
// of its Go module, the argument), and the rules with the grammar of PromQL.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { parser } from "@prometheus-io/lezer-promql";
import Ajv from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { parse, parseAllDocuments } from "yaml";

const folder = new URL("../../deploy/", import.meta.url);
const read = (name) => readFileSync(new URL(name, folder), "utf8");

// The manifests.
const objects = readdirSync(new URL("kubernetes/", folder)).flatMap((name) => parseAllDocuments(read(`kubernetes/${name}`), { strict: true }).map((document) => {
	assert.deepEqual(document.errors, [], name);
	return document.toJS();
}));
const kinds = {};
for (const object of objects) {
	const models = await import(`kubernetes-models/${object.apiVersion}`);
	assert(models[object.kind], `${object.apiVersion} has no ${object.kind}`);
	new models[object.kind](object).validate();
	(kinds[object.kind] ??= []).push(object);
}
// The compiler also refuses members that do not exist.
const literals = objects.map(({ apiVersion, kind, ...rest }, index) => `export const object${index}: import("kubernetes-models/${apiVersion}").I${kind} = ${JSON.stringify({ apiVersion, kind, ...rest })};\n`);
writeFileSync(new URL("manifests.ts", import.meta.url), literals.join(""));
execFileSync("node_modules/.bin/tsc", ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2022", "manifests.ts"], { cwd: new URL(".", import.meta.url), stdio: "inherit" });
rmSync(new URL("manifests.ts", import.meta.url));
assert.deepEqual([kinds.Deployment.length, kinds.Job.length, kinds.PodDisruptionBudget.length, kinds.NetworkPolicy.length], [2, 1, 2, 1]);
for (const { kind, spec, metadata } of [...kinds.Deployment, ...kinds.Job]) {
	const { labels } = spec.template.metadata, pod = spec.template.spec, [container] = pod.containers;
	assert.equal(pod.securityContext.runAsNonRoot, true, metadata.name);
	assert.equal(pod.securityContext.seccompProfile.type, "RuntimeDefault", metadata.name);
	assert.deepEqual(container.securityContext, { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } }, metadata.name);
	assert(container.resources.limits.memory, metadata.name);
	for (const { configMapRef, secretRef } of container.envFrom) {
		const name = configMapRef?.name ?? secretRef.name;
		assert(kinds[configMapRef ? "ConfigMap" : "Secret"].some((other) => other.metadata.name === name), `${metadata.name} reads ${name}, which is not here`);
	}
	if (kind !== "Deployment") continue;
	assert.deepEqual(spec.selector.matchLabels, labels, metadata.name);
	assert(pod.terminationGracePeriodSeconds >= 30, `${metadata.name}: a process needs 25 seconds to end`);
	assert(container.livenessProbe && container.readinessProbe, `${metadata.name} has no probes`);
	assert(kinds.PodDisruptionBudget.some((budget) => budget.spec.selector.matchLabels.component === labels.component), metadata.name);
}

// compose.yaml, with a value for every secret of its example.
const secrets = Object.fromEntries([...read("compose/example.env").matchAll(/^(\w+)=/gm)].map(([, name]) => [name, "secret"]));
const text = read("compose.yaml").replace(/\$\{(\w+):\?\}/g, (_, name) => {
	assert(secrets[name], `compose/example.env lacks ${name}`);
	return secrets[name];
});
assert(!text.includes("${"), "compose.yaml has a variable without a check");
const project = parse(text, { merge: true });
const ajv = addFormats(new Ajv({ strict: false, allErrors: true }));
ajv.addFormat("duration", true).addFormat("ports", true).addFormat("expose", true).addFormat("subnet_ip_address", true);
const valid = ajv.compile(JSON.parse(readFileSync(`${process.argv[2]}/schema/compose-spec.json`)));
assert(valid(project), JSON.stringify(valid.errors));
assert.deepEqual(Object.keys(project.services).sort(), ["api", "collector", "grafana", "issuer", "migrate", "postgres", "prometheus", "worker"]);
for (const [name, service] of Object.entries(project.services)) {
	for (const [source] of (service.volumes ?? []).map((volume) => volume.split(":"))) {
		assert(source.startsWith(".") ? existsSync(new URL(source, folder)) : source in project.volumes, `${name} mounts ${source}, which is not here`);
	}
	for (const other of Object.keys(service.depends_on ?? {})) assert(project.services[other], `${name} depends on ${other}`);
	if (service.image === "parapet") assert.deepEqual([service.read_only, service.cap_drop], [true, ["ALL"]], name);
}
for (const name of ["compose/prometheus.yaml", "compose/collector.yaml", "compose/grafana/datasources/prometheus.yaml", "compose/grafana/dashboards/parapet.yaml"]) parse(read(name));

// The rules and the dashboard.
const promql = (expression) => {
	parser.configure({ strict: true }).parse(expression);
	return expression;
};
const { rules } = parse(read("prometheus/rules.yaml")).groups[0];
for (const rule of rules) promql(rule.expr);
assert.equal(new Set(rules.map((rule) => rule.alert)).size, rules.length, "two alerts have the same name");
for (const { expr, annotations } of rules) assert(annotations.summary && annotations.description && annotations.runbook, expr);
const { panels } = JSON.parse(read("grafana/parapet.json"));
for (const panel of panels) for (const { expr } of panel.targets) promql(expr);
assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
console.log(`deploy: ${objects.length} objects of Kubernetes, ${Object.keys(project.services).length} services of compose, ${rules.length} rules and ${panels.length} panels are valid`);
