package main

// path is a row of the table.
type path struct {
	name      string
	benchmark string
	ours      string // unit of our figure
	baseline  string // unit of the baseline's figure; empty: none
	judged    string // unit of the figure that is judged; empty: ours
	atLeast   float64
	atMost    float64
}

// paths are the rows in their order. The names of benchmarks are without the number of
// processors.
var paths = []path{
	{name: "POST /quotes", benchmark: "BenchmarkREST/Write/Quote", ours: "req/s", baseline: "bare-req/s", judged: "ratio", atLeast: 0.75},
	{name: "POST /quotes, each of another place", benchmark: "BenchmarkREST/Write/QuoteElsewhere", ours: "req/s", baseline: "bare-req/s", judged: "ratio"},
	{name: "POST /policies", benchmark: "BenchmarkREST/Write/Policy", ours: "req/s", baseline: "bare-req/s", judged: "ratio", atLeast: 0.75},
	{name: "GET policy", benchmark: "BenchmarkREST/Read/Policy", ours: "req/s", baseline: "bare-req/s", judged: "ratio", atLeast: 0.8},
	{name: "GET timeline", benchmark: "BenchmarkREST/Read/Timeline", ours: "req/s", baseline: "bare-req/s", judged: "ratio", atLeast: 0.8},
	{name: "GraphQL dashboard, PostGraphile", benchmark: "BenchmarkDashboard", ours: "queries/s", baseline: "postgraphile-queries/s", judged: "of-postgraphile", atLeast: 2.5},
	{name: "GraphQL dashboard, statements", benchmark: "BenchmarkDashboard", ours: "statements", atMost: 6},
	{name: "webhook deliveries", benchmark: "BenchmarkDelivery", ours: "deliveries/s", baseline: "bare/s", judged: "of-bare", atLeast: 0.5},
	{name: "commit to receipt, 200 events/s", benchmark: "BenchmarkLatency", ours: "p95-ms", atMost: 100},
	{name: "commit to receipt, p99", benchmark: "BenchmarkLatency", ours: "p99-ms", atMost: 500},
	{name: "relay", benchmark: "BenchmarkRelay", ours: "events/s", atLeast: 10_000},
	{name: "payout behind a backlog of events", benchmark: "BenchmarkBacklog", ours: "to-payout-ms", atMost: 10_000},
	{name: "release, single orders", benchmark: "BenchmarkRelease", ours: "payouts/s", baseline: "bare/s", judged: "of-bare", atLeast: 0.5},
	{name: "release, files against single orders", benchmark: "BenchmarkRelease", ours: "batched/s", baseline: "payouts/s", judged: "of-single", atLeast: 10},
	{name: "release, simulator's batch call", benchmark: "BenchmarkReleaseGroups/simulator", ours: "payouts/s", atLeast: 2000},
	{name: "release, HTTP rail of 20 ms", benchmark: "BenchmarkReleaseGroups/http", ours: "payouts/s", atLeast: 500},
	{name: "one payout behind another partner's", benchmark: "BenchmarkFairShare", ours: "single-s", atMost: 2},
	{name: "one payout of a batch behind another's", benchmark: "BenchmarkFairShare", ours: "batched-s", atMost: 2},
	{name: "payout behind a backlog of the sweep", benchmark: "BenchmarkSweepBacklog", ours: "payout-s", atMost: 10},
	{name: "decide hits, no queue", benchmark: "BenchmarkDecideHits", ours: "hits/s"},
	{name: "reconcile, nanoseconds", benchmark: "BenchmarkReconcile", ours: "ns/op", atMost: 60e9},
	{name: "reconcile, MiB of heap", benchmark: "BenchmarkReconcile", ours: "MiB-heap", atMost: 256},
	{name: "price of a quake, CPU ns", benchmark: "BenchmarkQuakeCircle", ours: "cpu-ns/op", atMost: 1e6},
	{name: "price of a storm, CPU ns", benchmark: "BenchmarkCycloneCircle", ours: "cpu-ns/op", atMost: 5e6},
	{name: "token from the cache, ns", benchmark: "BenchmarkVerify/cached", ours: "ns/op", atMost: 2000},
	{name: "10,000 subscriptions, MiB of the process", benchmark: "BenchmarkWaiters/Subscriptions", ours: "MiB-waiting", atMost: 1024},
	{name: "10,000 long polls, MiB of the process", benchmark: "BenchmarkWaiters/Polls", ours: "MiB-waiting", atMost: 1024},
	{name: "storm decided, staged SQL", benchmark: "BenchmarkStorm/Decide/Staged", ours: "hits/s", baseline: "staged-hits/s", judged: "of-staged", atLeast: 0.7},
	{name: "storm in a large book, a small book", benchmark: "BenchmarkStorm/Decide/Sizes", ours: "hits/s", baseline: "small-hits/s", judged: "times-faster", atMost: 1.2},
	{name: "storm paid and delivered, s of decide", benchmark: "BenchmarkStorm/Pay/Delivered", ours: "delivered-s", baseline: "decide-s", judged: "of-decide", atMost: 4},
	{name: "storm, MiB of the process", benchmark: "BenchmarkStorm/Pay/Delivered", ours: "peak-MiB", atMost: 400},
	{name: "storm, MiB of the process afterwards", benchmark: "BenchmarkStorm/Pay/Delivered", ours: "rest-MiB", atMost: 300},
	{name: "storm, bytes of WAL a hit", benchmark: "BenchmarkStorm/Decide/Staged", ours: "WAL-bytes/hit", atMost: 8192},
	{name: "POST /quotes during a storm, p99 ms", benchmark: "BenchmarkStorm/Pay/Quotes", ours: "p99-ms", baseline: "quiet-p99-ms", judged: "of-quiet", atMost: 2},
	{name: "storm paid while quotes are asked, s", benchmark: "BenchmarkStorm/Pay/Quotes", ours: "paid-s", baseline: "undisturbed-s", judged: "times-as-long", atMost: 2},
}
