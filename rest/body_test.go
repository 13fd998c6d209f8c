package rest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/apperr"
	"parapet/model/wire"
)

// sampleRequest has a member of every type that requests have.
type sampleRequest struct {
	Name   string            `json:"name"`
	At     time.Time         `json:"at,omitzero"`
	Count  *int64            `json:"count,omitzero"`
	Share  float64           `json:"share,omitzero"`
	Free   jsontext.Value    `json:"free,omitzero"`
	Labels map[string]string `json:"labels,omitzero"`
	Money  *wire.Money       `json:"money,omitzero"`
	Tags   []string          `json:"tags,omitzero"`
}

// parseStrictly parses a body and returns its faults as an error.
func parseStrictly(body []byte, request any) error {
	faults, err := parseRequest(body, nil, request)
	if err == nil && len(faults) > 0 {
		err = apperr.Invalid(faults...)
	}
	return err
}

func TestParse(t *testing.T) {
	t.Parallel()
	count := int64(-9223372036854775808)
	var got sampleRequest
	require.NoError(t, parseStrictly([]byte(` {"name":"ä\ud83d\ude00","at":"2018-02-06T15:50:42.5+02:00","count":-9223372036854775808,
		"share":1.5e1,"free":{"A":1e400,"b":[null]},"labels":{"x/y":"z"},"money":{"amount":1,"currency":"USD"},"tags":["a",""]} `), &got))
	want := sampleRequest{
		Name: "ä😀", At: time.Date(2018, 2, 6, 13, 50, 42, 5e8, time.UTC), Count: &count, Share: 15,
		Free: jsontext.Value(`{"A":1e400,"b":[null]}`), Labels: map[string]string{"x/y": "z"},
		Money: &wire.Money{Amount: 1, Currency: "USD"}, Tags: []string{"a", ""},
	}
	require.True(t, want.At.Equal(got.At))
	want.At = got.At
	require.Equal(t, want, got)
}

func TestParseReportsSyntaxErrorsFirst(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		code     apperr.Code
		pointers []string
	}{
		``:                           {apperr.CodeMalformedJSON, nil},
		` `:                          {apperr.CodeMalformedJSON, nil},
		`{`:                          {apperr.CodeMalformedJSON, nil},
		`{"name":"a"`:                {apperr.CodeMalformedJSON, nil},
		`{"name":"a"} x`:             {apperr.CodeMalformedJSON, nil},
		`{"name":"a"}{}`:             {apperr.CodeMalformedJSON, nil},
		`{"name":"a",}`:              {apperr.CodeMalformedJSON, nil},
		`{'name':'a'}`:               {apperr.CodeMalformedJSON, nil},
		`{"name":NaN}`:               {apperr.CodeMalformedJSON, nil},
		`{"name":01}`:                {apperr.CodeMalformedJSON, nil},
		"\ufeff{\"name\":\"a\"}":     {apperr.CodeMalformedJSON, nil},
		"{\"name\":\"a\x00\"}":       {apperr.CodeMalformedJSON, nil},
		"{\"name\":\"\xff\"}":        {apperr.CodeMalformedJSON, nil},
		`{"name":"\ud800"}`:          {apperr.CodeMalformedJSON, nil},
		`{"name":"a\u0000b"}`:        {apperr.CodeMalformedJSON, nil},
		`{"free":{"\u0000":1}}`:      {apperr.CodeMalformedJSON, nil},
		`{"free":{"a":"\udc00"}}`:    {apperr.CodeMalformedJSON, nil},
		`{"name":1,"name":2}`:        {apperr.CodeDuplicateField, []string{"/name"}},
		`{"free":{"a":1,"a":1}}`:     {apperr.CodeDuplicateField, []string{"/free/a"}},
		`{"x":{"a":1,"a":1}}`:        {apperr.CodeDuplicateField, []string{"/x/a"}},
		`{"NAME":"a","naMe":1}`:      {apperr.CodeUnknownField, []string{"/NAME", "/naMe"}},
		`{"money":{"a/b":1,"~":{}}}`: {apperr.CodeUnknownField, []string{"/money/a~1b", "/money/~0"}},
	} {
		err := parseStrictly([]byte(body), new(sampleRequest))
		require.Equal(t, want.code, apperr.CodeOf(err), body)
		require.Equal(t, want.pointers, errorPointers(err), body)
	}
	require.NoError(t, parseStrictly([]byte(`{"name":"\\u0000"}`), new(sampleRequest)), "an escaped backslash is no NUL")
}

