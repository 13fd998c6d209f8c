package model

import (
	"fmt"

	"slices"
)

// startPayout records the creation of a payout and either schedules its release to the
// method or records why it is blocked. The caller inserts the row.
func (tx *Tx) startPayout(p *policyRow, claim *claimRow, row *payoutRow, method *payoutMethodRow) error {
	check, err := tx.blocker(tx.ctx, p, claim, row, method)
	if err != nil {
		return err
	}
	reason := check.blocked
	row.PayoutMethodID = row.visibleMethodID(method, check)
	if reason == "" {
		row.NextAttemptAt = &check.releaseAt
		tx.enqueueRelease(row)
	}
	err = tx.recordPayoutEvent(claim, row, transfer{}, EventPayoutCreated, fmt.Sprintf("A payout of %s was created for the claim.", row.toMoney()))
	if err != nil || reason == "" {
		return err
	}
	row.BlockedReason = &reason
	return tx.transitionPayoutInMemory(claim, row, PayoutBlocked, blockedSentence(reason))
}

// releaseSettings are the settings of releases that transactions need.
type releaseSettings struct {
	batch bool // see Config.BatchRelease
}

// enqueueRelease schedules the release of a payout: alone, or with all that are due if
// the rail accepts batches. The sweep sends, one by one, payouts that a batch leaves.
func (tx *Tx) enqueueRelease(row *payoutRow) {
	switch {
	case !storeLocal[releaseSettings](tx.store).batch:
		tx.enqueueJob(ReleasePayout{Partner: row.Partner, ID: resourcePayout.formatID(row.ID)})
	case !slices.Contains(tx.jobs, Job(ReleaseBatch{})):
		tx.enqueueJob(ReleaseBatch{})
	}
}
