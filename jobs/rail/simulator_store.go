package rail

import (
	"context"
	"sync"
	"time"

	"parapet/model/money"
)

// SimulatedTransfer is the simulator's answer under a key. It holds no account number.
type SimulatedTransfer struct {
	Key       string      `json:"key"`
	PayoutID  string      `json:"payout_id"`
	Amount    money.Money `json:"amount"`
	Payee     string      `json:"payee"` // masked: "iban ····3000"
	Outcome   Outcome     `json:"outcome"`
	Code      string      `json:"code"`
	Reference string      `json:"reference"`
	// Reported is the outcome that a report has for the transfer; empty: settled.
	Reported string `json:"reported,omitzero"`
}

// RecordedTransfer is a stored transfer.
type RecordedTransfer struct {
	SimulatedTransfer

	Known bool // it was stored before
}

// SimulatorStore stores the simulator's transfers. If it is durable, a restarted
// simulator remembers its payments, as a real rail does.
type SimulatorStore interface {
	// Record stores the entries whose keys have none yet, and returns for each entry the
	// stored one and whether it was there before. It is atomic: of two concurrent calls
	// one writes and both return the same entries.
	Record(ctx context.Context, entries []SimulatedTransfer) ([]RecordedTransfer, error)
	// Find returns the entry of a key, or false without one.
	Find(ctx context.Context, key string) (SimulatedTransfer, bool, error)
	// ListDay returns the entries written on a UTC day, in order, without those that a report
	// within the day has.
	ListDay(ctx context.Context, day time.Time) ([]SimulatedTransfer, error)
}

// MemoryStore is a SimulatorStore that lasts as long as the process.
type MemoryStore struct {
	mu         sync.Mutex
	entries    []SimulatedTransfer
	indexByKey map[string]int
}

// NewMemoryStore returns an empty store.
func NewMemoryStore() *MemoryStore { return &MemoryStore{indexByKey: map[string]int{}} }

// Record implements SimulatorStore.
func (m *MemoryStore) Record(_ context.Context, entries []SimulatedTransfer) ([]RecordedTransfer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	recorded := make([]RecordedTransfer, len(entries))
	for i, entry := range entries {
		at, known := m.indexByKey[entry.Key]
		if !known {
			at = len(m.entries)
			m.indexByKey[entry.Key] = at
			m.entries = append(m.entries, entry)
		}
		recorded[i] = RecordedTransfer{m.entries[at], known}
	}
	return recorded, nil
}

// Find implements SimulatorStore.
func (m *MemoryStore) Find(_ context.Context, key string) (SimulatedTransfer, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, found := m.indexByKey[key]
	if !found {
		return SimulatedTransfer{}, false, nil
	}
	return m.entries[at], true, nil
}

// ListDay implements SimulatorStore. MemoryStore has no clock: all entries belong to
// every day.
func (m *MemoryStore) ListDay(context.Context, time.Time) ([]SimulatedTransfer, error) {
	return m.Entries(), nil
}

// Entries returns the transfers in the order they were written.
func (m *MemoryStore) Entries() []SimulatedTransfer {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]SimulatedTransfer(nil), m.entries...)
}
