package fetch_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/jobs/fetch"
)

func newFeedServer(t *testing.T, handler http.HandlerFunc) fetch.Poll {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return fetch.Poll{URL: server.URL, Interval: time.Minute}
}

func TestFetchAsksOnlyForWhatIsNew(t *testing.T) {
	t.Parallel()
	const modified = "Wed, 07 Feb 2018 01:49:14 GMT"
	poll := newFeedServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") == `"v1"` && r.Header.Get("If-Modified-Since") == modified {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", `"v1"`)
		w.Header().Set("Last-Modified", modified)
		_, _ = w.Write([]byte("news"))
	})
	var f fetch.Fetcher
	first, err := f.Fetch(t.Context(), poll)
	require.NoError(t, err)
	require.True(t, first.Changed)
	require.Equal(t, "news", string(first.Body))
	require.Equal(t, time.Minute, first.Wait)

	failing := first.Next
	failing.Failures = 3
	second, err := f.Fetch(t.Context(), failing)
	require.NoError(t, err)
	require.False(t, second.Changed)
	require.Nil(t, second.Body)
	require.Equal(t, first.Next, second.Next, "success forgets failures and keeps the validators")
}

func TestFetchAcceptsAnAnswerWithoutEvents(t *testing.T) {
	t.Parallel()
	poll := newFeedServer(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	var f fetch.Fetcher
	fetched, err := f.Fetch(t.Context(), poll)
	require.NoError(t, err)
	require.False(t, fetched.Changed)
	require.Zero(t, fetched.Next.Failures)
}

func TestFetchBacksOff(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		retryAfter string
		status     int
		failures   int
		want       time.Duration
	}{
		{"", 500, 0, 2 * time.Minute},
		{"", 404, 2, 8 * time.Minute},
		{"", 503, 5, time.Hour},
		{"", 503, 1 << 30, time.Hour},
		{"300", 429, 0, 5 * time.Minute},
		{"30", 429, 0, 2 * time.Minute},
		{"-5", 429, 0, 2 * time.Minute},
		{"999999999", 429, 0, 24 * time.Hour},
		{"Wed, 07 Feb 2018 02:00:00 GMT", 503, 0, 10 * time.Minute},
		{"soon", 503, 0, 2 * time.Minute},
		{"600", 200, 4, 10 * time.Minute},
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			t.Parallel()
			poll := newFeedServer(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", test.retryAfter)
				w.Header().Set("Date", "Wed, 07 Feb 2018 01:50:00 GMT")
				w.WriteHeader(test.status)
			})
			poll.Failures, poll.ETag = test.failures, `"kept"`
			fetched, err := new(fetch.Fetcher).Fetch(t.Context(), poll)
			require.Equal(t, test.status != http.StatusOK, err != nil)
			require.Equal(t, test.want, fetched.Wait)
			if err != nil {
				require.Equal(t, test.failures+1, fetched.Next.Failures)
				require.Equal(t, `"kept"`, fetched.Next.ETag)
			}
		})
	}
}

func TestFetchHasLimits(t *testing.T) {
	t.Parallel()
	poll := newFeedServer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(strings.Repeat("x", 11))) })
	_, err := (&fetch.Fetcher{Limit: 10}).Fetch(t.Context(), poll)
	require.ErrorContains(t, err, "larger than allowed")
	_, err = (&fetch.Fetcher{Limit: 11}).Fetch(t.Context(), poll)
	require.NoError(t, err)

	silent := newFeedServer(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	fetched, err := (&fetch.Fetcher{Timeout: time.Millisecond}).Fetch(t.Context(), silent)
	require.ErrorContains(t, err, "deadline exceeded")
	require.Equal(t, 1, fetched.Next.Failures)

	_, err = new(fetch.Fetcher).Fetch(t.Context(), fetch.Poll{URL: "::"})
	require.Error(t, err)
}

func TestAnAddressIsNamedWithoutItsKeys(t *testing.T) {
	t.Parallel()
	for address, name := range map[string]string{
		"https://feeds.example/all":                         "https://feeds.example/all",
		"https://me:secret@feeds.example/all?key=secret#it": "https://feeds.example/all",
		"https://feeds.example/all?key=secret%":             "https://feeds.example/all",
		"https://feeds.example/%secret":                     "…",
		"mailto:secret":                                     "…",
	} {
		require.Equal(t, name, fetch.DisplayAddress(address), address)
	}
	_, err := new(fetch.Fetcher).Fetch(t.Context(), fetch.Poll{URL: "http://127.0.0.1:1/all?key=secret"})
	require.ErrorContains(t, err, "fetch http://127.0.0.1:1/all: dial")
	require.NotContains(t, err.Error(), "secret")
}
