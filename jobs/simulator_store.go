package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"parapet/jobs/rail"
)

// SimulatorStore stores the simulator's transfers in Postgres, so that a restarted
// simulator remembers its payments.
type SimulatorStore struct{ pool *pgxpool.Pool }

// NewSimulatorStore returns a store over the table simulator_transfers.
func NewSimulatorStore(pool *pgxpool.Pool) *SimulatorStore { return &SimulatorStore{pool} }

// Record implements rail.SimulatorStore.
func (s *SimulatorStore) Record(ctx context.Context, entries []rail.SimulatedTransfer) ([]rail.RecordedTransfer, error) {
	keys, bodies := make([]string, len(entries)), make([]string, len(entries))
	for i, entry := range entries {
		body, err := json.Marshal(entry)
		if err != nil {
			return nil, fmt.Errorf("encode entry: %w", err)
		}
		keys[i], bodies[i] = entry.Key, string(body)
	}
	written, err := s.queryKeys(ctx, "insert into simulator_transfers (key, transfer) select * from unnest($1::text[], $2::json[]) order by 1 on conflict do nothing returning key, transfer::text", keys, bodies)
	if err != nil {
		return nil, fmt.Errorf("write entries: %w", err)
	}
	earlier := map[string]rail.SimulatedTransfer{}
	if len(written) < len(entries) { // a statement of its own sees what others wrote meanwhile
		earlier, err = s.queryKeys(ctx, "select key, transfer::text from simulator_transfers where key = any($1)", keys)
		if err != nil {
			return nil, fmt.Errorf("read entries: %w", err)
		}
	}
	recorded := make([]rail.RecordedTransfer, len(entries))
	for i, key := range keys {
		entry, isNew := written[key]
		if !isNew {
			entry = earlier[key]
		}
		recorded[i] = rail.RecordedTransfer{SimulatedTransfer: entry, Known: !isNew}
	}
	return recorded, nil
}

// queryKeys returns the transfers that a statement returns, by key.
func (s *SimulatorStore) queryKeys(ctx context.Context, statement string, args ...any) (map[string]rail.SimulatedTransfer, error) {
	rows, err := s.pool.Query(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	all := map[string]rail.SimulatedTransfer{}
	var key, body string
	_, err = pgx.ForEachRow(rows, []any{&key, &body}, func() error {
		var entry rail.SimulatedTransfer
		err := json.Unmarshal([]byte(body), &entry)
		all[key] = entry
		return err
	})
	return all, err
}

// Find implements rail.SimulatorStore.
func (s *SimulatorStore) Find(ctx context.Context, key string) (rail.SimulatedTransfer, bool, error) {
	var entry rail.SimulatedTransfer
	var body string
	err := s.pool.QueryRow(ctx, "select transfer::text from simulator_transfers where key = $1", key).Scan(&body)
	if errors.Is(err, pgx.ErrNoRows) {
		return entry, false, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(body), &entry)
	}
	if err != nil {
		return entry, false, fmt.Errorf("read entry: %w", err)
	}
	return entry, true, nil
}

// ListDay implements rail.SimulatorStore.
func (s *SimulatorStore) ListDay(ctx context.Context, day time.Time) ([]rail.SimulatedTransfer, error) {
	rows, err := s.pool.Query(ctx, "select transfer::text from simulator_transfers where created_at >= $1 and created_at < $2 and not reported order by created_at, key", day, day.AddDate(0, 0, 1))
	if err != nil {
		return nil, fmt.Errorf("read entries: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (entry rail.SimulatedTransfer, err error) {
		var body string
		if err = row.Scan(&body); err == nil {
			err = json.Unmarshal([]byte(body), &entry)
		}
		return entry, err
	})
}
