package rest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
)

func TestParametersAreStrict(t *testing.T) {
	t.Parallel()
	handler := newHandler(t, nil)
	for query, want := range map[string][]string{
		"limit=": {"/limit value"}, "limit": {"/limit value"}, "limit=05": {"/limit value"}, "limit=%2B5": {"/limit value"}, "limit=+5": {"/limit value"}, "limit=5+": {"/limit value"},
		"limit=5.0": {"/limit value"}, "limit=1e1": {"/limit value"}, "limit=-1": {"/limit value"}, "limit=101": {"/limit value"}, "limit=99999999999999999999": {"/limit value"},
		"limit=%D9%A5": {"/limit value"}, "limit=5%00": {"/limit value"}, "limit=1&limit=1": {"/limit duplicate"},
		"cursor=a&cursor=a": {"/cursor duplicate"}, "Limit=1": {"/Limit unknown"}, "limit[]=1": {"/limit[] unknown"}, "=1": {"/ unknown"}, "a/b~=1": {"/a~1b~0 unknown"},
		"%00=1": {"/\x00 unknown"}, "%FF=1": {"/\uFFFD unknown"}, strings.Repeat("x", 300) + "=1": {" unknown"},
		"page=2&limit=0&sort=x&status=a&status=b":                          {"/page unknown", "/sort unknown", "/status duplicate"},
		"status=&limit=0&created_from=now&created_to=2018-02-06T15:50:42Z": {"/created_from format", "/limit value", "/status value"},
		"created_from=2018-02-06":                                          {"/created_from format"}, "created_from=2018-02-06T15:50:42": {"/created_from format"}, "created_from=2018-02-06T15:50:42+02:00": {"/created_from format"},
		"created_from=2018-02-06T5:50:42Z": {"/created_from format"}, "created_from=2018-02-06T15:50:42,5Z": {"/created_from format"}, "created_from=1517932242": {"/created_from format"},
		"created_from=0000-01-01T00:00:00Z": {"/created_from format"}, "created_to=9999-12-31T23:59:59-01:00": {"/created_to format"}, "created_from=": {"/created_from format"},
		"partner_reference=a%0Ab": {"/partner_reference value"}, "product=%00": {"/product value"}, "product=%C3%28": {"/product value"}, "product=" + strings.Repeat("x", 513): {"/product value"},
	} {
		p := requireProblem(t, request{"GET", "/v1/quotes?" + query, "", nil}.sendTo(t, handler))
		require.Equal(t, 400, p.Status, query)
		require.Equal(t, string(apperr.CodeParameterInvalid), p.Code, query)
		require.Equal(t, want, errorList(p), query)
	}
	for _, query := range []string{"limit=%zz", "%", "limit=1;cursor=2", "limit=%f"} {
		p := requireProblem(t, request{"GET", "/v1/quotes?" + query, "", nil}.sendTo(t, handler))
		require.Equal(t, string(apperr.CodeParameterInvalid), p.Code, query)
		require.Equal(t, []string{" format"}, errorList(p), query)
		require.Contains(t, p.Detail, "not well formed", query)
	}
	p := requireProblem(t, request{"GET", "/v1/quotes?page=2", "", nil}.sendTo(t, handler))
	require.Equal(t, "The parameter page is not right: There is no such parameter here; there are status, product, partner_reference, created_from, created_to, limit, cursor.", p.Detail)
	p = requireProblem(t, request{"POST", "/v1/quotes?dry_run=true", quoteBody, nil}.sendTo(t, handler))
	require.Equal(t, "The parameter dry_run is not right: There is no such parameter here; this address takes none.", p.Detail)
}

func TestCursorsAreStrict(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	for _, cursor := range []string{"", "x", "%00", "%FF", "+", strings.Repeat("A", 5000)} {
		p := requireProblem(t, h.expectStatus(t, 400, request{"GET", "/v1/quotes?cursor=" + cursor, "", nil}))
		require.Equal(t, string(apperr.CodeCursorInvalid), p.Code, cursor)
		require.Equal(t, []string{"/cursor value"}, errorList(p), cursor)
	}
	for query, want := range map[string]string{"/v1/quotes?status=PRICED": "/status value", "/v1/claims?policy_id=quo_01h455vb4pex5vsknk084sn02q": "/policy_id value"} {
		p := requireProblem(t, h.expectStatus(t, 400, request{"GET", query, "", nil}))
		require.Equal(t, string(apperr.CodeParameterInvalid), p.Code)
		require.Equal(t, []string{want}, errorList(p))
	}
}
