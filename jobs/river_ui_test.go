package jobs

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"riverqueue.com/riverui"
)

func TestRiverUIHasSecurityHeaders(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	queue, err := NewQueue(s.pool)
	require.NoError(t, err)
	handler, err := riverui.NewHandler(&riverui.HandlerOpts{Endpoints: riverui.NewEndpoints(queue.client, nil), Logger: slog.New(slog.DiscardHandler), Prefix: "/ops/jobs"})
	require.NoError(t, err)
	answer := httptest.NewRecorder()
	(&RiverUI{handler}).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/ops/jobs/", http.NoBody))
	require.Equal(t, http.StatusOK, answer.Code)
	for name, value := range map[string]string{
		"Content-Security-Policy": riverUISecurityPolicy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
	} {
		require.Equal(t, value, answer.Header().Get(name), name)
	}
}
