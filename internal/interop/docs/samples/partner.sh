#!/bin/sh
# The samples of the documentation in the shell: the tasks in order, as one program.
set -eu

# docs: authenticate
: "${BASE:?}" "${CLIENT_ID:?}" "${CLIENT_SECRET:?}"
ISSUER=$(curl -s "$BASE/.well-known/oauth-protected-resource" |
  jq -r '.authorization_servers[0]')
TOKEN_URL=$(curl -s "$ISSUER/.well-known/openid-configuration" |
  jq -r .token_endpoint)
TOKEN=$(curl -s "$TOKEN_URL" -u "$CLIENT_ID:$CLIENT_SECRET" \
  -d grant_type=client_credentials | jq -r .access_token)

api() {
  curl -s -H "Authorization: Bearer $TOKEN" \
    -H 'Content-Type: application/json' "$@"
}
api "$BASE/v1/products" | jq -r '.data[].key'
# docs: end

# docs: quote
QUOTE=$(api "$BASE/v1/quotes" -d '{
  "product": "quake-circle",
  "context": {
    "partner": "acme",
    "location": {"latitude": 23.98, "longitude": 121.61},
    "limit": {"amount": 10000000, "currency": "USD"},
    "term": "P365D"
  }}')
echo "$QUOTE" | jq '{id, expires_at, premium: .price.premium,
  would_have_paid: (.history | length)}'
QUOTE_ID=$(echo "$QUOTE" | jq -r .id)
# docs: end

# docs: bind
POLICY=$(api "$BASE/v1/policies" -H "Idempotency-Key: bind-$QUOTE_ID" -d '{
  "quote_id": "'"$QUOTE_ID"'",
  "policyholder": {"name": "Lin Mei-hua", "country": "TW"}}')
POLICY_ID=$(echo "$POLICY" | jq -r .id)
EFFECTIVE_AT=$(echo "$POLICY" | jq -r .effective_at)
# docs: end

# docs: payout-method
api "$BASE/v1/payout_methods" -d '{
  "policy_id": "'"$POLICY_ID"'",
  "type": "iban",
  "currency": "USD",
  "iban": {"iban": "DE89370400440532013000"},
  "beneficiary": {"name": "Lin Mei-hua", "country": "TW"}}' |
  jq '{id, status, display}'
# docs: end

# docs: rehearse
api "$BASE/v1/sandbox/observations" -d '{
  "source": "usgs",
  "kind": "earthquake",
  "stage": "final",
  "source_event_id": "rehearsal-'"$POLICY_ID"'",
  "occurred_at": "'"$EFFECTIVE_AT"'",
  "location": {"latitude": 24.17, "longitude": 121.65},
  "measures": {
    "magnitude": {"value": "6.4", "unit": "mw"},
    "depth": {"value": "10.6", "unit": "km"}
  }}' | jq '{id, occurrence_id}'
# docs: end

# docs: claim
until CLAIM_ID=$(api "$BASE/v1/policies/$POLICY_ID" | jq -er '.claims[0].id'); do
  sleep 1
done
api "$BASE/v1/claims/$CLAIM_ID" | jq '{status, amount, determination}'
api "$BASE/v1/claims/$CLAIM_ID/timeline" | jq -r '.data[].summary'
# docs: end

# docs: payout
until api "$BASE/v1/claims/$CLAIM_ID/payouts" |
  jq -e '.data[0].status | IN("released", "reconciled")' >/dev/null; do
  sleep 1
done
api "$BASE/v1/claims/$CLAIM_ID/payouts" |
  jq '.data[0] | {status, amount, provider_reference}'
# docs: end

# docs: events
AFTER=0 # store it: it is all that a reader must remember
while PAGE=$(api --fail "$BASE/v1/events?after_sequence=$AFTER&limit=100") &&
  [ "$(echo "$PAGE" | jq '.data | length')" -gt 0 ]; do
  echo "$PAGE" | jq -r '.data[] | "\(.sequence) \(.type) \(.subject.id)"'
  AFTER=$(echo "$PAGE" | jq '.data[-1].sequence')
done
# docs: end

HOOKS=http://127.0.0.1:9/hooks
# docs: webhooks
: "${HOOKS:?}" # the address of your receiver
ENDPOINT=$(api "$BASE/v1/webhook_endpoints" -d '{
  "url": "'"$HOOKS"'",
  "event_types": ["*"]}')
ENDPOINT_ID=$(echo "$ENDPOINT" | jq -r .id)
SECRET=$(echo "$ENDPOINT" | jq -r .secret) # shown only once: store it
api "$BASE/v1/webhook_endpoints/$ENDPOINT_ID/deliveries" |
  jq '.data[] | {event_id, status, next_attempt_at}'
# docs: end
[ "${SECRET#whsec_}" != "$SECRET" ]

# docs: errors
STATUS=$(api -o answer.json -w '%{http_code}' "$BASE/v1/quotes" \
  -H 'Idempotency-Key: quote-4711' \
  -d '{"product": "quake-circle",
       "context": {"partner": "acme", "term": "1 year"}}')
if [ "$STATUS" -ge 400 ]; then
  jq -r '"\(.code): \(.detail) (request \(.request_id))"' answer.json
  jq -r '.errors[]? | "  \(.pointer): \(.detail)"' answer.json
  jq -e .retryable answer.json >/dev/null && echo 'Send it again, with the same key.'
fi
# docs: end
jq -e '.code == "validation_failed"' answer.json >/dev/null
rm answer.json
