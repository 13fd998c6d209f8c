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

// Ledger keeps the simulator rail's books in Postgres, so that a restarted
// server's simulator remembers whom it paid, as a real rail does.
type Ledger struct{ pool *pgxpool.Pool }

// NewLedger keeps books in the table simulator_transfers.
func NewLedger(pool *pgxpool.Pool) *Ledger { return &Ledger{pool} }

// Record implements rail.Ledger.
func (l *Ledger) Record(ctx context.Context, entry rail.Entry) (rail.Entry, error) {
	body, err := json.Marshal(entry)
	if err != nil {
		return entry, fmt.Errorf("encode entry: %w", err)
	}
	_, err = l.pool.Exec(ctx, "insert into simulator_transfers (key, body) values ($1, $2) on conflict do nothing", entry.Key, string(body))
	if err != nil {
		return entry, fmt.Errorf("write entry: %w", err)
	}
	first, _, err := l.Find(ctx, entry.Key)
	return first, err
}

// Find implements rail.Ledger.
func (l *Ledger) Find(ctx context.Context, key string) (rail.Entry, bool, error) {
	var entry rail.Entry
	var body string
	err := l.pool.QueryRow(ctx, "select body::text from simulator_transfers where key = $1", key).Scan(&body)
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

// Day implements rail.Ledger.
func (l *Ledger) Day(ctx context.Context, day time.Time) ([]rail.Entry, error) {
	rows, err := l.pool.Query(ctx, "select body::text from simulator_transfers where created_at >= $1 and created_at < $2 order by created_at, key", day, day.AddDate(0, 0, 1))
	if err != nil {
		return nil, fmt.Errorf("read entries: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (entry rail.Entry, err error) {
		var body string
		if err = row.Scan(&body); err == nil {
			err = json.Unmarshal([]byte(body), &entry)
		}
		return entry, err
	})
}
