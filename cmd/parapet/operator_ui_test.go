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

func (w *testStack) newBrowser(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &browser{&http.Client{Jar: jar}, w.info.BaseURL}
}

// reply is an answer whose text was read.
type reply struct {
	status   int
	header   http.Header
	finalURL *url.URL // of the last request
	cookies  []*http.Cookie
}

func (b *browser) sendRequest(t *testing.T, method, address, body string, headers ...string) (reply, string) {
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

// openPageAs opens a page and signs in with a name at the issuer.
func (b *browser) openPageAs(t *testing.T, user, page string) (reply, string) {
	t.Helper()
	form, _ := b.sendRequest(t, http.MethodGet, page, "")
	require.Equal(t, "/authorize", form.finalURL.Path, "the sign-in page was not shown")
	query := form.finalURL.Query()
	query.Set("user", user)
	issuer := &url.URL{Scheme: form.finalURL.Scheme, Host: form.finalURL.Host, Path: "/authorize"}
	return b.sendRequest(t, http.MethodPost, issuer.String(), query.Encode(), "Content-Type", "application/x-www-form-urlencoded")
}

func TestTheJobConsoleIsForOperators(t *testing.T) {
	t.Parallel()
	w := newTestStack(t)
	answer, text := w.newBrowser(t).openPageAs(t, "acme", "/ops/jobs")
	require.Equal(t, http.StatusForbidden, answer.status, text)

	b := w.newBrowser(t)
	answer, text = b.openPageAs(t, "operator", "/ops/jobs")
	require.Equal(t, http.StatusOK, answer.status)
	require.Equal(t, "/ops/jobs/jobs", answer.finalURL.Path)
	require.Contains(t, text, "<title>River</title>")
	require.Contains(t, answer.header.Get("Content-Security-Policy"), "script-src 'self'")
	_, script, _ := strings.Cut(text, `<script type="module" src="`)
	script, _, _ = strings.Cut(script, `"`)
	answer, _ = b.sendRequest(t, http.MethodGet, script, "")
	require.Equal(t, http.StatusOK, answer.status, "the page's script is not served")

	require.Eventually(t, func() bool { // River records completions in batches
		_, text := b.sendRequest(t, http.MethodGet, "/ops/jobs/api/jobs?state=completed&limit=100", "")
		return strings.Contains(text, `"kind":"evaluate_occurrences"`)
	}, time.Minute, 50*time.Millisecond)
	answer, _ = w.newBrowser(t).sendRequest(t, http.MethodGet, "/ops/jobs/api/jobs", "", "Sec-Fetch-Dest", "empty")
	require.Equal(t, http.StatusUnauthorized, answer.status)

	press := func(site string) int {
		answer, _ := b.sendRequest(t, http.MethodPut, "/ops/jobs/api/queues/feeds/pause", "{}", "Sec-Fetch-Site", site)
		return answer.status
	}
	require.Equal(t, http.StatusForbidden, press("cross-site"))
	require.Equal(t, http.StatusMethodNotAllowed, press("same-origin"), "actions need a reason: they are mutations")
	w.callAs(t, "acme", "POST", "/graphql", `{"query": "mutation { blockPayout(input: {payoutId: \"pay_x\", reason: OPERATOR_HOLD, note: \"x\"}) { payout { id } } }"}`, 200)
	w.callAs(t, "acme", "POST", "/v1/observations", quakeNow("6.1"), 403)
	require.NoError(t, w.app.service.Audit.SaveRefusals(t.Context()))
	answer, text = b.sendRequest(t, http.MethodGet, "/ops/audit.csv", "")
	require.Equal(t, http.StatusOK, answer.status)
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	var shown [][]string
	for _, line := range lines[1:] {
		shown = append(shown, line[2:5])
	}
	require.ElementsMatch(t, [][]string{
		{"refused", "GET /ops/callback", "partner"},
		{"refused", "blockPayout", "partner"},
		{"refused", "createObservations", "partner"},
	}, shown)
}

func TestOperatorUILinksToEveryPage(t *testing.T) {
	t.Parallel()
	w := newTestStack(t)
	b := w.newBrowser(t)
	answer, text := b.openPageAs(t, "second-operator", "/ops/session")
	require.Equal(t, http.StatusOK, answer.status)
	require.Contains(t, text, "second-operator <button>Sign out</button>")
	links := regexp.MustCompile(`<a href="([^"]+)">`).FindAllStringSubmatch(text, -1)
	require.Len(t, links, 3)
	answer, _ = b.sendRequest(t, http.MethodGet, "/ops", "")
	require.Equal(t, "/console/inbox", answer.finalURL.Path)
	for _, link := range links {
		answer, _ := b.sendRequest(t, http.MethodGet, link[1], "")
		require.Equal(t, http.StatusOK, answer.status, link[1])
	}
}
