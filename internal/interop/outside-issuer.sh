#!/bin/sh
# Holds the service against an issuer that is not ours, npm's oidc-provider: its
# access tokens are accepted, everything else it signs is refused, and its keys
# may change.
set -eu
cd "$(dirname "$0")"

./install
export PARAPET_AUDIENCE=protection PARAPET_OPERATOR_UI_PARAMS=resource=urn:own
exec node outside-issuer/with-issuer.mjs ./with-parapet node outside-issuer/checks.mjs
