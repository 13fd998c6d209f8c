package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
)

// localReceiver is a developer's own server.
type localReceiver struct {
	mu  sync.Mutex
	got []forwardedEvent
	out bytes.Buffer
}

type forwardedEvent struct {
	header http.Header
	body   []byte
}

func (l *localReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got = append(l.got, forwardedEvent{r.Header, body})
	w.WriteHeader(http.StatusTeapot) // any status: the next event is sent
}

func (l *localReceiver) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(text)
}

func (l *localReceiver) received() (got []forwardedEvent, printed string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append(got, l.got...), l.out.String()
}

// newUnsteadyProxy is a proxy to the server that breaks connections and rejects tokens.
func newUnsteadyProxy(t *testing.T, to string) string {
	t.Helper()
	target, err := url.Parse(to)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/events" {
			switch asked.Add(1) {
			case 1:
				panic(http.ErrAbortHandler) // the server restarts
			case 2:
				w.WriteHeader(http.StatusUnauthorized) // the token has expired
				return
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// parapet listen forwards the feed to a local server as webhooks: signed, complete, in
// order, through restarts of the server and expired tokens, and continues where it
// stopped.
func TestListen(t *testing.T) {
	t.Parallel()
	w := newTestStack(t)
	mine := &localReceiver{}
	server := httptest.NewServer(mine)
	t.Cleanup(server.Close)
	acme := w.info.Clients[0]
	state := filepath.Join(t.TempDir(), "state")
	args := []string{"--server", newUnsteadyProxy(t, w.info.BaseURL), "--client-id", acme.ClientID, "--client-secret", acme.ClientSecret, "--issuer", w.info.Issuer, "--forward", server.URL, "--state", state}
	listening := func(more ...string) (end func()) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- runCommand(ctx, append([]string{"listen"}, append(args, more...)...), mine) }()
		return func() { cancel(); require.NoError(t, <-ended, "Ctrl-C is no failure") }
	}
	arrived := func(kind string) func() bool {
		return func() bool { _, printed := mine.received(); return regexp.MustCompile(kind).MatchString(printed) }
	}
	end := listening("--after", "0")
	require.Eventually(t, arrived(`claim\.approved .*→ 418 in \d+ ms`), 30*time.Second, 20*time.Millisecond)
	end()
	w.callAs(t, "acme", "POST", "/v1/quotes", `{"product": "quake-circle", "context": {"partner": "acme"}, "partner_reference": "while it was off"}`, 201)
	end = listening()
	require.Eventually(t, func() bool {
		got, _ := mine.received()
		return bytes.Contains(got[len(got)-1].body, []byte("while it was off"))
	}, 30*time.Second, 20*time.Millisecond)
	end()

	got, printed := mine.received()
	judge, err := standardwebhooks.NewWebhook(regexp.MustCompile(`whsec_\S+`).FindString(printed))
	require.NoError(t, err)
	next, again := 1, 0
	for _, event := range got {
		require.NoError(t, judge.Verify(event.body, event.header))
		if bytes.Contains(event.body, []byte(`"sequence":`+strconv.Itoa(next-1)+`,`)) {
			again++ // it was being sent when listen ended, and its response was lost
			continue
		}
		require.Contains(t, string(event.body), `"sequence":`+strconv.Itoa(next)+`,`, "every event, in order")
		next++
		id := event.header.Get("Webhook-Id")
		same, err := sendRequest(t.Context(), http.DefaultClient, http.MethodGet, w.info.BaseURL+"/v1/events/"+id, acme.Token, nil)
		require.NoError(t, err)
		require.Equal(t, string(same), string(event.body))
	}
	require.LessOrEqual(t, again, 1, "and once, but for one that an end cut off")
}

// The help of a flag prints its default, which must not be the token of the environment.
func TestHelpPrintsNoToken(t *testing.T) {
	t.Setenv("PARAPET_TOKEN", "sesame")
	t.Setenv("PARAPET_CLIENT_SECRET", "sesame")
	var text strings.Builder
	require.NoError(t, runCommand(t.Context(), []string{"listen", "--help"}, &text))
	require.Contains(t, text.String(), "PARAPET_TOKEN")
	require.NotContains(t, text.String(), "sesame")
}

func TestListenReportsInvalidFlags(t *testing.T) {
	t.Parallel()
	for says, args := range map[string][]string{
		"--forward":   {},
		"--token":     {"--forward", "http://localhost:1"},
		"--secret":    {"--forward", "http://localhost:1", "--token", "x", "--secret", "whsec_short"},
		"no argument": {"http://localhost:1"},
	} {
		require.ErrorContains(t, runCommand(t.Context(), append([]string{"listen"}, args...), io.Discard), says)
	}
}

// The second run forwards the events between two runs, even if the first one forwarded
// none; a receiver that starts late gets all events.
func TestListenLosesNothing(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	var newest atomic.Int64
	newest.Store(3)
	feed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next, _ := strconv.ParseInt(r.URL.Query().Get("after_sequence"), 10, 64)
		if next++; next > newest.Load() {
			_, _ = io.WriteString(w, `{"data": []}`)
			return
		}
		_, _ = io.WriteString(w, `{"data": [{"id": "evt_`+strconv.FormatInt(next, 10)+`", "sequence": `+strconv.FormatInt(next, 10)+`}]}`)
	}))
	t.Cleanup(feed.Close)
	late := httptest.NewUnstartedServer(nil)
	address := late.Listener.Addr().String()
	require.NoError(t, late.Listener.Close())
	mine := &localReceiver{}
	hasPrinted := func(what string) func() bool {
		return func() bool { _, text := mine.received(); return regexp.MustCompile(what).MatchString(text) }
	}
	listening := func() (end func()) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- runCommand(ctx, []string{"listen", "--server", feed.URL, "--token", "x", "--forward", "http://" + address}, mine)
		}()
		return func() { cancel(); require.NoError(t, <-ended) }
	}
	end := listening()
	require.Eventually(t, hasPrinted(`after 3 to .*, position in .*/parapet/listen-`), 30*time.Second, 5*time.Millisecond)
	end()
	newest.Store(5)
	end = listening()
	require.Eventually(t, hasPrinted(`evt_4: no answer`), 30*time.Second, 5*time.Millisecond)
	var err error
	late.Listener, err = new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	require.NoError(t, err)
	late.Config.Handler = mine
	late.Start()
	t.Cleanup(late.Close)
	require.Eventually(t, hasPrinted(`evt_5 .*→ 418`), 30*time.Second, 5*time.Millisecond)
	end()
	got, _ := mine.received()
	require.Len(t, got, 2)
	require.Equal(t, "evt_4", got[0].header.Get("Webhook-Id"))
}
