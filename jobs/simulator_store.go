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
func (s *SimulatorStore) Record(ctx context.Context, entry rail.SimulatedTransfer) (rail.SimulatedTransfer, error) {
	body, err := json.Marshal(entry)
	if err != nil {
		return entry, fmt.Errorf("encode entry: %w", err)
	}
	_, err = s.pool.Exec(ctx, "insert into simulator_transfers (key, transfer) values ($1, $2) on conflict do nothing", entry.Key, string(body))
	if err != nil {
		return entry, fmt.Errorf("write entry: %w", err)
	}
	first, _, err := s.Find(ctx, entry.Key)
	return first, err
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
	rows, err := s.pool.Query(ctx, "select transfer::text from simulator_transfers where created_at >= $1 and created_at < $2 order by created_at, key", day, day.AddDate(0, 0, 1))
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
