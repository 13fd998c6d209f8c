#!/bin/sh
# Plays a partner who writes Go: generates a client from the committed GraphQL
# schema with genqlient, compiles a program with it, and runs that program from the
# first quote to the payout, over HTTP and a WebSocket.
set -eu
cd "$(dirname "$0")/client-go"

rm -rf graphql/generated
go tool genqlient graphql/genqlient.yaml
go build -o graphql/generated/story ./graphql
exec ../with-parapet graphql/generated/story
