package main

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/model/kernel/replica"
)

func TestReplicaAnswersReadsThatSeeTheirWrite(t *testing.T) {
	t.Parallel()
	f := newReplicaFixture(t)
	a := f.serve(t, f.primary, f.standby)
	a.awaitState(t, replica.ReasonCurrent)
	const rounds = 20
	for range rounds {
		id, position := a.createQuote(t)
		require.Contains(t, a.listQuotes(t, position), id)
	}
	counts := a.readCounts()
	require.Equal(t, int64(rounds), counts[replica.ReasonCurrent]+counts[replica.ReasonBehind], "%v", counts)
	require.Greater(t, counts[replica.ReasonCurrent], int64(rounds/2), "the primary answered most: %v", counts)

	requireReplicaMetrics(t, a)
	f.Relay()
	var feed string
	require.Eventually(t, func() bool {
		feed, _ = a.send(t, http.MethodGet, "/v1/events", "", "")
		return strings.Contains(feed, "quote.created")
	}, time.Minute, 10*time.Millisecond)
}

// requireReplicaMetrics checks that the metrics show what the set of replicas counts.
func requireReplicaMetrics(t *testing.T, a *replicaApp) {
	t.Helper()
	families, err := a.metrics.registry.Gather()
	require.NoError(t, err)
	shown := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				if label.GetName() == "reason" {
					name += " " + label.GetValue()
				}
			}
			shown[name] = metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
		}
	}
	require.InDelta(t, 1, shown["parapet_replica_up"], 0)
	require.Less(t, shown["parapet_replica_lag_seconds"], replica.MaxStaleness.Seconds())
	for _, why := range replica.Reasons() {
		require.InDelta(t, a.db.Replicas.Reads(why), shown["parapet_replica_reads_total "+why.String()], 0, why)
	}
}

// Each document reads from a replica as often as it says. Reads of single records, and
// everything that a mutation reads, come from the primary.
func TestListsAndFiguresAreReadFromAReplica(t *testing.T) {
	t.Parallel()
	f := newReplicaFixture(t)
	a := f.serve(t, f.primary, f.standby)
	a.awaitState(t, replica.ReasonCurrent)
	policy := f.QuoteAndBind("quake-circle", nil)
	quote, _ := a.createQuote(t)
	const quake = `occurrence: {earthquake: {location: {latitude: 24.174, longitude: 121.653}, magnitude: "7.0", depthKm: "10"}}`
	for document, want := range map[string]int64{
		`{ quotes(first: 1) { nodes { id } } }`:                                                                       1,
		`{ quotes(first: 1) { nodes { id } totalCount } }`:                                                            2,
		`{ events(first: 1) { nodes { id } } }`:                                                                       1,
		`{ portfolio { book(by: [PRODUCT]) { lines { product } } } }`:                                                 1,
		`{ portfolio { claimsByStatus { status } payoutsByStatus { status } } }`:                                      2,
		`{ portfolio { doubt { status } series(interval: MONTH) { currency } } }`:                                     2,
		`{ exposure(` + quake + `) { totals { currency } } }`:                                                         1,
		`{ policy(id: "` + policy.ID + `") { id } quote(id: "` + quote + `") { id } }`:                                0,
		`mutation { createQuote(input: {product: \"quake-circle\", context: {partner: \"acme\"}}) { quote { id } } }`: 0,
	} {
		before := a.readCounts()[replica.ReasonCurrent]
		document = strings.ReplaceAll(strings.ReplaceAll(document, `\"`, `"`), `"`, `\"`)
		a.send(t, http.MethodPost, "/graphql", `{"query":"`+document+`"}`, "")
		require.Equal(t, want, a.readCounts()[replica.ReasonCurrent]-before, document)
	}
	for path, want := range map[string]int64{
		"/v1/quotes": 1, "/v1/policies": 1, "/v1/events": 1, "/v1/policies/" + policy.ID + "/timeline": 1,
		"/v1/quotes/" + quote: 0, "/v1/policies/" + policy.ID: 0,
	} {
		before := a.readCounts()[replica.ReasonCurrent]
		a.send(t, http.MethodGet, path, "", "")
		require.Equal(t, want, a.readCounts()[replica.ReasonCurrent]-before, path)
	}
}

