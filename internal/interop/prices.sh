#!/bin/sh
# Computes the premiums of 50 quotes of all products again, to the cent, from the
# quote, the weighed events and the data sets, by the manual's chapter Prices alone.
set -eu
cd "$(dirname "$0")/prices"

command -v python3 >/dev/null || { echo "this check needs Python: apt-get install python3" >&2; exit 1; }
exec ../with-parapet timeout 300 python3 recompute.py ../../../model/hazard/data
