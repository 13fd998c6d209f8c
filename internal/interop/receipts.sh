#!/bin/sh
# Recomputes the hashes and amounts of the committed receipts with the Python code of the
# manual alone, unchanged. The signatures are checked by openssl.
set -eu
cd "$(dirname "$0")/receipts"

command -v python3 >/dev/null || { echo "the recipes need Python: apt-get install python3" >&2; exit 1; }
command -v openssl >/dev/null || { echo "signatures are checked by openssl: apt-get install openssl" >&2; exit 1; }
exec timeout 120 python3 recompute.py ../../../model/receipts/receipt/testdata
