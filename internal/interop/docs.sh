#!/bin/sh
# The documentation at /docs: measures every page in Debian's Chromium, runs every command
# of the REST reference, and the samples of the guides in the shell, Python, TypeScript and
# Go. SHOTS names a folder for screenshots.
set -eu
cd "$(dirname "$0")"

command -v "${CHROMIUM:-chromium}" >/dev/null || { echo "the pages are measured in Chromium: apt-get install chromium" >&2; exit 1; }
command -v jq >/dev/null || { echo "the samples in the shell need jq: apt-get install jq" >&2; exit 1; }
command -v python3 >/dev/null || { echo "the samples in Python need it: apt-get install python3" >&2; exit 1; }
./install ../../console
./install
rm -rf docs/generated
node_modules/.bin/tsc --project docs
mkdir -p docs/generated
go build -C client-go -o ../docs/generated/samples ./samples

exec ./with-parapet timeout 1800 sh -eu -c '
	BASE=$(echo "$PARAPET" | jq -r .base_url)
	CLIENT_ID=$(echo "$PARAPET" | jq -r ".clients[0].client_id")
	CLIENT_SECRET=$(echo "$PARAPET" | jq -r ".clients[0].client_secret")
	export BASE CLIENT_ID CLIENT_SECRET
	node docs/pages.mjs
	node docs/reference.mjs
	cd docs/generated
	for program in "sh ../samples/partner.sh" "python3 ../samples/partner.py" "node docs/samples/partner.mjs" ./samples; do
		$program >said 2>&1 || { cat said; echo "the samples fail: $program" >&2; exit 1; }
	done
	echo "docs: the samples of ten tasks ran in four languages"
'
