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

	"parapet/model"
	"parapet/model/wire"
)

// answer is what a process said to a request; status 0 when it was gone.
type answer struct {
	status int
	header http.Header
	body   string
}

// post asks with an Idempotency-Key.
func (c *cloud) post(ctx context.Context, p *process, path, key, body string) answer {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+"/v1"+path, strings.NewReader(body))
	if err != nil {
		return answer{body: err.Error()}
	}
	request.Header = http.Header{"Authorization": {"Bearer " + c.token}, "Content-Type": {"application/json"}, "Idempotency-Key": {key}}
	said, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{body: err.Error()}
	}
	defer func() { _ = said.Body.Close() }()
	text, err := io.ReadAll(said.Body)
	if err != nil {
		return answer{body: err.Error()}
	}
	return answer{said.StatusCode, said.Header, string(text)}
}

func (a answer) code() string {
	var problem struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal([]byte(a.body), &problem)
	return problem.Code
}

// atOnce asks all processes the same together, a hundred times, and returns the one
// answer there may be.
func (c *cloud) atOnce(t *testing.T, processes []*process, path, body string) string {
	t.Helper()
	answers := make([]answer, 100)
	ready := make(chan struct{})
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			<-ready
			answers[i] = c.post(t.Context(), processes[i%len(processes)], path, "all-at-once", body)
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
		require.Equal(t, string(model.CodeIdempotencyInFlight), a.code())
		require.NotEmpty(t, a.header.Get("Retry-After"))
	}
	t.Logf("%s: %v", path, counts)
	require.Equal(t, 1, counts["201"], "one effect: %v", counts)
	for _, p := range processes {
		again := c.post(t.Context(), p, path, "all-at-once", body)
		require.Equal(t, []any{http.StatusCreated, "true", bodies[0]}, []any{again.status, again.header.Get("Idempotent-Replayed"), again.body})
	}
	return bodies[0]
}

const cloudQuote = `{"product": "quake-circle", "context": {"partner": "acme"}}`

// The same key a hundred times at once over two server processes: one effect, one
// answer, and whoever comes too early is told to wait.
func TestHundredTimesAtOnceOverTwoProcesses(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	processes := []*process{c.start(t, "parapet"), c.start(t, "parapet")}
	var quote wire.Quote
	require.NoError(t, json.Unmarshal([]byte(c.atOnce(t, processes, "/quotes", cloudQuote)), &quote))
	var policy wire.Policy
	require.NoError(t, json.Unmarshal([]byte(c.atOnce(t, processes, "/policies", fmt.Sprintf(`{"quote_id": %q}`, quote.ID))), &policy))
	c.atOnce(t, processes, "/claims", fmt.Sprintf(`{"policy_id": %q, "description": "the lobby is flooded"}`, policy.ID))
	rows := c.Rows()
	for _, table := range []string{"quotes", "policies", "claims"} {
		require.Equal(t, 1, rows[table], table)
	}
	require.Equal(t, 3, rows["idempotency_keys"])
}

// A process dies in the middle of a request, while its transaction waits for a lock:
// its key is free again before anybody lets the lock go.
func TestTheKeyOfAKilledProcessIsFreeAgain(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	doomed, other := c.start(t, "parapet"), c.start(t, "parapet")
	var quote wire.Quote
	require.NoError(t, json.Unmarshal([]byte(c.post(t.Context(), other, "/quotes", "quote", cloudQuote).body), &quote))
	bind := fmt.Sprintf(`{"quote_id": %q, "partner_reference": "ref-1"}`, quote.ID)
	hold := c.HoldReference("ref-1")
	lost := make(chan answer, 1)
	go func() { lost <- c.post(t.Context(), doomed, "/policies", "bind", bind) }()
	hold.AwaitWaiter()
	busy := c.post(t.Context(), other, "/policies", "bind", bind)
	require.Equal(t, string(model.CodeIdempotencyInFlight), busy.code(), busy.body)
	doomed.kill()
	require.Zero(t, (<-lost).status)
	require.Eventually(t, func() bool {
		var waits bool
		err := c.DB.Pool.QueryRow(t.Context(), "select exists (select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database())").Scan(&waits)
		return err == nil && !waits
	}, time.Minute, 50*time.Millisecond, "the database lets go of what the process did")
	hold.Release()
	require.Eventually(t, func() bool {
		return c.post(t.Context(), other, "/policies", "bind", bind).status == http.StatusCreated
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, 2, c.Rows()["policies"], "this one and the one that was in the way")
}
