package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// spanCollector holds the names of the spans that a collector received, by trace.
type spanCollector struct {
	mu     sync.Mutex
	traces map[string][]string
}

// ServeHTTP receives spans as a collector does.
func (c *spanCollector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var sent collector.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(body, &sent) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range sent.GetResourceSpans() {
		for _, scope := range of.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				id := hex.EncodeToString(span.GetTraceId())
				c.traces[id] = append(c.traces[id], span.GetName())
			}
		}
	}
}

func (c *spanCollector) spansOf(trace string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.traces[trace]
}

// Not parallel: environment variables configure OpenTelemetry.
func TestOneTraceCoversRequestJobsAndRail(t *testing.T) {
	c := &spanCollector{traces: map[string][]string{}}
	server := httptest.NewServer(c)
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
	w := newTestStack(t)
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	body := fmt.Sprintf(`{"claim_id": %q, "type": "iban", "currency": "USD", "beneficiary": {"name": "Hualien Hotel Ltd", "country": "TW"}, "iban": {"iban": %q}}`, w.claim, demoIBAN)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.info.BaseURL+"/v1/payout_methods", strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+w.info.Clients[0].Token)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusCreated, answer.StatusCode)
	require.Contains(t, answer.Header.Get("Traceparent"), "00-"+trace+"-")
	want := []string{"POST /payout_methods", "job verify_payout_method", "job release_payout", "rail simulator"}
	require.Eventually(t, func() bool {
		seen := strings.Join(c.spansOf(trace), "\n")
		for _, name := range want {
			if !strings.Contains(seen, name) {
				return false
			}
		}
		return true
	}, time.Minute, 50*time.Millisecond, "one trace has them all")
}
