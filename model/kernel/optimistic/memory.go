// Package optimistic lets a transaction assume what earlier ones read at their beginning:
// the business clock, and the results of queries without arguments. Such a transaction
// needs no answer before its commit. Its first statements are guards, which fail on the
// server unless the assumptions hold, so nothing is committed by a wrong one. This is
// optimistic concurrency control (Kung and Robinson, ACM TODS 6, 1981).
//
// A Memory is safe for concurrent use and takes only its own lock. A Reads belongs to one
// transaction. Start reading at Reads.
package optimistic

import (
	"crypto/sha256"
	"sync"
	"time"
)

// Memory is what the transactions of a process have read. The zero value is empty.
type Memory struct {
	// MaxClockAge is how old an assumed clock may be when the transaction begins on the
	// server; 0 means 100 ms. A transaction that reads the clock may also commit that long
	// after it.
	MaxClockAge time.Duration

	mu      sync.Mutex
	clock   time.Time         // a business time
	local   time.Time         // when it was received; zero: none was
	latest  time.Time         // the latest clock that was read or assumed
	results map[string]result // of queries, by their text
}

// result is what a query returned.
type result struct {
	rows  []byte // in JSON
	guard string // the condition in SQL that it returns them again
	args  []any
}

func newResult(query string, rows []byte) result {
	if string(rows) == "[]" { // the same condition at less cost: Postgres builds and hashes no text
		return result{rows, "not exists (" + query + ")", nil}
	}
	hash := sha256.Sum256(rows)
	return result{rows, "sha256(convert_to((" + listSQL(query) + "), 'UTF8')) = $1", []any{hash[:]}}
}

// Assume returns the reads of a transaction that assumes them. It returns false when no
// clock is known, or only an estimate that is earlier than a clock that was used before:
// the clocks of a process never decrease. Those of two processes may differ by MaxClockAge.
func (m *Memory) Assume() (*Reads, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	clock := m.estimate(time.Now()).Truncate(time.Microsecond)
	if m.local.IsZero() || clock.Before(m.latest) {
		return nil, false
	}
	m.latest = clock
	return &Reads{memory: m, Assumed: true, clock: clock}, true
}

const defaultMaxClockAge = 100 * time.Millisecond

// Read returns the reads of a transaction that asks the server.
func (m *Memory) Read() *Reads { return &Reads{memory: m} }

// Forget empties the memory after an assumption that may have been wrong.
func (m *Memory) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.local, m.results = time.Time{}, nil
}

// estimate returns the business time. It is early by the time that the remembered clock took
// to arrive, and late only if this machine's clock is faster than the server's.
func (m *Memory) estimate(now time.Time) time.Time { return m.clock.Add(now.Sub(m.local)) }

// rememberClock keeps the clock that arrived with the least delay: the estimate by it is
// the latest.
func (m *Memory) rememberClock(clock time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if clock.After(m.latest) {
		m.latest = clock
	}
	now := time.Now()
	if m.local.IsZero() || clock.After(m.estimate(now)) {
		m.clock, m.local = clock, now
	}
}

func (m *Memory) rememberResult(query string, rows []byte) {
	seen := newResult(query, rows)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.results == nil {
		m.results = map[string]result{}
	}
	m.results[query] = seen
}

func (m *Memory) result(query string) (seen result, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen, known = m.results[query]
	return seen, known
}

// listSQL returns a query for the rows of another one, in JSON.
func listSQL(query string) string {
	return "select coalesce(json_agg(r), '[]')::text from (" + query + ") as r"
}
