package rest_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
	"parapet/model/wire"
)

// errorList returns the errors of a response as "pointer code", in their order.
func errorList(p problem) []string {
	var all []string
	for _, field := range p.Errors {
		all = append(all, field.Pointer+" "+field.Code)
	}
	return all
}

// All errors of a body are reported at once: unreadable members, missing members, and
// violated rules of the rest.
func TestAllFieldErrorsAreReportedTogether(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	_, policy, claim := h.createClaim(t)
	for name, c := range map[string]struct {
		path, body string
		faults     []string
	}{
		"quote": {
			"/quotes", `{"product":"quake-circle","partner_reference":7,"metadata":{"a/b":1,"":"x","long":"` + strings.Repeat("é", 501) + `"},
				"context":{"partner":"acme","radius_km":"wide","term":"P2Y","limit":{"amount":1.5,"currency":"CHF"},"location":{"latitude":91},
				"policyholder":{"name":1,"country":"ZZ","email":"x"}}}`,
			[]string{
				"/context/limit/amount type", "/context/limit/currency enum", "/context/location/latitude maximum", "/context/location/longitude required",
				"/context/policyholder/country value", "/context/policyholder/email format", "/context/policyholder/name type", "/context/radius_km type",
				"/context/term maximum", "/metadata/ length", "/metadata/a~1b type", "/metadata/long length", "/partner_reference type",
			},
		},
		"quote without a product":         {"/quotes", `{"context":{"partner":"acme"},"partner_reference":" "}`, []string{"/partner_reference value", "/product required"}},
		"quote of no product":             {"/quotes", `{"product":"flood","context":{"partner":"acme"},"metadata":null}`, []string{"/metadata null", "/product unknown"}},
		"quote of a list":                 {"/quotes", `{"product":"quake-circle","context":[],"metadata":{"a":null}}`, []string{"/context type", "/metadata/a null"}},
		"quote of nothing":                {"/quotes", `[]`, []string{" type"}},
		"small limit and wrong reference": {"/quotes", `{"product":"quake-circle","context":{"partner":"acme","limit":{"amount":1,"currency":"USD"}},"partner_reference":""}`, []string{"/context/limit/amount minimum", "/partner_reference value"}},
		"policy": {
			"/policies", `{"quote_id":"quo_unknown","policyholder":{"name":"","email":"x","country":5},"partner_reference":"a\tb","metadata":[]}`,
			[]string{"/metadata type", "/partner_reference value", "/policyholder/country type", "/policyholder/email format", "/policyholder/name length"},
		},
		"policy of no quote": {"/policies", `{"policyholder":{}}`, []string{"/policyholder/name required", "/quote_id required"}},
		"claim": {
			"/claims", `{"policy_id":7,"origin":"wish","source_event":{"source":"USGS","id":1},"occurred_at":"3018-02-06T15:50:42Z","description":null,
				"requested_amount":{"amount":0,"currency":"usd"},"partner_reference":"` + strings.Repeat("x", 129) + `"}`,
			[]string{
				"/description null", "/occurred_at future", "/origin enum", "/partner_reference value", "/policy_id type", "/requested_amount/amount minimum",
				"/requested_amount/currency value", "/source_event/id type", "/source_event/source pattern",
			},
		},
		"claim by nothing readable": {"/claims", `{"policy_id":"` + policy.ID + `","origin":"trigger","observation_id":1}`, []string{"/observation_id type"}},
		"claim by nothing":          {"/claims", `{"policy_id":"` + policy.ID + `","origin":"trigger","requested_amount":{"amount":1e400,"currency":"USD"}}`, []string{"/requested_amount/amount type", "/source_event required"}},
		"payout method": {
			"/payout_methods", `{"claim_id":null,"type":"cheque","beneficiary":{"name":" ","country":5},"currency":"usd","iban":{"iban":"DE00370400440532013000"},"metadata":{"a":1}}`,
			[]string{"/beneficiary/country type", "/beneficiary/name required", "/claim_id null", "/currency value", "/iban/iban checksum", "/metadata/a type", "/type unknown"},
		},
		"payout method of both": {
			"/payout_methods", `{"claim_id":"x","policy_id":"y","type":"iban","beneficiary":{"name":"Lin","country":"TW"},"currency":5}`,
			[]string{"/claim_id one_of", "/currency type", "/iban required"},
		},
		"attachment": {
			"/claims/" + claim.ID + "/attachments", `{"file_name":"a/b","content_type":"image/png","content_base64":"` + base64.StdEncoding.EncodeToString([]byte("hello")) + `","purpose":1,"sha256":"00"}`,
			[]string{"/content_type mismatch", "/file_name value", "/purpose type", "/sha256 mismatch"},
		},
		"attachment of no bytes": {
			"/claims/" + claim.ID + "/attachments", `{"file_name":"","content_type":"image/gif","content_base64":"?","sha256":"00"}`,
			[]string{"/content_base64 format", "/content_type enum", "/file_name value"},
		},
		"message":     {"/claims/clm_unknown/messages", `{"body":" "}`, []string{"/body length"}},
		"message not": {"/claims/clm_unknown/messages", `{}`, []string{"/body required"}},
		"observation": {
			"/sandbox/observations", `{"source":"USGS","kind":"flood","occurred_at":"3018-02-06T15:50:42Z","stage":1,"revision":-1.0,"aliases":["a",2,""],
				"location":{"latitude":91,"longitude":"x"},"measures":{"magnitude":null}}`,
			[]string{
				"/aliases/1 type", "/aliases/2 length", "/kind enum", "/location/latitude value", "/location/longitude type", "/measures/magnitude null",
				"/occurred_at future", "/revision minimum", "/source pattern", "/source_event_id required", "/stage type",
			},
		},
		"quake": {
			"/sandbox/observations", `{"source":"usgs","source_event_id":"x","kind":"earthquake","occurred_at":"2018-02-06T15:50:42Z","stage":"final",
				"measures":{"magnitude":{"value":6.4,"unit":"km"},"wi/nd":{"value":"1","unit":"kn"}},"replayed_from":"0000-01-01T00:00:00Z"}`,
			[]string{"/location required", "/measures/magnitude/unit enum", "/measures/magnitude/value type", "/measures/wi~1nd unknown", "/replayed_from format"},
		},
		"batch that is none": {"/sandbox/observations", `{"observations":null}`, []string{"/observations null"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := requireProblem(t, h.post(t, 422, "/v1"+c.path, c.body, "If-Match: *"))
			require.Equal(t, string(apperr.CodeValidationFailed), p.Code)
			require.Equal(t, c.faults, errorList(p))
		})
	}
}

