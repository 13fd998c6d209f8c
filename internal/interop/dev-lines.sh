#!/bin/sh
# Pastes what `parapet dev` prints: the lines up to the listener must end with a claim
# that was approved and its explanation. A second start must keep the issuer's address and
# keys, so that the token of the first still works.
set -eu
cd "$(dirname "$0")"

folder=$(mktemp -d)
chmod 711 "$folder" # the account that runs Postgres for root enters it
server=
finish() {
	status=$?
	[ -z "$server" ] || { kill "$server" 2>/dev/null || true; wait "$server" || true; }
	[ "$status" -eq 0 ] || tail -n 50 "$folder/log" >&2
	rm -rf "$folder"
	exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM

start() {
	../../bin/parapet dev --listen 127.0.0.1:0 --data-dir "$folder/data" >"$folder/$1" 2>"$folder/log" &
	server=$!
	for _ in $(seq 120); do
		grep -q '^Ctrl-C' "$folder/$1" && return
		sleep 0.5
	done
	echo "the server did not start" >&2
	exit 1
}
pasted() { sed -n '/^BASE=/,/^# have every event/p' "$folder/$1"; }

start first
said=$(pasted first | timeout 60 sh)
for word in '"kind":"claim.approved"' '"pays":true' '"status":"active"'; do
	echo "$said" | grep -q "$word" || { echo "$said" >&2; echo "the printed lines do not end with $word" >&2; exit 1; }
done
grep -q '^../../bin/parapet listen --server \$BASE' "$folder/first" || { echo "the listener's line is not for this shell" >&2; exit 1; }
kill "$server"; wait "$server" || true
token=$(sed -n 's/^TOKEN=//p' "$folder/first")
start second
base=$(sed -n 's/^BASE=//p' "$folder/second")
status=$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $token" "$base/v1/policies")
[ "$status" = 200 ] || { echo "a token of the first start is answered $status by the second" >&2; exit 1; }
echo "dev lines: $(pasted first | grep -c '^api \$') calls answered, and the token still works after a restart"
