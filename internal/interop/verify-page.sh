#!/bin/sh
# Verifies 100 receipts of a real server at its page /verify, in Debian's Chromium, and an
# altered one. SHOT names a file for a screenshot.
set -eu
cd "$(dirname "$0")"

command -v "${CHROMIUM:-chromium}" >/dev/null || { echo "the page is checked in Chromium: apt-get install chromium" >&2; exit 1; }
./install ../../console
exec ./with-parapet timeout 300 node verify-page/checks.mjs
