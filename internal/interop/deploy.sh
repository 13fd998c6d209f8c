#!/bin/sh
# Plays a newcomer on a bare Debian: builds a release, unpacks its archive and pastes the
# commands of internal/deploy/README.md, from the database to a paid rehearsal behind nginx
# with TLS and npm's oidc-provider. Also checks that the release is built the same twice,
# that the files to deploy are valid, and that the image runs without root.
set -eu
cd "$(dirname "$0")"

for program in curl jq node openssl npm psql pg_dump bash systemd-analyze; do
	command -v "$program" >/dev/null || { echo "this check needs $program: apt-get install curl jq openssl npm postgresql-client bash systemd" >&2; exit 1; }
done
paths=$(../tools/debian nginx bubblewrap)
eval "$paths"
schema=$(cd deploy-files && go mod download -json github.com/compose-spec/compose-go/v2@v2.16.2 | jq -r .Dir)
./install deploy-files
(cd deploy-files && node checks.mjs "$schema")
promtool=$(command -v promtool || true)
[ -z "$promtool" ] || "$promtool" check rules ../deploy/prometheus/rules.yaml

folder=$(mktemp -d)
chmod 755 "$folder"
trap 'rm -rf "$folder"' EXIT
platform=linux/$(go env GOARCH)
(cd ../.. && internal/tools/release "$folder/one" "$platform" && umask 077 && TZ=Asia/Taipei internal/tools/release "$folder/two" "$platform") >"$folder/log"
diff -r "$folder/one" "$folder/two" || { echo "the same commit does not build the same release" >&2; exit 1; }
(cd "$folder/one" && sha256sum --quiet -c SHA256SUMS)
archive=$(echo "$folder"/one/parapet-*.tar.gz)
echo "deploy: built twice, the same $(wc -c <"$archive") bytes: $(sha256sum <"$archive" | cut -d' ' -f1)"

mkdir "$folder/unit" "$folder/newcomer"
tar xzf "$archive" -C "$folder/unit" --strip-components=1
deploy/unit "$folder/unit"
cp "$archive" "$folder/newcomer"
./with-parapet deploy/newcomer "$folder/newcomer"
