package model

import (
	"context"

	"github.com/google/uuid"
)

// SavePayoutAsReadBefore writes a payout as if it had been read versions earlier, or in
// another state.
func (s *Service) SavePayoutAsReadBefore(ctx context.Context, id string, versions int64, in PayoutStatus) error {
	key, err := resourcePayout.parseID(id)
	if err != nil {
		return err
	}
	return s.InTx(ctx, System(), func(ctx context.Context, tx *Tx) error {
		locked, err := tx.lockPayouts(ctx, "", []uuid.UUID{key})
		if err != nil {
			return err
		}
		out := locked[0]
		tx.bumpVersion(&out.row.RowHeader)
		if err := tx.recordPayoutEvent(out.claim, out.row, out.row.ledgerTransfer(), EventPayoutUpdated, "It changed."); err != nil {
			return err
		}
		out.version, out.status = out.version-versions, in
		tx.savePayouts([]lockedPayout{out})
		return nil
	})
}
