package model

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"parapet/model/account"
	"parapet/model/money"
)

// Release is an order to pay. It is committed before any rail is called.
type Release struct {
	Partner, PayoutID string
	Attempt           int           // fences this call
	Key               string        // the rail's idempotency key
	InDoubt           bool          // an earlier call under this key has no known outcome: inquire before sending
	KeyAge            time.Duration // time since the first call under this key that may have reached the rail, because a rail forgets keys
	UnclearCalls      int           // calls under this key without a clear answer; crashed workers do not count
	UnsentCalls       int           // calls under this key that sent nothing
	SupersededKeys    []string      // earlier keys of the debt that the rail has not voided and may still pay under
	RefusalNoticed    bool          // the rail sent an unconfirmed notice that it refused this key
	RefusalReported   bool          // a report shows the refusal: it decides if the rail cannot be asked or does not know the key
	Unclear           bool          // a call under this key ended without a clear answer, or with an unknown one; see Sent
	Lease             time.Duration // counted from before the intent: nothing may be sent after it
	InFlight          bool          // a call has no known outcome and its lease has not ended; see Sent
	Closed            bool          // no longer with the rail under this key, nor released under it; see Sent
	HasSuspectLine    bool          // an unanswered report line names the policy; see Sent
	InquireOnly       bool          // releases are stopped: nothing is sent again, not even under this key
	OtherRail         *RailIdentity // the other bank that was called under this key and alone knows the outcome: this rail gets neither inquiry nor order
	Amount            money.Money
	Beneficiary       account.Beneficiary
	Number            account.Number

	version int64 // version of the payout when the order was prepared
}

// railWithOrder returns the bank that may have the order.
func (o *Release) railWithOrder(rail RailIdentity) RailIdentity {
	if o.OtherRail != nil {
		return *o.OtherRail
	}
	return rail
}

// BeginRelease commits the intent to pay and returns the order. order is nil when the
// payout cannot be released now, with the time to wait if another worker has it. A
// payout whose last call has no known outcome is returned with InDoubt and the same
// key.
func (s *Service) BeginRelease(ctx context.Context, rail RailIdentity, partner, id string) (order *Release, wait time.Duration, err error) {
	key, err := resourcePayout.parseID(id)
	if err == nil {
		err = s.RegisterRail(ctx, rail)
	}
	if err != nil {
		return nil, 0, err
	}
	var of lockResult
	err = s.InTxWithPrelude(ctx, System(), func(tx *Tx) {
		useGenericPlans(tx)
		tx.queueLocks(&of, partner, []uuid.UUID{key})
	}, func(ctx context.Context, tx *Tx) error {
		order, wait = nil, 0
		slice := tx.lockedPayouts(&of)
		if len(slice) == 0 {
			return resourcePayout.notFoundError()
		}
		row := slice[0].row
		if row.NextAttemptAt == nil {
			return nil // final or blocked
		}
		if wait = row.NextAttemptAt.Sub(tx.now); wait > 0 {
			return nil
		}
		orders, stuck, err := tx.prepareOrders(ctx, rail, slice)
		if err = errors.Join(err, stuck); err != nil {
			return err
		}
		tx.savePayouts(slice)
		if order = orders[0]; order != nil {
			tx.saveAttempts(order.railWithOrder(rail).recipient(), orders, nil)
		}
		return nil
	})
	return order, max(wait, 0), err
}

// prepareOrders moves pending payouts to releasing, renews the lease of those in doubt
// and blocks those that may not be sent.
func (tx *Tx) prepareOrders(ctx context.Context, rail RailIdentity, slice []lockedPayout) (orders []*Release, stuck, err error) {
	rc, err := tx.loadReleaseContext(ctx, rail, slice)
	if err != nil {
		return nil, nil, err
	}
	orders = make([]*Release, len(slice))
	for i, out := range slice {
		row, method := out.row, rc.methods[*out.row.PayoutMethodID]
		barred := tx.hasSuspectLine(row, rc.suspectLines)
		switch reason := rc.blocker(out.claim, row, method); {
		case reason != "":
			err = tx.blockPayoutInMemory(out.claim, row, reason)
		case rc.stopped && row.Status == PayoutPending:
			err = tx.postponePayout(out.claim, row, stoppedSentence)
		case barred && row.Status == PayoutPending:
			err = tx.postponePayout(out.claim, row, suspectLineSentence)
		default:
			number, sealed := method.openNumber(tx.store.keys)
			if sealed != nil {
				stuck = errors.Join(stuck, fmt.Errorf("open account of %s: %w", resourcePayoutMethod.formatID(method.ID), sealed))
				continue
			}
			err = tx.lease(out.claim, row)
			orders[i] = tx.newOrder(row, method, number, rc)
			orders[i].InquireOnly = rc.stopped || barred
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return orders, stuck, nil
}

// lease leases a payout to this worker.
func (tx *Tx) lease(claim *claimRow, row *payoutRow) error {
	row.Attempts++
	row.NextAttemptAt = new(tx.now.Add(ReleaseLease))
	if row.Status == PayoutPending {
		return tx.transitionPayoutInMemory(claim, row, PayoutReleasing, fmt.Sprintf("The payout of %s is on its way to the rail.", row.toMoney()))
	}
	tx.bumpVersion(&row.RowHeader)
	return tx.recordPayoutEvent(claim, row, row.ledgerTransfer(), EventPayoutUpdated, "The rail is asked what became of the payout.")
}

func (tx *Tx) newOrder(row *payoutRow, method *payoutMethodRow, number account.Number, rc *releaseContext) *Release {
	order := &Release{
		Partner: row.Partner, PayoutID: resourcePayout.formatID(row.ID), Attempt: row.Attempts, Key: row.idempotencyKey(), Amount: row.toMoney(), Number: number,
		Beneficiary: account.Beneficiary{Name: method.BeneficiaryName, Country: method.BeneficiaryCountry},
	}
	used := rc.keyUsage[order.Key]
	order.UnclearCalls, order.UnsentCalls, order.Lease = used.unclearCalls, used.unsentCalls, ReleaseLease
	order.RefusalNoticed, order.RefusalReported = used.refusalNoticed || used.refusalReported, used.refusalReported
	order.SupersededKeys, order.version = rc.supersededKeys[order.Key], row.Version
	if used.firstUsedAt != nil {
		order.InDoubt, order.KeyAge, order.OtherRail = true, tx.now.Sub(*used.firstUsedAt), used.otherRail
	}
	return order
}
