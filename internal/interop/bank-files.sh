#!/bin/sh
# Holds ISO 20022's own schemas against the bank files: the golden pain.001 that a
# test proves to be what is written, and the samples of pain.002 and camt.053 that
# the tests read. xmllint judges. The schemas are the Registration Authority's, free
# to use: pain as Debian's libhbci4j-core-java 3.1.64 ships them (LGPL-2.1), camt.053
# as the Go module moov-io/iso20022 v0.2.1 does (Apache-2.0).
set -eu
cd "$(dirname "$0")"

./install
exec node bank-files/validate.mjs