func errorPointers(err error) (all []string) {
	var e *apperr.Error
	if errors.As(err, &e) {
		for _, field := range e.Fields {
			all = append(all, field.Pointer)
		}
	}
	return all
}

func TestParseReportsEveryFieldError(t *testing.T) {
	t.Parallel()
	err := parseStrictly([]byte(`{"at":"2018-02-06T15:50:42","count":1.5,"share":"1","free":[],"labels":{"a":null,"b":1},
		"money":{"amount":9223372036854775808},"tags":["a",null,2]}`), new(sampleRequest))
	var e *apperr.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, apperr.CodeValidationFailed, e.Code)
	require.Equal(t, []apperr.FieldError{
		{Pointer: "/at", Code: "format", Detail: "Give an RFC 3339 time with its zone, such as 2018-02-06T15:50:42Z."},
		{Pointer: "/count", Code: "type", Detail: "Give a whole number of at most 64 bits."},
		{Pointer: "/free", Code: "type", Detail: "Give an object."},
		{Pointer: "/labels/a", Code: "null", Detail: "It must not be null: give a string."},
		{Pointer: "/labels/b", Code: "type", Detail: "Give a string."},
		{Pointer: "/money/amount", Code: "type", Detail: "Send minor units as a whole number of at most 64 bits: 1250 for 12.50 USD."},
		{Pointer: "/money/currency", Code: "required", Detail: "It is missing: give a string."},
		{Pointer: "/name", Code: "required", Detail: "It is missing: give a string."},
		{Pointer: "/share", Code: "type", Detail: "Give a number."},
		{Pointer: "/tags/1", Code: "null", Detail: "It must not be null: give a string."},
		{Pointer: "/tags/2", Code: "type", Detail: "Give a string."},
	}, e.Fields)
	require.Equal(t, []string{""}, errorPointers(parseStrictly([]byte(`[]`), new(sampleRequest))))
	require.Equal(t, []string{""}, errorPointers(parseStrictly([]byte(`null`), new(sampleRequest))))
}

func TestParseNamesTheMembersThatThereAre(t *testing.T) {
	t.Parallel()
	for want, into := range map[string]any{
		"It does not exist; there are amount, currency.": new(wire.Money),
		"It does not exist; the object has no members.":  new(struct{}),
	} {
		var e *apperr.Error
		require.ErrorAs(t, parseStrictly([]byte(`{"reason":"x"}`), into), &e)
		require.Equal(t, want, e.Fields[0].Detail)
	}
}

func TestParseShowsHowMoneyIsWritten(t *testing.T) {
	t.Parallel()
	for _, money := range []string{`12.5`, `1250`, `"12.50 USD"`, `[]`} {
		var e *apperr.Error
		require.ErrorAs(t, parseStrictly([]byte(`{"name":"a","share":1,"money":`+money+`}`), new(sampleRequest)), &e)
		require.Equal(t, []apperr.FieldError{{
			Pointer: "/money", Code: "type",
			Detail: `Give an object of minor units and a currency: {"amount": 1250, "currency": "USD"} for 12.50 USD.`,
		}}, e.Fields)
	}
}

func TestParseBoundsDepthAndErrorCount(t *testing.T) {
	t.Parallel()
	nested := func(depth int) []byte {
		return []byte(`{"name":"[[[","free":{"a":` + strings.Repeat("[", depth-2) + strings.Repeat("]", depth-2) + `}}`)
	}
	require.NoError(t, parseStrictly(nested(64), new(sampleRequest)))
	require.Equal(t, apperr.CodeMalformedJSON, apperr.CodeOf(parseStrictly(nested(65), new(sampleRequest))))
	require.Equal(t, apperr.CodeMalformedJSON, apperr.CodeOf(parseStrictly([]byte(strings.Repeat("[", 1<<20)), new(sampleRequest))))
	flood := parseStrictly([]byte(`{"tags":[`+strings.Repeat("1,", 1<<15)+`1]}`), new(sampleRequest))
	require.Len(t, errorPointers(flood), apperr.MaxFieldErrors)
	long := parseStrictly([]byte(`{"labels":{"`+strings.Repeat("x", 1<<15)+`":1}}`), new(sampleRequest))
	require.Less(t, len(errorPointers(long)[0]), 300)
}

