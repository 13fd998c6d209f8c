#!/bin/sh
# Plays a partner who pastes: runs every shell block of the guide that /docs begins
# with, in order, against a server, and looks for the payout at the end. It plays the
# guide again after a restart: the rehearsal moved the clock, which must not go back.
set -eu
cd "$(dirname "$0")"

command -v jq >/dev/null || { echo "the guide's blocks need jq: apt-get install jq" >&2; exit 1; }
DATA_DIR=$(mktemp -d)
export DATA_DIR
trap 'rm -rf "$DATA_DIR"' EXIT
# What both runs begin with. blocks FILE FIRST prints the shell blocks of a chapter: all
# of them, or only the first where FIRST is 1.
prelude='
	BASE=$(echo "$PARAPET" | jq -r .base_url)
	CLIENT_ID=$(echo "$PARAPET" | jq -r ".clients[0].client_id")
	CLIENT_SECRET=$(echo "$PARAPET" | jq -r ".clients[0].client_secret")
	export BASE CLIENT_ID CLIENT_SECRET
	blocks() { awk -v first="$2" "/^\`\`\`sh\$/ { on = 1; next } /^\`\`\`\$/ { if (on && first) exit; on = 0 } on" "$1"; }
'
play() { ./with-parapet timeout 300 sh -eu -c "$prelude"'
	steps=$(blocks ../../rest/guide.md 0)
	said=$(sh -euc "$steps")
	echo "$said"
	echo "$said" | grep -q "\"provider_reference\": \"" || { echo "the guide does not lead to a payout" >&2; exit 1; }
	echo "$said" | tail -n 40 | grep -q "\"value\": \"190\"" || { echo "the guide does not end with a claim for the rehearsed rain" >&2; exit 1; }
	echo "guide: $(grep -c "^\`\`\`sh\$" ../../rest/guide.md) blocks ran"
'; }
play
play
# The second chapter, in a new server: every product from the quote to the reconciled
# payout, in less than ten minutes.
DATA_DIR= ./with-parapet timeout 600 sh -eu -c "$prelude"'
	token=$(blocks ../../rest/guide.md 1)
	steps=$(blocks ../../rest/sandbox.md 0)
	said=$(sh -euc "$token
$steps")
	echo "$said"
	paid=$(echo "$said" | grep -c " reconciled\$") || true
	test "$paid" = 6 || { echo "$paid of 6 products lead to a reconciled payout" >&2; exit 1; }
	echo "sandbox chapter: $(grep -c "^\`\`\`sh\$" ../../rest/sandbox.md) blocks ran, $paid products were paid"
'
