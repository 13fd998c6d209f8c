package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/internal/devpg"
	"parapet/model/kernel/replica"
	"parapet/model/modeltest"
)

// replicaFixture is a primary with a streaming standby, and the settings of a server.
type replicaFixture struct {
	*processGroup

	primary, standby *devpg.Server
}

func newReplicaFixture(t *testing.T) *replicaFixture {
	t.Helper()
	f := &replicaFixture{}
	var err error
	f.primary, err = devpg.Start(t.Context(), devpg.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.primary.Stop(context.Background())) })
	require.NoError(t, f.primary.CreateDatabase(t.Context(), "parapet"))
	// The development server writes its log up to 0.6 s after a commit, and streams what
	// is written.
	execOn(t, f.primary, "alter database parapet set synchronous_commit = on")
	bundle := modeltest.New(t, modeltest.OnServer(f.primary.URL("parapet")), modeltest.WithoutChecks())
	f.standby = f.startStandby(t, f.primary)
	f.processGroup = newProcessGroupOn(t, bundle)
	return f
}

func (f *replicaFixture) startStandby(t *testing.T, of *devpg.Server) *devpg.Server {
	t.Helper()
	standby, err := of.StartStandby(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = standby.Stop(context.Background()) }) // a test may have killed it
	return standby
}

// execOn runs a statement on a server as its superuser.
func execOn(t *testing.T, server *devpg.Server, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.URL("parapet"))
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), statement)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
}

// replicaApp is a server that reads from replicas.
type replicaApp struct {
	*app

	base, token string
}

// serve starts a server on a primary with replicas.
func (f *replicaFixture) serve(t *testing.T, primary *devpg.Server, replicas ...*devpg.Server) *replicaApp {
	t.Helper()
	urls := make([]string, len(replicas))
	for i, server := range replicas {
		urls[i] = server.URL("parapet")
	}
	environment := map[string]string{}
	for _, pair := range slices.Concat(f.environment, []string{"DATABASE_URL=" + primary.URL("parapet"), "PARAPET_REPLICA_URLS=" + strings.Join(urls, ","), "PARAPET_ROLES=api"}) {
		name, value, _ := strings.Cut(pair, "=")
		environment[name] = value
	}
	s, err := env.ParseAsWithOptions[settings](env.Options{Environment: environment})
	require.NoError(t, err)
	keys, err := s.parseKeys()
	require.NoError(t, err)
	built, err := newApp(t.Context(), s, keys, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(built.closeAll)
	server := httptest.NewServer(built.handler)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		built.db.Replicas.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return &replicaApp{app: built, base: server.URL, token: f.token}
}

// awaitState waits until the app sees a replica in a state.
func (a *replicaApp) awaitState(t *testing.T, want replica.Reason) {
	t.Helper()
	require.Eventually(t, func() bool { return a.db.Replicas.Servers()[0].State == want }, time.Minute, 10*time.Millisecond, "%v", a.db.Replicas.Servers())
}

// readCounts returns how many reads had each reason.
func (a *replicaApp) readCounts() map[replica.Reason]int64 {
	counts := map[replica.Reason]int64{}
	for _, why := range replica.Reasons() {
		if n := a.db.Replicas.Reads(why); n > 0 {
			counts[why] = n
		}
	}
	return counts
}

// send sends a request that must succeed, and returns the body and the position of a
// write.
func (a *replicaApp) send(t *testing.T, method, path, body, readAfter string) (text, position string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, a.base+path, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+a.token)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if readAfter != "" {
		request.Header.Set("Parapet-Read-After", readAfter)
	}
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, answer.Body.Close()) }()
	content, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Less(t, answer.StatusCode, 300, "%s %s: %s", method, path, content)
	require.NotContains(t, string(content), `"errors"`)
	return string(content), answer.Header.Get("Parapet-Read-After")
}

// createQuote returns a new quote and the position of its write.
func (a *replicaApp) createQuote(t *testing.T) (id, position string) {
	t.Helper()
	text, position := a.send(t, http.MethodPost, "/v1/quotes", `{"product":"quake-circle","context":{"partner":"acme"}}`, "")
	var quote struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(text), &quote, json.MatchCaseInsensitiveNames(true)))
	require.NotEmpty(t, position)
	return quote.ID, position
}

// listQuotes returns the newest quotes as text.
func (a *replicaApp) listQuotes(t *testing.T, readAfter string) string {
	t.Helper()
	text, _ := a.send(t, http.MethodGet, "/v1/quotes", "", readAfter)
	return text
}
