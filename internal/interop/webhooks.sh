#!/bin/sh
# Plays a partner's receiver: every delivery of a story is verified by npm's
# standardwebhooks and by the recipes that the manual prints, run as they stand
# there; after a rotation with either secret; and what was forged is refused.
set -eu
cd "$(dirname "$0")/webhooks"

../install
rm -rf generated
../node_modules/.bin/tsc --project .
exec ../with-parapet timeout 120 node generated/webhooks/receiver.mjs
