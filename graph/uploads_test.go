package graph_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/model/claims/adjudication"
	"parapet/model/kernel/store"
)

// uploads sends attachments of one claim.
type uploads struct {
	*fixture

	claim string
}

func openUploads(t *testing.T) *uploads {
	t.Helper()
	d := newFixture(t)
	claim, _, err := d.Service.Adjudication.Open(t.Context(), d.Acme, adjudication.ClaimRequest{PolicyID: d.QuoteAndBind("quake-circle", nil).ID})
	require.NoError(t, err)
	return &uploads{d, claim.ID}
}

// post sends a body. A streamed body has no Content-Length.
func (u *uploads) post(t *testing.T, body string, streamed bool) response {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/graphql", strings.NewReader(body))
	request.Header = http.Header{"Authorization": {"acme"}, "Content-Type": {jsonType}, "Accept": {responseType}}
	if streamed {
		request.ContentLength = -1
	}
	recorder := httptest.NewRecorder()
	u.ServeHTTP(recorder, request)
	out := response{status: recorder.Code, body: recorder.Body.String()}
	require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &out, json.MatchCaseInsensitiveNames(true)), out.body)
	require.Less(t, len(out.body), 2000, "a body is not sent back")
	return out
}

// body is a request with variables in JSON.
func (u *uploads) body(document, variables string) string {
	text, _ := json.Marshal(strings.ReplaceAll(document, "CLAIM", u.claim))
	return `{"query":` + string(text) + `,"variables":` + strings.ReplaceAll(variables, "CLAIM", u.claim) + `}`
}

// kept returns the sizes and digests of the claim's attachments, oldest first.
func (u *uploads) kept(t *testing.T) (all []string) {
	t.Helper()
	page, err := u.Service.Claims.GetAttachments(t.Context(), u.Acme, u.claim, store.PageRequest{Limit: 100})
	require.NoError(t, err)
	for _, a := range page.Data {
		all = append([]string{fmt.Sprint(a.Size, " ", a.SHA256)}, all...)
	}
	return all
}

// content returns size bytes of text in base64, and their size and digest as the API
// returns them.
func content(letter string, size int) (encoded, kept string) {
	text := strings.Repeat(letter, size)
	digest := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString([]byte(text)), fmt.Sprint(size, " ", hex.EncodeToString(digest[:]))
}

const (
	byInput  = `mutation($in: AddAttachmentInput!) { addAttachment(input: $in) { attachment { size } } }`
	inputs   = `{"in":{"claimId":"CLAIM","fileName":"a.txt","contentType":"text/plain","contentBase64":"%s"}}`
	byText   = `mutation($c: String!) { ...A } fragment A on Mutation { ... on Mutation { addAttachment(input: {claimId: "CLAIM", fileName: "a.txt", contentType: "text/plain", contentBase64: $c}) { attachment { size } } } }`
	twice    = `mutation($c: String!, $d: String!) { a: addAttachment(input: {claimId: "CLAIM", fileName: "a.txt", contentType: "text/plain", contentBase64: $c}) { attachment { size } } b: addAttachment(input: {claimId: "CLAIM", fileName: "b.txt", contentType: "text/plain", contentBase64: $d}) { attachment { size } } }`
	repeated = `mutation($c: String!) { a: addAttachment(input: {claimId: "CLAIM", fileName: "a.txt", contentType: "text/plain", contentBase64: $c}) { attachment { size } } b: addAttachment(input: {claimId: "CLAIM", fileName: "b.txt", contentType: "text/plain", contentBase64: $c}) { attachment { size } } }`
)

