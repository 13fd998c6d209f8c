package rest

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
)

// respondTo returns the response to an error, as the caller receives it.
func respondTo(t *testing.T, err error) (*httptest.ResponseRecorder, string) {
	t.Helper()
	var log strings.Builder
	s := &server{Config: Config{Log: slog.New(slog.NewTextHandler(&log, nil))}}
	recorder := httptest.NewRecorder()
	in := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/parametric/v1/x", nil)
	in.Header.Set("X-Request-Id", "req")
	c := newRequestContext(recorder, in)
	s.writeProblem(t.Context(), c, err)
	s.logRequest(t.Context(), c)
	return recorder, log.String()
}

func TestProblemContainsTheErrorsFields(t *testing.T) {
	t.Parallel()
	e := apperr.Fail(apperr.CodeTriggerNotMet, "Missed.").WithCause(errors.New("secret"))
	e.ResourceID, e.RetryAfter, e.Extra = "pol_1", 1500*time.Millisecond, map[string]any{"index": "5.9", "threshold": "6.0"}
	e.Fields = []apperr.FieldError{{Pointer: "/a", Code: "b", Detail: "c"}}
	recorder, log := respondTo(t, fmt.Errorf("wrapped: %w", e))
	require.Equal(t, 422, recorder.Code)
	require.Equal(t, "2", recorder.Header().Get("Retry-After"))
	require.JSONEq(t, `{"type":"/docs/errors/trigger_not_met","title":"The trigger is not met","status":422,"detail":"Missed.",
		"instance":"/parametric/v1/x","code":"trigger_not_met","request_id":"req","retryable":true,"resource_id":"pol_1",
		"errors":[{"pointer":"/a","code":"b","detail":"c"}],"index":"5.9","threshold":"6.0"}`, recorder.Body.String())
	require.NotContains(t, log, "secret")
}

func TestInternalErrorTextIsOnlyLogged(t *testing.T) {
	t.Parallel()
	unwritable := apperr.Fail(apperr.CodeStateConflict, "No.")
	unwritable.Extra = map[string]any{"status": 1}
	for name, c := range map[string]struct {
		err    error
		status int
		logged string
	}{
		"plain":             {errors.New("secret"), 500, "secret"},
		"internal":          {apperr.Fail(apperr.CodeInternal, "secret"), 500, "secret"},
		"unknown code":      {apperr.Fail("brand_new", "secret"), 500, "secret"},
		"unavailable":       {apperr.Fail(apperr.CodeUnavailable, "Later.").WithCause(errors.New("secret")), 503, "secret"},
		"a member too many": {unwritable, 409, "duplicate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recorder, log := respondTo(t, c.err)
			require.Equal(t, c.status, recorder.Code)
			require.NotContains(t, recorder.Body.String(), "secret")
			require.Contains(t, log, c.logged)
			require.Contains(t, log, "request_id=req")
			require.Equal(t, c.status == 503, recorder.Header().Get("Retry-After") == "1", "a retryable error says when")
		})
	}
}
