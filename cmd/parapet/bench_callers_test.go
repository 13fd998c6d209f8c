//go:build unix

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"parapet/internal/meter"
)

// callerCount is the number of concurrent callers, each over a persistent connection.
const callerCount = 8

// benchSide is one of the two servers that are compared.
type benchSide struct {
	db          *pgxpool.Pool // to measure its server
	connections []*httpCaller
	rounds      []benchRound
}

// benchRound is one round of one side.
type benchRound struct {
	requests  int
	usage     meter.Usage
	mallocs   uint64
	latencies []time.Duration
}

func newBenchSide(b *testing.B, db *pgxpool.Pool, address string) *benchSide {
	b.Helper()
	s := &benchSide{db: db}
	for range callerCount {
		s.connections = append(s.connections, dialCaller(b, address))
	}
	return s
}

// runRequests sends every request once.
func (s *benchSide) runRequests(b *testing.B, token string, asked []benchRequest) {
	b.Helper()
	texts := make([][]byte, len(asked))
	for i, r := range asked {
		texts[i] = r.encodeRequest(token)
	}
	l := benchRound{requests: len(asked), latencies: make([]time.Duration, len(asked))}
	var before, after runtime.MemStats
	used := meter.Start(b, s.db, os.Getpid())
	runtime.ReadMemStats(&before)
	var next atomic.Int64
	var all sync.WaitGroup
	for _, c := range s.connections {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(texts)); i = next.Add(1) - 1 {
				sent := time.Now()
				if err := c.sendRequest(texts[i], asked[i].status); err != nil {
					b.Error(err)
					return
				}
				l.latencies[i] = time.Since(sent)
			}
		})
	}
	all.Wait()
	runtime.ReadMemStats(&after)
	l.usage = used.Stop()
	l.mallocs = after.Mallocs - before.Mallocs
	s.rounds = append(s.rounds, l)
	if b.Failed() {
		b.FailNow()
	}
}

func (l benchRound) requestsPerSecond() float64 { return l.usage.PerSecond(l.requests) }

// speedRatios compares two sides round by round.
func speedRatios(ours, theirs *benchSide) iter.Seq[float64] {
	return func(yield func(float64) bool) {
		for i := range ours.rounds {
			if !yield(ours.rounds[i].requestsPerSecond() / theirs.rounds[i].requestsPerSecond()) {
				return
			}
		}
	}
}

func (s *benchSide) reportMetrics(b *testing.B, prefix string) {
	b.Helper()
	var speeds, mallocs []float64
	var total meter.Usage
	requests := 0
	var latencies []time.Duration
	for _, l := range s.rounds {
		speeds = append(speeds, l.requestsPerSecond())
		total = total.Plus(l.usage)
		requests += l.requests
		mallocs = append(mallocs, float64(l.mallocs)/float64(l.requests))
		latencies = append(latencies, l.latencies...)
	}
	b.ReportMetric(meter.Median(speeds), prefix+"req/s")
	b.ReportMetric(meter.Percentile(latencies, 50), prefix+"p50-ms")
	b.ReportMetric(meter.Percentile(latencies, 99), prefix+"p99-ms")
	b.ReportMetric(meter.Median(mallocs), prefix+"allocs/req")
	total.Report(b, prefix, requests, "req")
}

// httpCaller is an HTTP/1.1 client with almost no cost of its own, so that the benchmark
// measures the server.
type httpCaller struct {
	conn net.Conn
	in   *bufio.Reader
	body []byte // of the last answer
}

func dialCaller(b testing.TB, address string) *httpCaller {
	b.Helper()
	conn, err := new(net.Dialer).DialContext(b.Context(), "tcp", address)
	require.NoError(b, err)
	b.Cleanup(func() { _ = conn.Close() })
	return &httpCaller{conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}
}

// encodeRequest returns the bytes of the request.
func (r benchRequest) encodeRequest(token string) []byte {
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: parapet\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		r.method, r.path, token, len(r.body), r.body)
}

// sendRequest sends a request and reads its response, which must have the status.
func (c *httpCaller) sendRequest(text []byte, status int) error {
	if _, err := c.conn.Write(text); err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	got, length := 0, 0
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("read head: %w", err)
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if rest, ok := bytes.CutPrefix(line, []byte("HTTP/1.1 ")); ok {
			got, err = strconv.Atoi(string(rest[:3]))
		} else if rest, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			length, err = strconv.Atoi(string(rest))
		}
		if err != nil {
			return fmt.Errorf("head %q: %w", line, err)
		}
	}
	c.body = slices.Grow(c.body[:0], length)[:length]
	if _, err := io.ReadFull(c.in, c.body); err != nil {
		return fmt.Errorf("read body: %w", err)
	}
	if got != status {
		return fmt.Errorf("answered %d, want %d: %s", got, status, c.body)
	}
	return nil
}
