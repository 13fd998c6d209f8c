package release

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"parapet/model/claims"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
)

// duplicates are the parts of claims that are not sent, because another payout paid for the
// same event or may have, see payouts.DuplicatesSQL.
type duplicates map[claimPart]bool

type claimPart struct {
	claim       uuid.UUID
	installment int
}

// has reports whether the payout is of such a part.
func (d duplicates) has(row *claims.PayoutRow) bool {
	return d[claimPart{row.ClaimID, row.Installment}]
}

// queueDuplicates queues a read of the duplicates among the payouts of the same policies.
func queueDuplicates(tx *store.Tx, found duplicates, slice []payouts.LockedPayout) {
	var policies []uuid.UUID
	for _, out := range slice {
		policies = append(policies, out.Row.PolicyID)
	}
	tx.Batch.Queue(payouts.DuplicatesSQL+"duplicate.policy_id = any($1)", policies).Query(func(rows pgx.Rows) error {
		var part claimPart
		_, err := pgx.ForEachRow(rows, []any{&part.claim, &part.installment}, func() error {
			found[part] = true
			return nil
		})
		return err
	})
}
