package model

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// readSnapshot runs read-only statements in one repeatable-read snapshot.
func (s *Store) readSnapshot(ctx context.Context, do func(context.Context, bun.Tx, time.Time) error) error {
	snapshot := &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	err := s.db.RunInTx(ctx, snapshot, func(ctx context.Context, tx bun.Tx) error {
		var now time.Time
		if err := tx.QueryRowContext(ctx, "select "+businessNowSQL).Scan(&now); err != nil {
			return fmt.Errorf("read clock: %w", err)
		}
		return do(markInTransaction(ctx), tx, now)
	})
	return translateError(err)
}

// partnerScope returns the partner whose records a figure covers: the actor's own, or
// the one an operator names; empty means all partners.
func (a Actor) partnerScope(partner string) (string, error) {
	if a.Kind != ActorPartner {
		return partner, nil
	}
	if partner != "" && partner != a.Partner {
		return "", Fail(CodePartnerMismatch, "The token belongs to the partner %q; leave the partner out or name that one.", a.Partner)
	}
	return a.Partner, nil
}