// Authentication is checked before the form of the body, the form before the fields, and
// the fields before the state of the referenced records.
func TestKindsOfErrorsComeInOrder(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	const unknown = `"quote_id":"quo_01h455vb4pex5vsknk084sn02q"`
	for body, want := range map[string]apperr.Code{
		`{` + unknown + `,"x":1,"metadata":1,"metadata":2}`: apperr.CodeDuplicateField,
		`{` + unknown + `,"x":1,"metadata":1}`:              apperr.CodeUnknownField,
		`{` + unknown + `,"metadata":1}`:                    apperr.CodeValidationFailed,
		`{` + unknown + `,"partner_reference":"\u0007"}`:    apperr.CodeValidationFailed,
		`{` + unknown + `}`:                                 apperr.CodeNotFound,
		`{"quote_id":""}`:                                   apperr.CodeNotFound,
		`{"quote_id":"quo_` + strings.Repeat("z", 5000) + `","policyholder":{"name":"` + "\u0085" + `"}}`:                apperr.CodeNotFound,
		`{"quote_id":"` + decodeRecord[wire.Quote](t, h.post(t, 201, "/v1/quotes", quoteBody)).ID + `","metadata":null}`: apperr.CodeValidationFailed,
	} {
		answer := h.sendAs(t, "acme", nil, request{"POST", "/v1/policies", body, nil})
		require.Equal(t, string(want), requireProblem(t, answer).Code, body)
	}
	p := requireProblem(t, h.post(t, 403, "/v1/quotes", `{"product":1,"context":{"partner":"globex","radius_km":"x"}}`))
	require.Equal(t, string(apperr.CodePartnerMismatch), p.Code)
	p = requireProblem(t, h.post(t, 422, "/v1/quotes", `{"product":"flood","context":{"partner":"acme"}}`))
	require.Equal(t, string(apperr.CodeProductUnknown), p.Code, "alone it has its own code")
	p = requireProblem(t, h.post(t, 422, "/v1/quotes", `{"product":"flood","context":{"partner":"acme"},"partner_reference":" "}`))
	require.Equal(t, string(apperr.CodeValidationFailed), p.Code)
}

// A body full of errors is answered with a bounded list that says it is incomplete.
func TestErrorListIsTruncated(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	var members []string
	for i := range 300 {
		members = append(members, `"`+strings.Repeat("k", i%30+1)+string(rune('a'+i/30))+`":1`)
	}
	many := strings.Join(members, ",")
	p := requireProblem(t, h.post(t, 422, "/v1/quotes", `{"product":"quake-circle","context":{"partner":"acme"},"metadata":{`+many+`}}`))
	require.Len(t, p.Errors, apperr.MaxFieldErrors)
	require.Contains(t, p.Detail, "more than 100 members that are not right; errors names 100 of them")
	p = requireProblem(t, h.post(t, 400, "/v1/quotes", `{"product":"quake-circle",`+many+`}`))
	require.Len(t, p.Errors, apperr.MaxFieldErrors)
	require.Contains(t, p.Detail, "more than 100 members that do not exist")
	long := strings.Repeat("x", 1000)
	p = requireProblem(t, h.post(t, 422, "/v1/quotes", `{"product":"quake-circle","context":{"partner":"acme","policyholder":1},"metadata":{"`+long+`":1}}`))
	require.Equal(t, []string{"/context/policyholder type", "/metadata type"}, errorList(p), "the pointer of a long name is that of its object")
	p = requireProblem(t, h.post(t, 400, "/v1/policies", `{"policyholder":{"`+long+`":1,"a~b/c":2}}`))
	require.Equal(t, []string{"/policyholder unknown_field", "/policyholder/a~0b~1c unknown_field"}, errorList(p))
}

