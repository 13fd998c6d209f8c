package rail

import (
	"context"
	"sync"
	"time"

	"parapet/model/money"
)

// Entry is one line of the simulator's books: what it answered under a key. It
// holds no account number.
type Entry struct {
	Key       string      `json:"key"`
	PayoutID  string      `json:"payout_id"`
	Amount    money.Money `json:"amount"`
	Payee     string      `json:"payee"` // masked: "iban ····3000"
	Outcome   Outcome     `json:"outcome"`
	Code      string      `json:"code"`
	Reference string      `json:"reference"`
}

// Ledger keeps the simulator's books. Where it is durable, a restarted
// simulator remembers whom it paid, as a real rail does.
type Ledger interface {
	// Record writes the entry unless its key has one already, and returns the
	// entry the key has now. It is atomic: of two racing calls one writes and
	// both return the same entry.
	Record(ctx context.Context, entry Entry) (Entry, error)
	// Find returns the entry of a key, false where there is none.
	Find(ctx context.Context, key string) (Entry, bool, error)
	// Day returns the entries that were written on a UTC day, in their order.
	Day(ctx context.Context, day time.Time) ([]Entry, error)
}

// Memory is a ledger that lasts as long as the process.
type Memory struct {
	mu      sync.Mutex
	entries []Entry
	byKey   map[string]int
}

// NewMemory returns an empty ledger.
func NewMemory() *Memory { return &Memory{byKey: map[string]int{}} }

// Record implements Ledger.
func (m *Memory) Record(_ context.Context, entry Entry) (Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at, found := m.byKey[entry.Key]; found {
		return m.entries[at], nil
	}
	m.byKey[entry.Key] = len(m.entries)
	m.entries = append(m.entries, entry)
	return entry, nil
}

// Find implements Ledger.
func (m *Memory) Find(_ context.Context, key string) (Entry, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, found := m.byKey[key]
	if !found {
		return Entry{}, false, nil
	}
	return m.entries[at], true, nil
}

// Day implements Ledger. Memory has no clock: it lasts one day.
func (m *Memory) Day(context.Context, time.Time) ([]Entry, error) { return m.Entries(), nil }

// Entries returns the books in the order they were written.
func (m *Memory) Entries() []Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Entry(nil), m.entries...)
}
