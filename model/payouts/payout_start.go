package payouts

import (
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/claims"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/ledger"
	"parapet/model/underwriting"
)

// StartPayout records the creation of a payout and either schedules its release to the
// method or records why it is blocked. The caller inserts the row.
func StartPayout(tx *store.Tx, p *underwriting.PolicyRow, claim *claims.ClaimRow, row *claims.PayoutRow, method *PayoutMethodRow) error {
	check, err := blocker(tx.Ctx, tx, p, claim, row, method)
	if err != nil {
		return err
	}
	reason := check.blocked
	row.PayoutMethodID = visibleMethodID(row, method, check)
	if reason == "" {
		row.NextAttemptAt = &check.releaseAt
		EnqueueRelease(tx, row)
	}
	err = RecordPayoutEvent(tx, claim, row, ledger.Transfer{}, event.PayoutCreated, "A payout of "+row.ToMoney().String()+" was created for the claim.")
	if err != nil || reason == "" {
		return err
	}
	row.BlockedReason = &reason
	return TransitionPayoutInMemory(tx, claim, row, claims.PayoutBlocked, BlockedSentence(reason))
}

// isNew reports whether the payout is being created in this transaction.
func isNew(tx *store.Tx, row *claims.PayoutRow) bool {
	return row.Version == 1 && row.CreatedAt.Equal(tx.Now)
}

// ReleaseSettings are the settings of releases that transactions need.
type ReleaseSettings struct {
	Batch bool // see Config.BatchRelease
}

// EnqueueRelease schedules the release of a payout: alone, or with all that are due if
// the rail accepts batches. The sweep sends alone what a batch leaves.
func EnqueueRelease(tx *store.Tx, row *claims.PayoutRow) {
	if store.Local[ReleaseSettings](tx.Store).Batch {
		enqueueBatch(tx, ReleaseBatch{})
		return
	}
	tx.EnqueueJob(ReleasePayout{Partner: row.Partner, ID: store.ResourcePayout.FormatID(row.ID)})
}

// enqueueBatch enqueues one batch for all payouts of the transaction.
func enqueueBatch(tx *store.Tx, batch ReleaseBatch) {
	if !slices.Contains(tx.Jobs, store.Job(batch)) {
		tx.EnqueueJob(batch)
	}
}

// AttemptRow is one call to a rail, inserted before the call and completed after it.
type AttemptRow struct {
	bun.BaseModel `bun:"table:payout_attempts"`

	PayoutID          uuid.UUID `bun:",pk,type:uuid"`
	Partner           string    `bun:",pk"`
	Number            int       `bun:",pk"`
	Rail              string
	Key               string
	StartedAt         time.Time
	EndedAt           *time.Time
	Outcome           *string
	Code              *string
	ProviderReference *string
}

// ReleaseLease is how long one worker may work on a call before another may take over:
// longer than a call may last. Nothing is sent after its end; a later answer is still
// recorded.
const ReleaseLease = 30 * time.Second
