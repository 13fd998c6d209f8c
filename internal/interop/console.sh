#!/bin/sh
# Uses the console in Debian's Chromium: as partners and operators of the development
# issuer, and of npm's oidc-provider. SHOTS names the folder of the screenshots.
set -eu
cd "$(dirname "$0")"

command -v "${CHROMIUM:-chromium}" >/dev/null || { echo "the console is used in Chromium: apt-get install chromium" >&2; exit 1; }
./install ../../console
./install
./with-parapet timeout 1500 node console/checks.mjs
PARAPET_SIGN_IN_MAX_AGE=5s ./with-parapet timeout 300 node console/stepup.mjs
export PARAPET_AUDIENCE=protection PARAPET_OPERATOR_UI_PARAMS=resource=urn:own
export ISSUER_TOKEN_LIFETIME=64 # the console refreshes a token a minute before it ends
export ISSUER_SCOPE="quotes:read quotes:write policies:read policies:write claims:read claims:write payouts:read payout_methods:write products:read events:read webhooks:read webhooks:write operator"
exec node outside-issuer/with-issuer.mjs ./with-parapet timeout 300 node console/outside.mjs
