package model

import (
	"fmt"
	"slices"

	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
)

// startPayout records the creation of a payout and either schedules its release to the
// method or records why it is blocked. The caller inserts the row.
func startPayout(tx *store.Tx, p *policyRow, claim *claimRow, row *payoutRow, method *payoutMethodRow) error {
	check, err := blocker(tx.Ctx, tx, p, claim, row, method)
	if err != nil {
		return err
	}
	reason := check.blocked
	row.PayoutMethodID = row.visibleMethodID(method, check)
	if reason == "" {
		row.NextAttemptAt = &check.releaseAt
		enqueueRelease(tx, row)
	}
	err = recordPayoutEvent(tx, claim, row, transfer{}, event.PayoutCreated, fmt.Sprintf("A payout of %s was created for the claim.", row.toMoney()))
	if err != nil || reason == "" {
		return err
	}
	row.BlockedReason = &reason
	return transitionPayoutInMemory(tx, claim, row, PayoutBlocked, blockedSentence(reason))
}

// releaseSettings are the settings of releases that transactions need.
type releaseSettings struct {
	batch bool // see Config.BatchRelease
}

// enqueueRelease schedules the release of a payout: alone, or with all that are due if
// the rail accepts batches. The sweep sends, one by one, payouts that a batch leaves.
func enqueueRelease(tx *store.Tx, row *payoutRow) {
	switch {
	case !store.Local[releaseSettings](tx.Store).batch:
		tx.EnqueueJob(store.ReleasePayout{Partner: row.Partner, ID: store.ResourcePayout.FormatID(row.ID)})
	case !slices.Contains(tx.Jobs, store.Job(store.ReleaseBatch{})):
		tx.EnqueueJob(store.ReleaseBatch{})
	}
}
