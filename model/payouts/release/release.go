package release

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"parapet/model/account"
	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/event"
	"parapet/model/kernel/pacing"
	"parapet/model/kernel/store"
	"parapet/model/money"
	"parapet/model/payouts"
	"parapet/model/payouts/controls"
)

// Release is an order to pay. It is committed before any rail is called.
type Release struct {
	Partner, PayoutID string
	Attempt           int                   // fences this call
	Key               string                // the rail's idempotency key
	InDoubt           bool                  // an earlier call under this key has no known outcome: inquire before sending
	KeyAge            time.Duration         // time since the first call under this key that may have reached the rail, because a rail forgets keys
	UnclearCalls      int                   // calls under this key without a clear answer; crashed workers do not count
	UnsentCalls       int                   // calls under this key that sent nothing
	SupersededKeys    []string              // earlier keys of the debt that the rail has not voided and may still pay under
	RefusalNoticed    bool                  // the rail sent an unconfirmed notice that it refused this key
	RefusalReported   bool                  // a report shows the refusal: it decides if the rail cannot be asked or does not know the key
	Unclear           bool                  // a call under this key ended without a clear answer, or with an unknown one; see Sent
	Lease             time.Duration         // counted from before the intent: nothing may be sent after it
	InFlight          bool                  // a call has no known outcome and its lease has not ended; see Sent
	Closed            bool                  // no longer with the rail under this key, nor released under it; see Sent
	HasSuspectLine    bool                  // an unanswered report line names the policy; see Sent
	InquireOnly       bool                  // releases are stopped, or another payout paid for the event: nothing is sent again, not even under this key
	OtherRail         *payouts.RailIdentity // the other bank that was called under this key and alone knows the outcome: this rail gets neither inquiry nor order
	Amount            money.Money
	Beneficiary       account.Beneficiary
	Number            account.Number

	version int64 // version of the payout when the order was prepared
}

// railWithOrder returns the bank that may have the order.
func (o *Release) railWithOrder(rail payouts.RailIdentity) payouts.RailIdentity {
	if o.OtherRail != nil {
		return *o.OtherRail
	}
	return rail
}

// BeginRelease commits the intent to pay and returns the order. order is nil when the
// payout cannot be released now, with the time to wait if another worker has it. A
// payout whose last call has no known outcome is returned with InDoubt and the same
// key.
func (s *Service) BeginRelease(ctx context.Context, rail payouts.RailIdentity, partner, id string) (order *Release, wait time.Duration, err error) {
	key, err := store.ResourcePayout.ParseID(id)
	if err == nil {
		err = s.RegisterRail(ctx, rail)
	}
	if err != nil {
		return nil, 0, err
	}
	var of payouts.LockResult
	err = s.InTxWithPrelude(ctx, actor.System(), func(tx *store.Tx) {
		useStablePlans(tx)
		payouts.QueueLocks(tx, &of, partner, []uuid.UUID{key})
	}, func(ctx context.Context, tx *store.Tx) error {
		order, wait = nil, 0
		slice := payouts.LockedPayouts(tx, &of)
		if len(slice) == 0 {
			return store.ResourcePayout.NotFoundError()
		}
		row := slice[0].Row
		if row.NextAttemptAt == nil {
			return nil // final or blocked
		}
		if wait = row.NextAttemptAt.Sub(tx.Now); wait > 0 {
			return nil
		}
		orders, stuck, err := prepareOrders(ctx, tx, rail, slice, false)
		if err = errors.Join(err, stuck); err != nil {
			return err
		}
		payouts.SavePayouts(tx, slice)
		if order = orders[0]; order != nil {
			SaveAttempts(tx, order.railWithOrder(rail).Recipient(), orders, nil)
		}
		return nil
	})
	return order, max(wait, 0), err
}

// prepareOrders moves pending payouts to releasing, renews the lease of those in doubt
// and blocks those that may not be sent. Of orders that go together it leaves out those
// that need calls of their own, and enqueues a release for each.
func prepareOrders(ctx context.Context, tx *store.Tx, rail payouts.RailIdentity, slice []payouts.LockedPayout, together bool) (orders []*Release, stuck, err error) {
	rc, err := loadReleaseContext(ctx, tx, rail, slice)
	if err != nil {
		return nil, nil, err
	}
	orders = make([]*Release, len(slice))
	for i, out := range slice {
		pacing.YieldEvery(32, i)
		row, method := out.Row, rc.methods[*out.Row.PayoutMethodID]
		barred := payouts.HasSuspectLine(tx, row, rc.suspectLines)
		switch reason := rc.blocker(out.Claim, row, method); {
		case reason != "":
			err = payouts.BlockPayoutInMemory(tx, out.Claim, row, reason)
		case rc.stopped && row.Status == claims.PayoutPending:
			err = controls.PostponePayout(tx, out.Claim, row, controls.StoppedSentence)
		case barred && row.Status == claims.PayoutPending:
			err = controls.PostponePayout(tx, out.Claim, row, controls.SuspectLineSentence)
		case together && rc.needsOwnCalls(row):
			tx.EnqueueJob(payouts.ReleasePayout{Partner: row.Partner, ID: store.ResourcePayout.FormatID(row.ID), Requeued: true})
		default:
			number, sealed := method.OpenNumber(tx.Store.Keys)
			if sealed != nil {
				stuck = errors.Join(stuck, fmt.Errorf("open account of %s: %w", store.ResourcePayoutMethod.FormatID(method.ID), sealed))
				continue
			}
			err = lease(tx, out.Claim, row)
			orders[i] = newOrder(tx, row, method, number, rc)
			orders[i].InquireOnly = rc.stopped || barred || rc.duplicates.has(row)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return orders, stuck, nil
}

// lease leases a payout to this worker.
func lease(tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow) error {
	row.Attempts++
	row.NextAttemptAt = new(tx.Now.Add(payouts.ReleaseLease))
	if row.Status == claims.PayoutPending {
		return payouts.TransitionPayoutInMemory(tx, claim, row, claims.PayoutReleasing, fmt.Sprintf("The payout of %s is on its way to the rail.", row.ToMoney()))
	}
	tx.BumpVersion(&row.RowHeader)
	return payouts.RecordPayoutEvent(tx, claim, row, payouts.LedgerTransfer(row), event.PayoutUpdated, "The rail is asked for the outcome of the payout.")
}

func newOrder(tx *store.Tx, row *claims.PayoutRow, method *payouts.PayoutMethodRow, number account.Number, rc *releaseContext) *Release {
	order := &Release{
		Partner: row.Partner, PayoutID: store.ResourcePayout.FormatID(row.ID), Attempt: row.Attempts, Key: payouts.IdempotencyKey(row), Amount: row.ToMoney(), Number: number,
		Beneficiary: account.Beneficiary{Name: method.BeneficiaryName, Country: method.BeneficiaryCountry},
	}
	used := rc.keyUsage[order.Key]
	order.UnclearCalls, order.UnsentCalls, order.Lease = used.unclearCalls, used.unsentCalls, payouts.ReleaseLease
	order.RefusalNoticed, order.RefusalReported = used.refusalNoticed || used.refusalReported, used.refusalReported
	order.SupersededKeys, order.version = rc.supersededKeys[order.Key], row.Version
	if used.firstUsedAt != nil {
		order.InDoubt, order.KeyAge, order.OtherRail = true, tx.Now.Sub(*used.firstUsedAt), used.otherRail
	}
	return order
}
