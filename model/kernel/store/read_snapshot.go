package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
)

// ReadSnapshot runs read-only statements in one repeatable-read snapshot.
func (s *Store) ReadSnapshot(ctx context.Context, do func(context.Context, bun.Tx, time.Time) error) error {
	snapshot := &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	err := s.DB.RunInTx(ctx, snapshot, func(ctx context.Context, tx bun.Tx) error {
		var now time.Time
		if err := tx.QueryRowContext(ctx, "select "+BusinessNowSQL).Scan(&now); err != nil {
			return fmt.Errorf("read clock: %w", err)
		}
		return do(markInTransaction(ctx), tx, now)
	})
	return TranslateError(err)
}

// PartnerScope returns the partner whose records a figure covers: the actor's own, or
// the one an operator names; empty means all partners.
func PartnerScope(a actor.Actor, partner string) (string, error) {
	if a.Kind != actor.KindPartner {
		return partner, nil
	}
	if partner != "" && partner != a.Partner {
		return "", apperr.Fail(apperr.CodePartnerMismatch, "The token belongs to the partner %q; leave the partner out or name that one.", a.Partner)
	}
	return a.Partner, nil
}
