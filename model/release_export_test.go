package model

import (
	"context"

	"github.com/google/uuid"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
)

// SavePayoutAsReadBefore writes a payout as if it had been read versions earlier, or in
// another state.
func (s *Service) SavePayoutAsReadBefore(ctx context.Context, id string, versions int64, in PayoutStatus) error {
	key, err := store.ResourcePayout.ParseID(id)
	if err != nil {
		return err
	}
	return s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		locked, err := lockPayouts(ctx, tx, "", []uuid.UUID{key})
		if err != nil {
			return err
		}
		out := locked[0]
		tx.BumpVersion(&out.row.RowHeader)
		if err := recordPayoutEvent(tx, out.claim, out.row, out.row.ledgerTransfer(), event.PayoutUpdated, "It changed."); err != nil {
			return err
		}
		out.version, out.status = out.version-versions, in
		savePayouts(tx, []lockedPayout{out})
		return nil
	})
}
