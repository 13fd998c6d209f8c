#!/bin/sh
# Plays the team of a console: generates types from the committed GraphQL schema
# and a console's operations with graphql-codegen, checks a program against them,
# and runs it from the first quote to the payout, the dashboard and the portfolio.
# The server takes nothing but those operations, by the manifest of the same tool.
set -eu
cd "$(dirname "$0")/graphql-typescript"

../install
rm -rf generated
../node_modules/.bin/graphql-codegen --config codegen.ts >/dev/null
../node_modules/.bin/tsc --project .
export PARAPET_GRAPHQL_TRUSTED_DOCUMENTS="$PWD/generated/persisted-documents.json"
exec ../with-parapet node generated/graphql-typescript/story.mjs
