#!/bin/sh
# Holds the committed OpenAPI document against redocly's recommended rules. It
# fails when they find anything at all, a warning included.
set -eu
cd "$(dirname "$0")"

./install
export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true
report=$(npx --no-install redocly lint --extends=recommended --max-problems=1000 --format=json ../../rest/openapi.yaml 2>/dev/null) || true
printf '%s' "$report" | node -e '
	const found = JSON.parse(require("fs").readFileSync(0, "utf8")).problems;
	for (const p of found) console.log(`${p.severity} ${p.ruleId} at ${p.location[0].pointer}: ${p.message}`);
	console.log(`redocly: ${found.length} problems`);
	process.exit(found.length === 0 ? 0 : 1);
'
