#!/bin/sh
# Recomputes terms_hash, receipt_hash and the chain of events from the manual's recipes
# alone, in Python, for quotes, policies and a claim of a real server.
set -eu
cd "$(dirname "$0")"

command -v python3 >/dev/null || { echo "the recipes need Python: apt-get install python3" >&2; exit 1; }
exec ./with-parapet timeout 120 python3 hashes/checks.py
