package events

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
)

// HoldRelayLock takes the relay's lock in a transaction with the given idle timeout.
func HoldRelayLock(ctx context.Context, tx pgx.Tx, idle string) error {
	statements := &pgx.Batch{} // one round trip, so that the transaction does not idle in between
	statements.Queue(IdleTimeoutSQL, idle)
	statements.Queue(lockRelaySQL, relayLock)
	return tx.SendBatch(ctx, statements).Close()
}

// IsRelayDue reports whether an event waits for its number.
var IsRelayDue = isRelayDue

// RelayPagesRead returns how many pages a pass of the relay reads to find waiting events,
// and how many to learn whether any wait.
func (s *Service) RelayPagesRead(ctx context.Context) (waiting, due int64, err error) {
	query := strings.NewReplacer("$1", fmt.Sprint(RelayBatchSize), "current_setting('parapet.relay')", "'true'").Replace(unsequencedEventsQuery)
	if waiting, err = s.pagesRead(ctx, query); err != nil {
		return 0, 0, err
	}
	due, err = s.pagesRead(ctx, relayDueSQL)
	return waiting, due, err
}

func (s *Service) pagesRead(ctx context.Context, query string) (pages int64, err error) {
	var plan string
	if err := s.Pool.QueryRow(ctx, "explain (analyze, buffers, format json) "+query).Scan(&plan); err != nil {
		return 0, err
	}
	var explained []struct {
		Plan struct {
			Hit  int64 `json:"Shared Hit Blocks"`  //nolint:tagliatelle // Postgres writes EXPLAIN so
			Read int64 `json:"Shared Read Blocks"` //nolint:tagliatelle // Postgres writes EXPLAIN so
		}
	}
	err = json.Unmarshal([]byte(plan), &explained)
	return explained[0].Plan.Hit + explained[0].Plan.Read, err
}

// LastSequences are the last sequences of partners that the notifier would read now.
func (s *Service) LastSequences(partners ...string) (map[string]int64, error) {
	_, heads, err := loadNewSequences(s.Store, -1, partners, true)
	return heads, err
}
