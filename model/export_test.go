package model

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"parapet/model/trigger"
)

// SealedSecrets are the columns that a rotation seals anew.
const SealedSecrets = sealedSecrets

// Constraints are the names that constraint.go gives a sentence.
func Constraints() []string { return slices.Sorted(maps.Keys(constraints)) }

// ExplainCandidates is the plan by which matching finds an occurrence's policies.
func (s *Service) ExplainCandidates(ctx context.Context, event string) (string, error) {
	var id uuid.UUID
	if err := s.db.NewSelect().Model((*occurrenceRow)(nil)).Column("id").Where("source_event_id = ?", event).Scan(ctx, &id); err != nil {
		return "", err
	}
	happened, err := happened(ctx, s.db, []uuid.UUID{id})
	if err != nil {
		return "", err
	}
	h := happened[0]
	var values []string
	var args []any
	for _, box := range searchBoxes(trigger.Boxes(h.facts)) {
		values = append(values, candidateBox)
		args = append(args, h.row.ID, h.row.Scope, string(h.row.Kind), h.row.OccurredAt, h.row.LastAt, box)
	}
	var lines []string
	query := "explain " + fmt.Sprintf(candidatesQuery, strings.Join(values, ", "))
	ids := bun.List([]uuid.UUID{id})
	err = s.db.NewRaw(query, append(args, ids, ids)...).Scan(ctx, &lines)
	return strings.Join(lines, "\n"), err
}

// ExplainDoubts is how Postgres finds the money in doubt.
func (s *Service) ExplainDoubts(ctx context.Context) (string, error) {
	var lines []string
	err := s.db.NewRaw("explain "+doubtQuery).Scan(ctx, &lines)
	return strings.Join(lines, "\n"), err
}

// HangAsRelay takes the relay's lock in a transaction that may idle for so long.
func HangAsRelay(ctx context.Context, tx pgx.Tx, idle string) error {
	if _, err := tx.Exec(ctx, briefly, idle); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, lockRelay, relayLock)
	return err
}

// VisitedByRelay is how many pages a pass of the relay looks at to find what waits.
func (s *Service) VisitedByRelay(ctx context.Context) (pages int64, err error) {
	var plan string
	query := strings.NewReplacer("$1", fmt.Sprint(RelayBatch), "current_setting('parapet.relay')", "'true'").Replace(waitingEvents)
	if err := s.pool.QueryRow(ctx, "explain (analyze, buffers, format json) "+query).Scan(&plan); err != nil {
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