func TestPausedReplicaLetsThePrimaryAnswer(t *testing.T) {
	t.Parallel()
	f := newReplicaFixture(t)
	a := f.serve(t, f.primary, f.standby)
	a.awaitState(t, replica.ReasonCurrent)
	execOn(t, f.standby, "select pg_wal_replay_pause()")
	require.Eventually(t, func() bool { return queryOn(t, f, "select pg_get_wal_replay_pause_state()") == "paused" }, time.Minute, 10*time.Millisecond)
	id, position := a.createQuote(t)
	started := time.Now()
	require.Contains(t, a.listQuotes(t, position), id)
	took := time.Since(started)
	require.Equal(t, map[replica.Reason]int64{replica.ReasonBehind: 1}, a.readCounts())
	require.GreaterOrEqual(t, took, replica.MaxWait)
	require.Less(t, took, replica.MaxWait+2*time.Second)
	require.NotContains(t, a.listQuotes(t, ""), id, "the replica answers what it has")
	require.EqualValues(t, 1, a.readCounts()[replica.ReasonCurrent])

	// A reader that waits for an event does not wait for the replica.
	f.Relay()
	feed, _ := a.send(t, http.MethodGet, "/v1/events", "", "")
	require.NotContains(t, feed, "quote.created")
	waited := time.Now()
	feed, _ = a.send(t, http.MethodGet, "/v1/events?wait=30", "", "")
	require.Contains(t, feed, "quote.created")
	require.Less(t, time.Since(waited), 10*time.Second)

	// Without a position the staleness is bounded.
	require.Eventually(t, func() bool { return a.db.Replicas.Servers()[0].State == replica.ReasonLagging }, time.Minute, 100*time.Millisecond)
	require.Contains(t, a.listQuotes(t, ""), id)
	require.EqualValues(t, 1, a.readCounts()[replica.ReasonLagging])

	execOn(t, f.standby, "select pg_wal_replay_resume()")
	a.awaitState(t, replica.ReasonCurrent)
	before := a.readCounts()[replica.ReasonCurrent]
	require.Contains(t, a.listQuotes(t, position), id)
	require.Equal(t, before+1, a.readCounts()[replica.ReasonCurrent])
}

// queryOn returns the text that a query on the standby returns.
func queryOn(t *testing.T, f *replicaFixture, query string) (text string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), f.standby.URL("parapet"))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	require.NoError(t, conn.QueryRow(t.Context(), query).Scan(&text))
	return text
}

func TestPositionOfAnotherTimelineIsReadFromThePrimaryAtOnce(t *testing.T) {
	t.Parallel()
	f := newReplicaFixture(t)
	a := f.serve(t, f.primary, f.standby)
	a.awaitState(t, replica.ReasonCurrent)
	id, _ := a.createQuote(t)
	require.Contains(t, a.listQuotes(t, "7:0/1"), id)
	require.Equal(t, map[replica.Reason]int64{replica.ReasonTimeline: 1}, a.readCounts(), "it does not wait")
}

func TestLostReplicaLetsThePrimaryAnswer(t *testing.T) {
	t.Parallel()
	f := newReplicaFixture(t)
	a := f.serve(t, f.primary, f.standby)
	a.awaitState(t, replica.ReasonCurrent)
	a.listQuotes(t, "")
	require.Equal(t, map[replica.Reason]int64{replica.ReasonCurrent: 1}, a.readCounts())

	thaw, err := f.standby.Suspend(t.Context())
	t.Cleanup(thaw)
	require.NoError(t, err)
	for range 3 { // a hung replica: the first read waits until it is known to be lost
		id, position := a.createQuote(t)
		require.Contains(t, a.listQuotes(t, position), id)
		require.Contains(t, a.listQuotes(t, ""), `"object":"list"`)
	}
	a.awaitState(t, replica.ReasonUnreachable)
	thaw()
	a.awaitState(t, replica.ReasonCurrent)

	killed, cancel := context.WithCancel(t.Context())
	cancel()
	_ = f.standby.Stop(killed)
	for range 20 {
		id, position := a.createQuote(t)
		require.Contains(t, a.listQuotes(t, position), id)
		require.Contains(t, a.listQuotes(t, ""), id)
	}
	a.awaitState(t, replica.ReasonUnreachable)
}

func TestPromotedReplicaIsNotRead(t *testing.T) {
	t.Parallel()
	f := newReplicaFixture(t)
	other := f.startStandby(t, f.primary) // it keeps following the former primary
	a := f.serve(t, f.primary, f.standby)
	a.awaitState(t, replica.ReasonCurrent)
	shared, former := a.createQuote(t)
	require.Contains(t, a.listQuotes(t, former), shared)
	require.NoError(t, f.standby.Promote(t.Context()))
	a.awaitState(t, replica.ReasonPromoted)
	id, position := a.createQuote(t)
	require.Contains(t, a.listQuotes(t, position), id)
	require.Contains(t, a.listQuotes(t, ""), id)

	// The promoted server is the primary now; its own standby follows its timeline.
	follower := f.startStandby(t, f.standby)
	b := f.serve(t, f.standby, follower)
	b.awaitState(t, replica.ReasonCurrent)
	require.Contains(t, b.listQuotes(t, former), shared, "a position of the former timeline")
	require.Equal(t, map[replica.Reason]int64{replica.ReasonTimeline: 1}, b.readCounts())
	id, position = b.createQuote(t)
	require.Equal(t, "2:", position[:2])
	require.Contains(t, b.listQuotes(t, position), id)
	require.EqualValues(t, 2, b.readCounts()[replica.ReasonCurrent]+b.readCounts()[replica.ReasonBehind]+b.readCounts()[replica.ReasonTimeline])

	// A replica that follows the former primary is not used.
	c := f.serve(t, f.standby, other)
	c.awaitState(t, replica.ReasonTimeline)
	require.Contains(t, c.listQuotes(t, ""), id)
	require.Equal(t, map[replica.Reason]int64{replica.ReasonTimeline: 1}, c.readCounts())
}
