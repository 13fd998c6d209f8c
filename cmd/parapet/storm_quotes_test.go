//go:build unix

package main

import (
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	firstQuotes   = 500                   // not measured: they fill the caches of the process
	quietQuotes   = 6500                  // before the storm: 65 s, with the work of every minute in it
	quoteCallers  = 4                     // connections
	quoteInterval = 40 * time.Millisecond // between two quotes of a connection
)

// quoteLoad asks for quotes at a constant rate. The latency of a quote counts from the
// instant at which it was due, so that a slow answer also counts for those that it delays.
type quoteLoad struct {
	running sync.WaitGroup
	ended   chan struct{}

	mu        sync.Mutex
	latencies []time.Duration
	failed    error
}

// startQuoteCallers starts to ask for quotes of acme.
func startQuoteCallers(b *testing.B, s *storm) *quoteLoad {
	b.Helper()
	load := &quoteLoad{ended: make(chan struct{})}
	request := benchRequest{"POST", "/v1/quotes", `{"product":"quake-circle","context":{"partner":"acme"}}`, 201}
	text := request.encodeRequest(s.token)
	for i := range quoteCallers {
		caller := dialCaller(b, strings.TrimPrefix(s.process.base, "http://"))
		due := time.Now().Add(time.Duration(i) * quoteInterval / quoteCallers)
		load.running.Go(func() {
			for ; load.waitUntil(due); due = due.Add(quoteInterval) {
				err := caller.sendRequest(text, request.status)
				if load.record(time.Since(due), err); err != nil {
					return
				}
			}
		})
	}
	return load
}

// waitUntil waits for an instant; false after the end.
func (l *quoteLoad) waitUntil(due time.Time) bool {
	select {
	case <-l.ended:
		return false
	case <-time.After(time.Until(due)):
		return true
	}
}

func (l *quoteLoad) record(latency time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latencies = append(l.latencies, latency)
	if err != nil {
		l.failed = err
	}
}

func (l *quoteLoad) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.latencies)
}

// takeNext waits for n quotes and returns the latencies since the last call.
func (l *quoteLoad) takeNext(b *testing.B, s *storm, n int) []time.Duration {
	b.Helper()
	s.wait(b, "quotes", func() (bool, int) { return l.count() >= n, l.count() })
	return l.take()
}

// take returns the latencies since the last call.
func (l *quoteLoad) take() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.latencies
	l.latencies = nil
	return taken
}

// stop ends the load and returns the latencies since take.
func (l *quoteLoad) stop(b *testing.B) []time.Duration {
	b.Helper()
	close(l.ended)
	l.running.Wait()
	if l.failed != nil {
		b.Fatal(l.failed)
	}
	return l.take()
}
