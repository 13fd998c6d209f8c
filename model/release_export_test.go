package model

import (
	"context"

	"github.com/google/uuid"
)

// SavePayoutAsReadBefore writes a payout as if it had been read versions earlier, or in
// another state.
func (s *Service) SavePayoutAsReadBefore(ctx context.Context, id string, versions int64, in PayoutStatus) error {
	key, err := nounPayout.parse(id)
	if err != nil {
		return err
	}
	return s.change(ctx, System(), func(ctx context.Context, u *unit) error {
		locked, err := u.lockPayouts(ctx, "", []uuid.UUID{key})
		if err != nil {
			return err
		}
		out := locked[0]
		u.touch(&out.row.header)
		if err := u.sayPayout(out.claim, out.row, out.row.stands(), EventPayoutUpdated, "It changed."); err != nil {
			return err
		}
		out.was, out.from = out.was-versions, in
		u.keepPayouts([]outgoing{out})
		return nil
	})
}
