#!/bin/sh
# Plays a console that stays open: npm's graphql-ws and graphql-sse hear a claim's
# story and the feed of events, come again after a sequence, and are refused with
# the codes of their protocols.
set -eu
cd "$(dirname "$0")/subscriptions"

../install
rm -rf generated
../node_modules/.bin/tsc --project .
exec ../with-parapet timeout 120 node generated/subscriptions/story.mjs
