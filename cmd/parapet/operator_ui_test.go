package main

import (
	"encoding/csv"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// browser keeps cookies and follows redirects.
type browser struct {
	*http.Client
	base string
}

func (w *world) browser(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &browser{&http.Client{Jar: jar}, w.ready.BaseURL}
}

// reply is an answer whose text was read.
type reply struct {
	status  int
	header  http.Header
	at      *url.URL // of the last request
	cookies []*http.Cookie
}

func (b *browser) ask(t *testing.T, method, address, body string, headers ...string) (reply, string) {
	t.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.base + address
	}
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := b.Do(request)
	require.NoError(t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return reply{answer.StatusCode, answer.Header, answer.Request.URL, answer.Cookies()}, string(text)
}

// enter opens a page and chooses a name at the issuer on the way.
func (b *browser) enter(t *testing.T, user, page string) (reply, string) {
	t.Helper()
	form, _ := b.ask(t, http.MethodGet, page, "")
	require.Equal(t, "/authorize", form.at.Path, "nobody was asked to sign in")
	query := form.at.Query()
	query.Set("user", user)
	issuer := &url.URL{Scheme: form.at.Scheme, Host: form.at.Host, Path: "/authorize"}
	return b.ask(t, http.MethodPost, issuer.String(), query.Encode(), "Content-Type", "application/x-www-form-urlencoded")
}

func TestTheJobConsoleIsForOperators(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	answer, text := w.browser(t).enter(t, "acme", "/ops/jobs")
	require.Equal(t, http.StatusForbidden, answer.status, text)

	b := w.browser(t)
	answer, text = b.enter(t, "operator", "/ops/jobs")
	require.Equal(t, http.StatusOK, answer.status)
	require.Equal(t, "/ops/jobs/jobs", answer.at.Path)
	require.Contains(t, text, "<title>River</title>")
	require.Contains(t, answer.header.Get("Content-Security-Policy"), "script-src 'self'")
	_, script, _ := strings.Cut(text, `<script type="module" src="`)
	script, _, _ = strings.Cut(script, `"`)
	answer, _ = b.ask(t, http.MethodGet, script, "")
	require.Equal(t, http.StatusOK, answer.status, "the page's script is not served")

	require.Eventually(t, func() bool { // River notes completions in batches
		_, text := b.ask(t, http.MethodGet, "/ops/jobs/api/jobs?state=completed&limit=100", "")
		return strings.Contains(text, `"kind":"evaluate_occurrences"`)
	}, time.Minute, 50*time.Millisecond)
	answer, _ = w.browser(t).ask(t, http.MethodGet, "/ops/jobs/api/jobs", "", "Sec-Fetch-Dest", "empty")
	require.Equal(t, http.StatusUnauthorized, answer.status)

	press := func(site string) int {
		answer, _ := b.ask(t, http.MethodPut, "/ops/jobs/api/queues/feeds/pause", "{}", "Sec-Fetch-Site", site)
		return answer.status
	}
	require.Equal(t, http.StatusForbidden, press("cross-site"))
	require.Equal(t, http.StatusOK, press("same-origin"))
	w.call(t, "acme", "POST", "/graphql", `{"query": "mutation { blockPayout(input: {payoutId: \"pay_x\", reason: OPERATOR_HOLD, note: \"x\"}) { payout { id } } }"}`, 200)
	w.call(t, "acme", "POST", "/v1/observations", quakeNow("6.1"), 403)
	require.NoError(t, w.app.service.KeepRefusals(t.Context()))
	answer, text = b.ask(t, http.MethodGet, "/ops/audit.csv", "")
	require.Equal(t, http.StatusOK, answer.status)
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	var told [][]string
	for _, line := range lines[1:] {
		told = append(told, line[2:5])
	}
	require.ElementsMatch(t, [][]string{
		{"refused", "GET /ops/callback", "partner"},
		{"refused", "blockPayout", "partner"},
		{"refused", "createObservations", "partner"},
		{"done", "console PUT /api/queues/feeds/pause", "operator"},
	}, told)
}

func TestTheDeskLeadsToEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.browser(t)
	answer, text := b.enter(t, "second-operator", "/ops")
	require.Equal(t, http.StatusOK, answer.status)
	require.Contains(t, text, "second-operator <button>Sign out</button>")
	links := regexp.MustCompile(`<a href="([^"]+)">`).FindAllStringSubmatch(text, -1)
	require.Len(t, links, 3)
	for _, link := range links {
		answer, _ := b.ask(t, http.MethodGet, link[1], "")
		require.Equal(t, http.StatusOK, answer.status, link[1])
	}
}
