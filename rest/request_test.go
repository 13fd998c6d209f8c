package rest

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
)

// FuzzRequest parses any query and any header: an accepted value is within its limits, a
// rejected one has a code, and nothing panics.
func FuzzRequest(f *testing.F) {
	for _, seed := range [][2]string{
		{"limit=1&cursor=a", "*/*"},
		{"limit=00101", "application/json;q=0"},
		{"status=bound&created_from=2018-02-06T15:50:42%2B24:00", `W/"x", *`},
		{"partner_reference=%00", "a b"},
		{"a;b", ";"},
		{"%zz", "\x00"},
		{"limit=1&limit=2", "application/json; charset=utf-7"},
		{"created_to=9999-12-31T23:59:60Z", "gzip"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, query, header string) {
		in := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/claims", nil)
		in.URL.RawQuery = query
		for _, name := range []string{"Accept", "Content-Type", "If-Match", "If-None-Match", "Idempotency-Key", "X-Request-Id", "Traceparent"} {
			in.Header.Set(name, header)
		}
		c := newRequestContext(httptest.NewRecorder(), in)
		c.route = &route{method: http.MethodGet, path: "/claims", isPaged: true, filters: claimFilters}
		require.True(t, isVisibleASCII(c.requestID))
		require.Regexp(t, "^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$", c.traceContext.String())
		for _, err := range []error{c.checkAccept(), c.checkContentType(), c.setIdempotencyKey([]byte("{}")), checkEntityTag(in.Header.Values("If-Match"), "record")} {
			if err != nil {
				require.NotEqual(t, apperr.CodeInternal, apperr.CodeOf(err))
			}
		}
		if key := c.actor.IdempotencyKey; key != nil {
			require.Equal(t, header, key.Key)
			require.LessOrEqual(t, len(key.Key), maxIdempotencyKey)
		}
		requireParsedQuery(t, c, query)
	})
}

// requireParsedQuery checks the values that were parsed from a query.
func requireParsedQuery(t *testing.T, c *requestContext, query string) {
	t.Helper()
	if err := c.parseQuery(); err != nil {
		require.Contains(t, []apperr.Code{apperr.CodeParameterInvalid, apperr.CodeCursorInvalid}, apperr.CodeOf(err))
		return
	}
	values, err := url.ParseQuery(query)
	require.NoError(t, err)
	page, filter := c.query.pageRequest(), c.query.listFilter()
	if err := c.query.err(); err != nil {
		require.Contains(t, []apperr.Code{apperr.CodeParameterInvalid, apperr.CodeCursorInvalid}, apperr.CodeOf(err))
		return
	}
	require.LessOrEqual(t, page.Limit, store.MaxPageSize)
	require.Equal(t, values.Has("limit"), page.Limit > 0)
	require.NotContains(t, filter.Product+filter.PartnerReference, "\x00")
	for _, at := range []*time.Time{filter.CreatedFrom, filter.CreatedTo} {
		if at != nil {
			require.Equal(t, time.UTC, at.Location())
			require.LessOrEqual(t, at.Year(), 9999)
		}
	}
}