func TestParseTakesOneObservationOrABatch(t *testing.T) {
	t.Parallel()
	var one, batch observationsRequest
	require.Equal(t,
		[]string{"/kind", "/source", "/source_event_id", "/stage"}, // a retraction needs none of the others
		errorPointers(parseStrictly([]byte(`{}`), &one)))
	faults, err := parseRequest([]byte(`{"observations":[{"occurred_at":"yesterday","revision":"1","measures":{"wind":{"value":1}}},
		{"source":"usgs","source_event_id":"x","kind":"earthquake","occurred_at":"2018-02-06T15:50:42Z","stage":"final","measures":{}}]}`), nil, &batch)
	require.NoError(t, err)
	require.True(t, batch.isBatch)
	require.Len(t, batch.batch, 2)
	for _, fault := range faults {
		require.Regexp(t, "^/observations/0/", fault.Pointer)
	}
	require.Len(t, faults, 8)
	require.Equal(t, "usgs", batch.batch[1].Source)
	require.Equal(t, []string{"/observations"}, errorPointers(parseStrictly([]byte(`{"observations":{}}`), &batch)))
	require.Equal(t, []string{"/observations/0/lat"}, errorPointers(parseStrictly([]byte(`{"observations":[{"lat":1}]}`), &batch)))
	require.Equal(t, []string{"/source"}, errorPointers(parseStrictly([]byte(`{"source":"usgs","observations":[]}`), &batch)))
}

// A hostile batch uses little memory, and no element with an unrecorded fault counts as
// valid.
func TestParseCountsFaultsPerBatchElement(t *testing.T) {
	t.Parallel()
	var batch observationsRequest
	faults, err := parseRequest([]byte(`{"observations":[{"aliases":[`+strings.Repeat("1,", 500)+`1]},`+strings.Repeat("{},", 300_000)+`{}]}`), nil, &batch)
	require.NoError(t, err)
	require.Len(t, batch.batch, occurrence.MaxObservations+1)
	of := map[string]int{}
	for _, fault := range faults {
		of[strings.Split(fault.Pointer, "/")[2]]++
	}
	require.Len(t, of, occurrence.MaxObservations+1)
	require.Equal(t, apperr.MaxFieldErrors+1, of["0"])
	require.Equal(t, 4, of["1000"], "kind, source, source_event_id and stage are missing")
}

// FuzzDecode compares the decoder with the JSON library: every accepted body is strict
// JSON with the same values, and no input panics.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"name":"a","count":1,"free":{"a":[]},"labels":{"a":"b"},"money":{"amount":1,"currency":"USD"}}`,
		`{"name":"\u0000"}`, `{"name":"\ud800"}`, `{"name":null,"name":1}`, `[`, `{"observations":[{"source":1}]}`,
		`{"claim_id":"clm_","type":"iban","iban":{"iban":"DE"},"beneficiary":{}}`, "\xff", `{"at":"2018-02-06T15:50:42Z"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, request := range []any{
			new(quoteRequest), new(bindRequest), new(claimRequest), new(attachmentRequest), new(messageRequest),
			new(payoutMethodRequest), new(observationsRequest),
		} {
			err := parseStrictly(body, request)
			require.NotEqual(t, apperr.CodeInternal, map[bool]apperr.Code{true: "", false: apperr.CodeOf(err)}[err == nil])
		}
		var ours, theirs sampleRequest
		if parseStrictly(body, &ours) == nil {
			if err := json.Unmarshal(body, &theirs, json.RejectUnknownMembers(true)); err != nil {
				require.Regexp(t, "int64|time", err.Error(), "a whole number may be written 1e2, a time with small letters")
				return
			}
			theirs.At = theirs.At.UTC()
			require.Equal(t, theirs, ours)
			require.NotContains(t, ours.Name, "\x00")
		}
	})
}
