package rest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTraceIsContinued(t *testing.T) {
	t.Parallel()
	const id, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for given, flags := range map[string]string{
		"00-" + id + "-" + span + "-01": "01", "00-" + id + "-" + span + "-00": "00", "00-" + id + "-" + span + "-03": "01",
		"01-" + id + "-" + span + "-01-more": "01", // a later version may have more fields
		"":                                   "", "00": "", "00-" + id + "-" + span: "", "00-" + id + "-" + span + "-01-more": "", "ff-" + id + "-" + span + "-01": "",
		"00-" + strings.ToUpper(id) + "-" + span + "-01": "", "00-" + strings.Repeat("0", 32) + "-" + span + "-01": "",
		"00-" + id + "-" + strings.Repeat("0", 16) + "-01": "", "00-" + id + "x-" + span + "-01": "", "00-" + id + "-" + span + "-é": "",
	} {
		in := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		in.Header.Set("Traceparent", given)
		got := parseTraceContext(in)
		require.Regexp(t, "^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$", got.String())
		require.Equal(t, flags != "", got.traceID == id, given)
		require.NotEqual(t, span, got.spanID, "the span is ours")
		if flags != "" {
			require.Equal(t, flags, got.flags, given)
		}
	}
}
