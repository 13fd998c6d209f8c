#!/bin/sh
# Runs the issuer of the first recipe in rest/first-day.md as it stands there, and a
# server that trusts it. A partner asks for its first quote by the shell lines of that page;
# people sign in and out by parapet login.
set -eu
cd "$(dirname "$0")"

command -v jq >/dev/null || { echo "the page's lines need jq: apt-get install jq" >&2; exit 1; }
./install
recipe=first-day/recipe.mjs
trap 'rm -f "$recipe"' EXIT
awk '/^```js$/ { on = 1; next } /^```$/ { on = 0 } on' ../../rest/first-day.md >"$recipe"
export ACME_SECRET=no-secret-here
timeout 300 node first-day/with-recipe.mjs "$recipe" ./with-parapet node first-day/checks.mjs