func TestWholeNumbersAreOneRule(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	for text, plain := range map[string]string{"10000000": "10000000", "1e7": "10000000", "10000000.0": "10000000", "1.5E+7": "15000000", "150000000e-1": "15000000"} {
		quote := decodeRecord[wire.Quote](t, h.post(t, 201, "/v1/quotes", strings.Replace(quoteBody, `"partner"`, `"limit":{"amount":`+text+`,"currency":"USD"},"partner"`, 1)))
		require.Contains(t, string(quote.Context), `"limit":{"amount":`+plain+`,"currency":"USD"}`)
		policy := decodeRecord[wire.Policy](t, h.post(t, 201, "/v1/policies", `{"quote_id":"`+quote.ID+`"}`))
		claim := decodeRecord[wire.Claim](t, h.post(t, 201, "/v1/claims", `{"policy_id":"`+policy.ID+`","requested_amount":{"amount":`+text+`,"currency":"USD"}}`))
		require.Equal(t, quote.Cover.Limit, *claim.RequestedAmount)
	}
	for _, text := range []string{"10000000.5", "1e-5", "10000000.00000000000000000000001", "1e-999999999", `"10000000"`} {
		p := requireProblem(t, h.post(t, 422, "/v1/quotes", strings.Replace(quoteBody, `"partner"`, `"limit":{"amount":`+text+`,"currency":"USD"},"partner"`, 1)))
		require.Equal(t, []string{"/context/limit/amount type"}, errorList(p), text)
		p = requireProblem(t, h.post(t, 422, "/v1/claims", `{"policy_id":"x","requested_amount":{"amount":`+text+`,"currency":"USD"}}`))
		require.Equal(t, []string{"/requested_amount/amount type"}, errorList(p), text)
	}
	for _, text := range []string{"1e400", "9223372036854775808", "1e999999999"} {
		requireProblem(t, h.post(t, 422, "/v1/quotes", strings.Replace(quoteBody, `"partner"`, `"limit":{"amount":`+text+`,"currency":"USD"},"partner"`, 1)))
		requireProblem(t, h.post(t, 422, "/v1/claims", `{"policy_id":"x","requested_amount":{"amount":`+text+`,"currency":"USD"}}`))
	}
}

func TestTakenReferenceReturnsTheRecordID(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	referring := func(body string) string { return body[:len(body)-1] + `,"partner_reference":"ours"}` }
	quote := decodeRecord[wire.Quote](t, h.post(t, 201, "/v1/quotes", referring(quoteBody)))
	policy := decodeRecord[wire.Policy](t, h.post(t, 201, "/v1/policies", referring(`{"quote_id":"`+quote.ID+`"}`)))
	claim := decodeRecord[wire.Claim](t, h.post(t, 201, "/v1/claims", referring(`{"policy_id":"`+policy.ID+`"}`)))
	method := decodeRecord[wire.PayoutMethod](t, h.post(t, 201, "/v1/payout_methods", referring(`{"policy_id":"`+policy.ID+`",`+ibanMembers)))
	next := decodeRecord[wire.Quote](t, h.post(t, 201, "/v1/quotes", quoteBody))
	for path, c := range map[string]struct{ body, id string }{
		"/v1/quotes":         {referring(quoteBody), quote.ID},
		"/v1/policies":       {referring(`{"quote_id":"` + next.ID + `"}`), policy.ID},
		"/v1/claims":         {referring(`{"policy_id":"` + policy.ID + `"}`), claim.ID},
		"/v1/payout_methods": {referring(`{"policy_id":"` + policy.ID + `",` + ibanMembers), method.ID},
	} {
		p := requireProblem(t, h.post(t, 422, path, c.body))
		require.Equal(t, string(apperr.CodeReferenceTaken), p.Code, path)
		require.Equal(t, c.id, p.ResourceID, path)
		require.Equal(t, []string{"/partner_reference taken"}, errorList(p), path)
	}
	theirs := h.sendAs(t, "globex", nil, request{"POST", "/v1/quotes", strings.Replace(referring(quoteBody), "acme", "globex", 1), nil})
	require.Equal(t, 201, theirs.StatusCode, "a reference is taken by its own partner only")
}
