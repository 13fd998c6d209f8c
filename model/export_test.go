package model

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"parapet/model/account"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
)

// SealedSecrets selects the columns that Reseal seals again.
const SealedSecrets = sealedColumnsQuery

// ExplainCandidates returns the plan of the query that finds an occurrence's policies.
func (s *Service) ExplainCandidates(ctx context.Context, event string) (string, error) {
	var id uuid.UUID
	if err := s.DB.NewSelect().Model((*occurrenceRow)(nil)).Column("id").Where("source_event_id = ?", event).Scan(ctx, &id); err != nil {
		return "", err
	}
	happened, err := loadOccurrences(ctx, s.DB, []uuid.UUID{id})
	if err != nil {
		return "", err
	}
	var lines []string
	err = s.DB.NewRaw("explain ?", newCandidateQuery(s.DB, happened)).Scan(ctx, &lines)
	return strings.Join(lines, "\n"), err
}

// ExplainDoubts returns the plan of the query for payouts in doubt.
func (s *Service) ExplainDoubts(ctx context.Context) (string, error) {
	var lines []string
	err := s.DB.NewRaw("explain "+unsettledQuery).Scan(ctx, &lines)
	return strings.Join(lines, "\n"), err
}

// HoldRelayLock takes the relay's lock in a transaction with the given idle timeout.
func HoldRelayLock(ctx context.Context, tx pgx.Tx, idle string) error {
	statements := &pgx.Batch{} // one round trip, so that the transaction does not idle in between
	statements.Queue(idleTimeoutSQL, idle)
	statements.Queue(lockRelaySQL, relayLock)
	return tx.SendBatch(ctx, statements).Close()
}

// RelayPagesRead returns how many pages a pass of the relay reads to find waiting events.
func (s *Service) RelayPagesRead(ctx context.Context) (pages int64, err error) {
	var plan string
	query := strings.NewReplacer("$1", fmt.Sprint(RelayBatchSize), "current_setting('parapet.relay')", "'true'").Replace(unsequencedEventsQuery)
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

// ChainHash returns an event's hash in its partner's chain.
func ChainHash(before []byte, sequence int64, id string, kind event.Type, occurred time.Time, data []byte) []byte {
	return chainHash(before, sequence, id, kind, occurred, data)
}

// FingerprintOf returns the fingerprint of a partner's account.
func FingerprintOf(keys store.Keys, partner string, number account.Number) string {
	return keys.ComputeFingerprint(partner, number.Normalize().Canonical())
}

// SealAccount seals an account number for the payout method with the id.
func SealAccount(keys store.Keys, partner string, id uuid.UUID, number account.Number) ([]byte, error) {
	plain, err := json.Marshal(number.Normalize())
	if err != nil {
		return nil, err
	}
	return keys.SealBytes(plain, store.ColumnSealContext(partner, id, "payout_methods.sealed"))
}

// ExplainChanged returns the plan of the query for recent changes, with a preference for
// indexes even on small tables.
func (s *Service) ExplainChanged(ctx context.Context) (string, error) {
	conn, err := s.Pool.Acquire(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Release()
	tx, err := conn.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if _, err := tx.Exec(ctx, "set local enable_seqscan = off"); err != nil {
		return "", err
	}
	rows, err := tx.Query(ctx, "explain "+strings.ReplaceAll(changedQuery, "$1", "300000"))
	if err != nil {
		return "", err
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return strings.Join(lines, "\n"), err
}

// BindLock is the lock of every transaction that binds.
const BindLock = store.BindLock

// DebtDigest returns the digest in the rail's key for one installment of a claim.
func DebtDigest(partner string, policy, claim uuid.UUID, occurrence string, part int) string {
	row := &claimRow{RowHeader: store.RowHeader{ID: claim, Partner: partner}, PolicyID: policy}
	if occurrence != "" {
		row.OccurrenceKey = &occurrence
	}
	return *debtDigest(row, part)
}

// CheckFully runs the complete check of all records. It returns the number of slices, and
// the total statement time of the slowest one.
func (s *Service) CheckFully(ctx context.Context) (count int, slowest time.Duration, err error) {
	invariants, err := s.loadInvariants(ctx)
	for done := false; err == nil && !done; count++ {
		var check *fullCheckRow
		if check, err = s.openFullCheck(ctx, invariants); err != nil || check == nil {
			return count, slowest, err
		}
		var took time.Duration
		took, done, err = s.checkFullSlice(ctx, check, invariants)
		slowest = max(slowest, took)
	}
	return count, slowest, err
}

// LastSequences are the last sequences of partners that the notifier would read now.
func (s *Service) LastSequences(partners ...string) (map[string]int64, error) {
	_, heads, err := loadNewSequences(s.Store, -1, partners, true)
	return heads, err
}