func TestLongContentIsStoredAsItWasSent(t *testing.T) {
	t.Parallel()
	long, longKept := content("x", 2<<20)
	other, otherKept := content("y", 3<<20)
	short, shortKept := content("z", 5)
	middle, middleKept := content("w", 100<<10)
	for name, c := range map[string]struct {
		document, variables string
		want                []string
	}{
		"in an input":                {byInput, fmt.Sprintf(inputs, long), []string{longKept}},
		"with escapes":               {byInput, fmt.Sprintf(inputs, strings.ReplaceAll(long, "eH", `\u0065H`)), []string{longKept}},
		"as text, in fragments":      {byText, `{"c":"` + long + `"}`, []string{longKept}},
		"two":                        {twice, `{"c":"` + long + `","d":"` + other + `"}`, []string{longKept, otherKept}},
		"two in the other order":     {twice, `{"d":"` + long + `","c":"` + other + `"}`, []string{otherKept, longKept}},
		"a short one with it":        {twice, `{"c":"` + short + `","d":"` + other + `"}`, []string{shortKept, otherKept}},
		"twice":                      {repeated, `{"c":"` + long + `"}`, []string{longKept, longKept}},
		"of a hundred KiB, streamed": {byInput, fmt.Sprintf(inputs, middle), []string{middleKept}},
		"of a few bytes, streamed":   {byInput, fmt.Sprintf(inputs, short), []string{shortKept}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := openUploads(t)
			for _, streamed := range []bool{true, false} {
				out := u.post(t, u.body(c.document, c.variables), streamed)
				require.Empty(t, out.Errors, out.body)
			}
			require.Equal(t, append(c.want, c.want...), u.kept(t))
		})
	}
}

// Any other long string is rejected before anything is done.
func TestLongTextIsRefusedEverywhereElse(t *testing.T) {
	t.Parallel()
	u := openUploads(t)
	long, _ := content("x", 2<<20)
	const one, note = `addAttachment(input: {claimId: "CLAIM", fileName: "a.txt", contentType: "text/plain", contentBase64: "eA=="}) { attachment { id } }`,
		`addMessage(input: {claimId: "CLAIM", body: $c}) { message { id } }`
	text := `{"c":"` + long + `"}`
	for name, body := range map[string]string{
		"another member of the input":   u.body(byInput, strings.Replace(fmt.Sprintf(inputs, "eA=="), "a.txt", long, 1)),
		"another mutation":              u.body(`mutation($c: String!) { `+note+one+` }`, text),
		"content and another mutation":  u.body(strings.Replace(byText, "{ ...A }", "{ ...A "+note+" }", 1), text),
		"content and its name":          u.body(strings.Replace(byText, `"a.txt"`, "$c", 1), text),
		"content and metadata":          u.body(strings.Replace(byText, "{ ...A }", `{ ...A openClaim(input: {policyId: "pol_1", metadata: {a: $c}}) { claim { id } } }`, 1), text),
		"content and an argument below": u.body(strings.Replace(byText, "{ ...A }", `{ ...A openClaim(input: {policyId: "pol_1"}) { claim { messages(after: $c) { nodes { id } } } } }`, 1), text),
		"an element of a list":          u.body(`query($c: [ID!]!) { nodes(ids: $c) { id } }`, `{"c":["`+long+`"]}`),
		"one id for a list":             u.body(`query($c: ID!) { nodes(ids: [$c]) { id } }`, text),
		"a text for a list":             u.body(`query($c: [ID!]!) { nodes(ids: $c) { id } }`, text),
		"metadata of the same name":     u.body(strings.Replace(byText, "{ ...A }", `{ ...A openClaim(input: {policyId: "pol_1", metadata: {contentBase64: $c}}) { claim { id } } }`, 1), text),
		"another one in a fragment":     u.body(strings.Replace(byText, "{ ...A }", `{ ...B ...A } fragment B on Mutation { `+note+` }`, 1), text),
		"another one in a condition":    u.body(strings.Replace(byText, "{ ...A }", `{ ...A ... on Mutation { `+note+` } }`, 1), text),
		"more than 15 MiB":              u.body(byInput, fmt.Sprintf(inputs, strings.Repeat(long, 6))),
		"a variable of no declaration":  u.body(`mutation { `+one+` }`, text),
		"a member of a string":          u.body(`mutation($c: Metadata) { `+one+` openClaim(input: {policyId: "pol_1", metadata: $c}) { claim { id } } }`, `{"c":{"contentBase64":"`+long+`"}}`),
		"the name of a variable":        u.body(`mutation { `+one+` }`, `{"`+long+`":1}`),
		"a literal":                     u.body(strings.Replace(strings.Replace(byText, "$c}", `"`+long+`"}`, 1), "($c: String!)", "", 1), `{}`),
		"a query":                       u.body(`query($c: ID!) { claim(id: $c) { id } }`, text),
		"extensions":                    strings.Replace(u.body(`mutation { `+one+` }`, `{}`), "{", `{"extensions":{"a":"`+long+`"},`, 1),
		"content and much else":         u.body(byInput, strings.Replace(fmt.Sprintf(inputs, long), "}}", `},"b":[`+strings.Repeat(`"`+strings.Repeat("b", 1000)+`",`, 1050)+`1]}`, 1)),
		"two, one of them elsewhere":    u.body(strings.Replace(twice, `"b.txt"`, "$d", 1), `{"c":"`+long+`","d":"`+long+`"}`),
		"blanks":                        u.body(byInput, fmt.Sprintf(inputs, "eA==")+strings.Repeat(" ", 1<<20)),
	} {
		for _, streamed := range []bool{true, false} {
			out := u.post(t, body, streamed)
			require.Equal(t, "body_too_large", out.errorCode(), "%s: %s", name, out.body)
			require.Equal(t, http.StatusRequestEntityTooLarge, out.status, name)
			require.Contains(t, out.body, "15 MiB", name)
			require.Nil(t, out.Data, name)
		}
	}
	require.Empty(t, u.kept(t))
	require.Empty(t, u.loggedCauses)
}

