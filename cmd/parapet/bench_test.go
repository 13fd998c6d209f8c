//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// BenchmarkREST measures the whole service (durable Postgres, real tokens, its
// log, limits off) against a bare net/http and pgx handler that reads and writes
// the same rows. Both take the same requests over loopback from the same eight
// callers, in rounds that take turns, so that the ratio holds on a busy machine:
// it is the median of the rounds' ratios.
//
// Reported of each side: requests a second, the 99th percentile in milliseconds,
// allocations and microseconds of processor a request. The callers' share is in
// both; Postgres's in neither.
func BenchmarkREST(b *testing.B) {
	c := newCourse(b)
	b.Run("Read", func(b *testing.B) {
		b.Run("Policy", c.race(same("GET", "/v1/policies/"+c.policy, "", 200)))
		b.Run("Timeline", c.race(same("GET", "/v1/claims/"+c.claim+"/timeline", "", 200)))
	})
	b.Run("Write", func(b *testing.B) {
		b.Run("Quote", c.race(same("POST", "/v1/quotes", c.quoteBody, 201)))
		b.Run("Policy", c.race(func(b *testing.B, n int) []request {
			binds := make([]request, n)
			for i, id := range c.bare.copyQuotes(b, n) {
				binds[i] = request{"POST", "/v1/policies", fmt.Sprintf(`{"quote_id":%q}`, id), 201}
			}
			return binds
		}))
	})
}

// request is what both sides are asked.
type request struct {
	method, path, body string
	status             int
}

// asker makes n requests for one side; asking may need rows of its own.
type asker func(b *testing.B, n int) []request

func same(method, path, body string, status int) asker {
	return func(_ *testing.B, n int) []request {
		return slices.Repeat([]request{{method, path, body, status}}, n)
	}
}

// course is where both sides run: a stack with a policy of acme's, its approved
// claim, and the bare handler on the same database.
type course struct {
	*stack

	bare                     *bare
	token, address, bareAt   string
	quoteBody, policy, claim string
}

func newCourse(b *testing.B) *course {
	b.Helper()
	// Not b.TempDir: as root the database runs as another user, who cannot enter it.
	dir, err := os.MkdirTemp("", "parapet-bench-")
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, os.RemoveAll(dir)) })
	s, err := startStack(b.Context(), devOptions{listen: "127.0.0.1:0", dataDir: dir, rateLimit: "off", quiet: true})
	require.NoError(b, err)
	b.Cleanup(s.stop)
	token, err := s.issuer.Token("acme")
	require.NoError(b, err)
	source, err := s.issuer.Token("source")
	require.NoError(b, err)
	c := &course{
		stack: s, token: token, address: strings.TrimPrefix(s.ready.BaseURL, "http://"),
		quoteBody: `{"product":"quake-circle","context":{"partner":"acme"}}`,
	}
	quote := c.ask(b, token, request{"POST", "/v1/quotes", c.quoteBody, 201})
	policy := c.ask(b, token, request{"POST", "/v1/policies", fmt.Sprintf(`{"quote_id":%q}`, id(b, quote)), 201})
	c.policy = id(b, policy)
	c.bare = newBare(b, s.ready.DatabaseURL, token, quote, policy)
	c.bareAt = c.bare.serve(b)
	c.ask(b, source, request{"POST", "/v1/observations", quakeNow("6.4"), 201})
	c.settle(b)
	return c
}

// settle waits for the claim and its story, and holds both sides to the same
// bytes.
func (c *course) settle(b *testing.B) {
	b.Helper()
	policy := request{"GET", "/v1/policies/" + c.policy, "", 200}
	require.Eventually(b, func() bool {
		var record policyAnswer
		require.NoError(b, json.Unmarshal(c.ask(b, c.token, policy), &record))
		if len(record.Claims) == 0 || record.Claims[0].Status != "approved" {
			return false
		}
		c.claim = record.Claims[0].ID
		return strings.Contains(string(c.ask(b, c.token, request{"GET", "/v1/claims/" + c.claim, "", 200})), "payout_method_missing")
	}, 20*time.Second, 50*time.Millisecond)
	for _, r := range []request{policy, {"GET", "/v1/claims/" + c.claim + "/timeline", "", 200}} {
		ours, theirs := dial(b, c.address), dial(b, c.bareAt)
		require.NoError(b, ours.exchange(r.text(c.token), r.status))
		require.NoError(b, theirs.exchange(r.text(c.token), r.status))
		require.Equal(b, string(ours.body), string(theirs.body), "%s: both must answer the same", r.path)
	}
}

func (c *course) ask(b *testing.B, token string, r request) []byte {
	b.Helper()
	asked, err := http.NewRequestWithContext(b.Context(), r.method, "http://"+c.address+r.path, strings.NewReader(r.body))
	require.NoError(b, err)
	asked.Header.Set("Authorization", "Bearer "+token)
	asked.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(asked)
	require.NoError(b, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(b, err)
	require.Equal(b, r.status, answer.StatusCode, "%s", text)
	return text
}

func id(b *testing.B, record []byte) string {
	b.Helper()
	var named struct {
		ID string `json:"id"`
	}
	require.NoError(b, json.Unmarshal(record, &named))
	return named.ID
}

// rounds is odd, so that the median is a round's.
const rounds = 9

// race runs both sides over b.N requests each and reports how they compare.
func (c *course) race(asked asker) func(*testing.B) {
	return func(b *testing.B) {
		ours, theirs := newSide(b, c.address), newSide(b, c.bareAt)
		each := (b.N + rounds - 1) / rounds
		warm := asked(b, 2*callers)
		ours.run(b, c.token, warm[:callers])
		theirs.run(b, c.token, warm[callers:])
		ours.laps, theirs.laps = nil, nil
		all := asked(b, 2*rounds*each)
		b.ResetTimer()
		for round := range rounds {
			sides := []*side{ours, theirs}
			if round%2 == 1 { // who goes first finds the log and the heap as the other left them
				slices.Reverse(sides)
			}
			for _, s := range sides {
				s.run(b, c.token, all[:each])
				all = all[each:]
			}
		}
		b.StopTimer()
		b.ReportMetric(0, "ns/op") // the time of both sides tells nothing
		b.ReportMetric(median(slices.Collect(ratios(ours, theirs))), "ratio")
		ours.report(b, "")
		theirs.report(b, "bare-")
	}
}

// processor is the processor time that this process has used.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
