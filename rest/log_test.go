package rest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/rest"
)

// logLineOf sends one request and returns its only line in the log.
func logLineOf(t *testing.T, r request, change func(*rest.Config)) map[string]any {
	t.Helper()
	var log bytes.Buffer
	at := time.Unix(0, 0)
	handler := newHandler(t, func(c *rest.Config) {
		c.Log = slog.New(slog.NewJSONHandler(&log, nil))
		c.Limiter = rest.Unlimited{}
		c.Now = func() time.Time { at = at.Add(3 * time.Millisecond); return at }
		if change != nil {
			change(c)
		}
	})
	r.sendTo(t, handler)
	require.Equal(t, 1, strings.Count(log.String(), "\n"))
	require.NotContains(t, log.String(), "Bearer")
	require.NotContains(t, log.String(), "secret-in-the-body")
	var line map[string]any
	require.NoError(t, json.Unmarshal(log.Bytes(), &line))
	delete(line, "time")
	return line
}

func TestEachRequestLogsOneLine(t *testing.T) {
	t.Parallel()
	line := logLineOf(t, request{"POST", "/parametric/v1/claims/clm_x/messages", `{"body":"secret-in-the-body","x":1}`, []string{"X-Request-Id: r1", "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}, nil)
	require.Equal(t, map[string]any{
		"level": "INFO", "msg": "request", "method": "POST", "route": "/claims/{claim_id}/messages", "status": 400.0,
		"duration": 3e6, "request_id": "r1", "trace_id": "0af7651916cd43dd8448eb211c80319c", "partner": "acme", "client": "acme-client",
	}, line)
	line = logLineOf(t, request{"GET", "/v1/quotes/x", "", nil}, nil)
	require.Equal(t, "ERROR", line["level"])
	require.Contains(t, line["error"], "panic: runtime error", "a service without a database")
	line = logLineOf(t, request{"GET", "/elsewhere", "", []string{"X-Request-Id: r2"}}, nil)
	require.Equal(t, "none", line["route"])
	require.Equal(t, 404.0, line["status"])
}

func TestTimeoutReturnsUnavailable(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{context.DeadlineExceeded, apperr.Fail(apperr.CodeUnavailable, "The keys are not known.").WithCause(errors.New("dial"))} {
		line := logLineOf(t, request{"GET", "/v1/quotes/x", "", nil}, func(c *rest.Config) {
			c.Authenticate = func(ctx context.Context, _ string) (actor.Actor, error) {
				deadline, bounded := ctx.Deadline()
				require.True(t, bounded && time.Until(deadline) <= 30*time.Second)
				return actor.Actor{}, cause
			}
		})
		require.Equal(t, 503.0, line["status"])
		require.Equal(t, cause.Error(), line["error"])
	}
}

// A body of unknown length is cut off at the limit, over a real connection.
func TestStreamedBodyIsBounded(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newHandler(t, nil))
	t.Cleanup(server.Close)
	endless := io.MultiReader(strings.NewReader(`{"product":"`), strings.NewReader(strings.Repeat("x", 2<<20)))
	in, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/quotes", endless)
	require.NoError(t, err)
	in.Header.Set("Authorization", "Bearer partner")
	in.Header.Set("Content-Type", "application/json")
	response, err := server.Client().Do(in)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	require.Equal(t, http.StatusRequestEntityTooLarge, response.StatusCode)
}

func TestNewRejectsInvalidConfig(t *testing.T) {
	t.Parallel()
	for _, config := range []rest.Config{
		{},
		{Service: new(model.Service)},
		{Service: new(model.Service), Authenticate: authenticateTestToken, Family: "v1"},
		{Service: new(model.Service), Authenticate: authenticateTestToken, Family: "a/b"},
	} {
		_, err := rest.New(config)
		require.Error(t, err)
	}
}
