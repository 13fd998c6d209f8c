package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// TestRollingRestartFailsNoRequest replaces servers of the previous version by servers of
// this one and back, on one database, while clients work.
func TestRollingRestartFailsNoRequest(t *testing.T) {
	t.Parallel()
	g := newProcessGroup(t)
	_, err := g.DB.Pool.Exec(t.Context(), "update schema_compatibility set minimum_binary = 30") // a new database may refuse the previous version
	require.NoError(t, err)
	previous := buildPreviousVersion(t)
	load := newClientLoad(g.token)
	running := g.startProgram(t, previous, "parapet")
	load.setBackends(running.base)
	load.start(t, 4)
	for round, program := range []string{"", previous, ""} {
		load.awaitProgress(t, 60)
		next := g.startProgram(t, program, "parapet")
		load.setBackends(running.base, next.base)
		load.awaitProgress(t, 60)
		require.NoError(t, running.command.Process.Signal(syscall.SIGTERM))
		select {
		case <-running.exited:
		case <-time.After(time.Minute):
			t.Fatalf("round %d: the server does not end: %s", round, running.log)
		}
		require.NoError(t, running.command.Wait(), "round %d: %s", round, running.log)
		load.awaitProgress(t, 60)
		load.setBackends(next.base)
		running = next
	}
	load.stop()
	require.Empty(t, load.failures, "%d requests", load.answered.Load())
	t.Logf("%d requests, none failed", load.answered.Load())
}

// buildPreviousVersion returns the program of the commit before the newest migration,
// which meets a schema that it does not know; empty, for the program of this commit,
// without the history of the repository.
func buildPreviousVersion(t *testing.T) (program string) {
	t.Helper()
	tree := t.TempDir()
	program = filepath.Join(tree, "previous-parapet")
	script := `newest=$(git -C ../.. log -1 --diff-filter=A --format=%H -- migrations/*.sql) && git -C ../.. archive "$newest~1" | tar -x -C "$0" && cd "$0" && go build -o "$1" ./cmd/parapet`
	if out, err := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", script, tree, program).CombinedOutput(); err != nil {
		t.Logf("the commit before the newest migration cannot be built, two processes of this one are used: %v: %s", err, out)
		return ""
	}
	return program
}

// clientLoad is clients that use the servers which are ready, as a load balancer does.
type clientLoad struct {
	token    string
	client   *http.Client
	answered atomic.Int64
	next     atomic.Int64
	end      context.CancelFunc
	clients  sync.WaitGroup

	mu       sync.Mutex
	backends map[string]bool // ready
	failures []string
}

func newClientLoad(token string) *clientLoad {
	return &clientLoad{token: token, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}, Timeout: 40 * time.Second}}
}

// setBackends sets the servers; those that are new get requests once they are ready.
func (l *clientLoad) setBackends(bases ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.backends
	l.backends = map[string]bool{}
	for _, base := range bases {
		l.backends[base] = was[base]
	}
}

// start starts clients and the check of readiness.
func (l *clientLoad) start(t *testing.T, n int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l.end = cancel
	t.Cleanup(l.stop)
	l.clients.Go(func() { l.checkReadiness(ctx) })
	for range n {
		l.clients.Go(func() {
			for ctx.Err() == nil {
				l.runStory(context.WithoutCancel(ctx))
			}
		})
	}
}

func (l *clientLoad) stop() {
	l.end()
	l.clients.Wait()
}

// awaitProgress waits until n more requests are answered.
func (l *clientLoad) awaitProgress(t *testing.T, n int64) {
	t.Helper()
	until := l.answered.Load() + n
	require.Eventually(t, func() bool { return l.answered.Load() >= until }, time.Minute, 10*time.Millisecond, "%v", l.failures)
}

// checkReadiness asks each server five times a second whether it is ready.
func (l *clientLoad) checkReadiness(ctx context.Context) {
	prober := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		l.mu.Lock()
		bases := make([]string, 0, len(l.backends))
		for base := range l.backends {
			bases = append(bases, base)
		}
		l.mu.Unlock()
		for _, base := range bases {
			ready := false
			if request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil); err == nil {
				if answer, err := prober.Do(request); err == nil {
					ready = answer.StatusCode == http.StatusOK
					_ = answer.Body.Close()
				}
			}
			l.mu.Lock()
			if _, known := l.backends[base]; known {
				l.backends[base] = ready
			}
			l.mu.Unlock()
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// pickBackend returns the servers that are ready in turn; empty if there is none.
func (l *clientLoad) pickBackend() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ready []string
	for base, ok := range l.backends {
		if ok {
			ready = append(ready, base)
		}
	}
	if len(ready) == 0 {
		return ""
	}
	return ready[int(l.next.Add(1))%len(ready)]
}

// runStory creates a quote, binds it and reads the policy, each at any server.
func (l *clientLoad) runStory(ctx context.Context) {
	var quote, policy struct {
		ID string `json:"id"`
	}
	l.send(ctx, http.MethodPost, "/v1/quotes", `{"product":"quake-circle","context":{"partner":"acme"}}`, &quote)
	if quote.ID == "" {
		return
	}
	l.send(ctx, http.MethodPost, "/v1/policies", fmt.Sprintf(`{"quote_id":%q}`, quote.ID), &policy)
	l.send(ctx, http.MethodGet, "/v1/policies/"+policy.ID, "", &policy)
	l.send(ctx, http.MethodGet, "/v1/quotes", "", nil)
	l.send(ctx, http.MethodGet, "/v1/events?wait=1&after_sequence=1000000", "", nil)
}

// send sends one request and records its failure.
func (l *clientLoad) send(ctx context.Context, method, path, body string, into any) {
	base := l.pickBackend()
	if base == "" {
		return
	}
	err := l.trySend(ctx, method, base+path, body, into)
	if err == nil {
		l.answered.Add(1)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = append(l.failures, fmt.Sprintf("%s %s: %v", method, path, err))
}

func (l *clientLoad) trySend(ctx context.Context, method, url, body string, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+l.token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := l.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("status %d: %s", answer.StatusCode, text)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}
