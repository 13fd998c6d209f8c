package payouts

import (
	"context"

	"github.com/google/uuid"

	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
)

// SavePayoutAsReadBefore writes a payout as if it had been read versions earlier, or in
// another state.
func (s *Service) SavePayoutAsReadBefore(ctx context.Context, id string, versions int64, in claims.PayoutStatus) error {
	key, err := store.ResourcePayout.ParseID(id)
	if err != nil {
		return err
	}
	return s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		locked, err := LockPayouts(ctx, tx, "", []uuid.UUID{key})
		if err != nil {
			return err
		}
		out := locked[0]
		tx.BumpVersion(&out.Row.RowHeader)
		if err := RecordPayoutEvent(tx, out.Claim, out.Row, LedgerTransfer(out.Row), event.PayoutUpdated, "It changed."); err != nil {
			return err
		}
		out.Version, out.status = out.Version-versions, in
		SavePayouts(tx, []LockedPayout{out})
		return nil
	})
}