// A type error is reported as such; a long value is rejected like a short one.
func TestLongTextOfTheWrongTypeIsInvalid(t *testing.T) {
	t.Parallel()
	u := openUploads(t)
	long, _ := content("x", 2<<20)
	for document, variables := range map[string]string{
		`query($c: Int!) { claims(first: $c) { nodes { id } } }`:              `{"c":"` + long + `"}`,
		`query($c: ClaimFilter!) { claims(filter: $c) { nodes { id } } }`:     `{"c":{"status":"` + long + `"}}`,
		`mutation($c: Boolean!) { ` + byInput[strings.Index(byInput, "add"):]: `{"c":"` + long + `"}`,
		byInput: strings.Replace(fmt.Sprintf(inputs, "eA=="), `"fileName"`, `"`+long+`":1,"fileName"`, 1),
	} {
		out := u.post(t, u.body(document, variables), false)
		require.Equal(t, "validation_failed", out.errorCode(), "%s: %s", document, out.body)
		require.Nil(t, out.Data)
	}
	require.Empty(t, u.kept(t))
}

// Requests with the same content are equal, however the content was sent.
func TestContentIsComparedByItsBytes(t *testing.T) {
	t.Parallel()
	u := openUploads(t)
	const in = `{"in":{"claimId":"CLAIM","fileName":"a.txt","contentType":"text/plain","contentBase64":"%s","clientMutationId":"%d"}}`
	const literal = `mutation { addAttachment(input: {contentBase64: "%s", clientMutationId: "%d", fileName: "a.txt", contentType: "text/plain", claimId: "CLAIM"}) { attachment { size } } }`
	small, smallKept := content("x", 10<<10)
	large, largeKept := content("x", 100<<10)
	other, _ := content("y", 100<<10)
	for i, c := range []struct {
		body     string
		streamed bool
		replayed bool
	}{
		{u.body(byInput, fmt.Sprintf(in, small, 1)), false, false},
		{u.body(byInput, fmt.Sprintf(in, small, 1)), true, true},
		{u.body(fmt.Sprintf(literal, small, 1), `{}`), false, true},
		{u.body(fmt.Sprintf(literal, small, 1), `{}`), true, true},
		{u.body(byInput, fmt.Sprintf(in, large, 2)), true, false},
		{u.body(byInput, fmt.Sprintf(in, large, 2)), false, true},
		{u.body(byInput, fmt.Sprintf(in, strings.ReplaceAll(large, "e", `\u0065`), 2)), true, true},
		{u.body(byInput, fmt.Sprintf(in, large, 2)+strings.Repeat(" ", 1<<20)), false, true},
	} {
		out := u.post(t, c.body, c.streamed)
		require.Empty(t, out.Errors, "%d: %s", i, out.body)
		require.Equal(t, c.replayed, strings.Contains(out.body, `"replayed":["addAttachment"]`), "%d: %s", i, out.body)
	}
	require.Equal(t, []string{smallKept, largeKept}, u.kept(t))
	require.Equal(t, "idempotency_key_reused", u.post(t, u.body(byInput, fmt.Sprintf(in, other, 2)), true).errorCode())
}

