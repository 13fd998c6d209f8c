#!/bin/sh
# Plays a partner who writes TypeScript: generates types from the committed
# OpenAPI document with openapi-typescript, checks a program against them, and
# runs it with openapi-fetch from the first quote to the payout.
set -eu
cd "$(dirname "$0")"

./install
export OPENAPI_TS_TELEMETRY=off
rm -rf client-typescript/generated
node_modules/.bin/openapi-typescript ../../rest/openapi.yaml --output client-typescript/generated/v1.d.ts >/dev/null
node_modules/.bin/tsc --project client-typescript
exec ./with-parapet node client-typescript/generated/client-typescript/story.mjs
