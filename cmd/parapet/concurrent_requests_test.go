package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
	"parapet/model/wire"
)

// response is a process's response to a request; status 0 means that the process had
// ended.
type response struct {
	status int
	header http.Header
	body   string
}

// postJSON sends a request with an Idempotency-Key.
func (c *processGroup) postJSON(ctx context.Context, p *serverProcess, path, key, body string) response {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+"/v1"+path, strings.NewReader(body))
	if err != nil {
		return response{body: err.Error()}
	}
	request.Header = http.Header{"Authorization": {"Bearer " + c.token}, "Content-Type": {"application/json"}, "Idempotency-Key": {key}}
	said, err := http.DefaultClient.Do(request)
	if err != nil {
		return response{body: err.Error()}
	}
	defer func() { _ = said.Body.Close() }()
	text, err := io.ReadAll(said.Body)
	if err != nil {
		return response{body: err.Error()}
	}
	return response{said.StatusCode, said.Header, string(text)}
}

func (a response) errorCode() string {
	var problem struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal([]byte(a.body), &problem)
	return problem.Code
}

// postConcurrently sends the same request a hundred times, to all processes concurrently,
// and returns the only response.
func (c *processGroup) postConcurrently(t *testing.T, processes []*serverProcess, path, body string) string {
	t.Helper()
	answers := make([]response, 100)
	ready := make(chan struct{})
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			<-ready
			answers[i] = c.postJSON(t.Context(), processes[i%len(processes)], path, "all-at-once", body)
		})
	}
	close(ready)
	all.Wait()
	counts := map[string]int{}
	var bodies []string
	for _, a := range answers {
		counts[fmt.Sprint(a.status, a.header.Get("Idempotent-Replayed"))]++
		if a.status == http.StatusCreated {
			bodies = append(bodies, a.body)
			require.Equal(t, bodies[0], a.body, "one answer")
			continue
		}
		require.Equal(t, http.StatusConflict, a.status, a.body)
		require.Equal(t, string(apperr.CodeIdempotencyInFlight), a.errorCode())
		require.NotEmpty(t, a.header.Get("Retry-After"))
	}
	t.Logf("%s: %v", path, counts)
	require.Equal(t, 1, counts["201"], "one effect: %v", counts)
	for _, p := range processes {
		again := c.postJSON(t.Context(), p, path, "all-at-once", body)
		require.Equal(t, []any{http.StatusCreated, "true", bodies[0]}, []any{again.status, again.header.Get("Idempotent-Replayed"), again.body})
	}
	return bodies[0]
}

const quoteBody = `{"product": "quake-circle", "context": {"partner": "acme"}}`

// The test sends the same key a hundred times concurrently to two server processes: one
// effect and one result. Early repeats are answered by 409 with Retry-After.
func TestSameKeyConcurrentlyOverTwoProcesses(t *testing.T) {
	t.Parallel()
	c := newProcessGroup(t)
	processes := []*serverProcess{c.startProcess(t, "parapet"), c.startProcess(t, "parapet")}
	var quote wire.Quote
	require.NoError(t, json.Unmarshal([]byte(c.postConcurrently(t, processes, "/quotes", quoteBody)), &quote))
	var policy wire.Policy
	require.NoError(t, json.Unmarshal([]byte(c.postConcurrently(t, processes, "/policies", fmt.Sprintf(`{"quote_id": %q}`, quote.ID))), &policy))
	c.postConcurrently(t, processes, "/claims", fmt.Sprintf(`{"policy_id": %q, "description": "the lobby is flooded"}`, policy.ID))
	rows := c.CountRows()
	for _, table := range []string{"quotes", "policies", "claims"} {
		require.Equal(t, 1, rows[table], table)
	}
	require.Equal(t, 3, rows["idempotency_keys"])
}

// A process dies during a request while its transaction waits for a lock: its key is free
// again before the lock is released.
func TestIdempotencyKeyIsReleasedWhenItsProcessDies(t *testing.T) {
	t.Parallel()
	c := newProcessGroup(t)
	doomed, other := c.startProcess(t, "parapet"), c.startProcess(t, "parapet")
	var quote wire.Quote
	require.NoError(t, json.Unmarshal([]byte(c.postJSON(t.Context(), other, "/quotes", "quote", quoteBody).body), &quote))
	bind := fmt.Sprintf(`{"quote_id": %q, "partner_reference": "ref-1"}`, quote.ID)
	hold := c.BlockReference("ref-1")
	lost := make(chan response, 1)
	go func() { lost <- c.postJSON(t.Context(), doomed, "/policies", "bind", bind) }()
	hold.AwaitWaiter()
	busy := c.postJSON(t.Context(), other, "/policies", "bind", bind)
	require.Equal(t, string(apperr.CodeIdempotencyInFlight), busy.errorCode(), busy.body)
	doomed.killNow()
	require.Zero(t, (<-lost).status)
	require.Eventually(t, func() bool {
		var waits bool
		err := c.DB.Pool.QueryRow(t.Context(), "select exists (select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database())").Scan(&waits)
		return err == nil && !waits
	}, time.Minute, 50*time.Millisecond, "the database lets go of what the process did")
	hold.Release()
	require.Eventually(t, func() bool {
		return c.postJSON(t.Context(), other, "/policies", "bind", bind).status == http.StatusCreated
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, 2, c.CountRows()["policies"], "this one and the one that was in the way")
}
