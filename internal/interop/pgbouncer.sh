#!/bin/sh
# Runs the service behind Debian's PgBouncer: in session mode it goes from the quote to the
# payout, in the modes transaction and statement it refuses to start.
set -eu
cd "$(dirname "$0")"

command -v jq >/dev/null || { echo "this check needs jq: apt-get install jq" >&2; exit 1; }
paths=$(../tools/debian pgbouncer)
eval "$paths"
exec ./with-parapet ./pgbouncer/checks
