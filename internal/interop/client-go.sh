#!/bin/sh
# Plays a partner who writes Go: generates a client from the committed OpenAPI
# document with oapi-codegen, compiles a program with it, and runs that program
# from the first quote to the payout.
set -eu
cd "$(dirname "$0")/client-go"

rm -rf generated
mkdir -p generated/v1
go tool oapi-codegen --config=oapi-codegen.yaml ../../../rest/openapi.yaml
go build -o generated/story .
exec ../with-parapet generated/story