// Content that was decoded during its arrival is validated like content that arrived as a
// whole.
func TestLongContentIsJudgedLikeShortContent(t *testing.T) {
	t.Parallel()
	u := openUploads(t)
	long, _ := content("x", 2<<20)
	large, _ := content("x", 10<<20+1)
	digest := sha256.Sum256([]byte(strings.Repeat("x", 2<<20)))
	short := u.post(t, u.body(byInput, fmt.Sprintf(inputs, "data:text/plain;base64,eA==")), false)
	require.Equal(t, "validation_failed", short.errorCode())
	for _, text := range []string{"data:text/plain;base64," + long, long + "*", long[:len(long)-1], long + "=" + long} {
		out := u.post(t, u.body(byInput, fmt.Sprintf(inputs, text)), false)
		require.Equal(t, short.body, out.body)
	}
	out := u.post(t, u.body(byInput, fmt.Sprintf(inputs, large)), false)
	require.Contains(t, out.body, "A file has at most 10 MiB.")
	forged := fmt.Sprintf(inputs, hex.EncodeToString(digest[:]))
	out = u.post(t, u.body(byInput, strings.Replace(forged, `}}`, `},"d":"`+long+`"}`, 1)), false)
	require.Equal(t, "body_too_large", out.errorCode(), "the digest of a content is not the content")
	require.Empty(t, u.kept(t))
}

func TestLongBodiesOfWrongJSONAreRefusedWhereTheyGoWrong(t *testing.T) {
	t.Parallel()
	u := openUploads(t)
	long, _ := content("x", 2<<20)
	good := u.body(byInput, fmt.Sprintf(inputs, long))
	for name, c := range map[string]struct{ old, with, code, at string }{
		"a comma":           {`}}}`, `,,}}}`, "malformed_json", ",,"},
		"NUL":               {`}}}`, `},"b":"\u0000"}}`, "malformed_json", `\u0000`},
		"nesting":           {`}}}`, `},"b":` + strings.Repeat("[", 100), "malformed_json", strings.Repeat("[", 38)},
		"a member twice":    {`"fileName"`, `"contentBase64":"` + long + `","fileName"`, "duplicate_field", ""},
		"half a character":  {long, long + `\ud800`, "malformed_json", ""},
		"an end too early":  {`"}}}`, ``, "malformed_json", ""},
		"a control":         {long, "\x01" + long, "malformed_json", ""},
		"an unknown escape": {long, long + `\x`, "malformed_json", ""},
	} {
		sent := strings.Replace(good, c.old, c.with, 1)
		out := u.post(t, sent, false)
		require.Equal(t, c.code, out.errorCode(), "%s: %s", name, out.body)
		if c.at != "" {
			column := strings.LastIndex(sent, c.at) + 1
			if c.at == ",," {
				column++ // the second digit is one too many
			}
			require.Contains(t, out.body, fmt.Sprintf("line 1, column %d.", column), name)
		}
	}
	require.Empty(t, u.kept(t))
	require.Empty(t, u.loggedCauses)
}
