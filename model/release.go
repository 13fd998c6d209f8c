package model

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/account"
	"parapet/model/money"
)

// attemptRow is one call to a rail: written before the call, finished after it.
type attemptRow struct {
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

// Release is the order to pay, committed before any rail is called.
type Release struct {
	Partner, PayoutID string
	Attempt           int           // fences this call
	Key               string        // the rail's idempotency key
	Doubt             bool          // an earlier call under this key has no known end: inquire before sending
	Age               time.Duration // since the first call under this key that may have reached the rail; a rail forgets keys
	Doubts            int           // calls under this key that ended without a clear answer; workers that died do not count
	NotSent           int           // calls under this key that sent nothing
	GivenUp           []string      // earlier keys of the debt that the rail has not voided, where it may still pay under them
	RefusalNoticed    bool          // the rail said on its own, and did not confirm, that it refused this key
	RefusalReported   bool          // a report said so: it decides where the rail cannot be asked or does not know the key
	Unclear           bool          // a call under this key ended without a clear answer, or nobody knows how; see Sent
	Lease             time.Duration // from before the intent: nothing may be sent later
	Underway          bool          // a call has no known end and its lease has not ended; see Sent
	Settled           bool          // neither with the rail under this key nor released under it any more; see Sent
	Barred            bool          // a report line that nobody answered names its policy; see Sent
	AskOnly           bool          // releases are stopped: nothing is sent again, also not under this key
	Elsewhere         *RailIdentity // the other bank that was called under this key and alone knows its end: this one is neither asked nor sent to
	Amount            money.Money
	Beneficiary       account.Beneficiary
	Number            account.Number

	version int64 // of the payout when the order was prepared
}

// heldBy is the bank that may have the order.
func (o *Release) heldBy(rail RailIdentity) RailIdentity {
	if o.Elsewhere != nil {
		return *o.Elsewhere
	}
	return rail
}

// ReleaseLease is how long one worker has for a call before another may take over:
// longer than a call may last. Nothing is sent from its end on, and an answer that comes
// later is recorded all the same.
const ReleaseLease = 30 * time.Second

// outgoing is a locked payout on its way out, with what it was when it was read:
// rows change in memory and are written together.
type outgoing struct {
	claim *claimRow
	row   *payoutRow
	was   int64
	from  PayoutStatus
}

func outgoingOf(claim *claimRow, row *payoutRow) outgoing {
	return outgoing{claim, row, row.Version, row.Status}
}

// BeginRelease commits the intent to pay and returns the order; nil when there is
// nothing to do, and how long to wait when it is somebody else's turn. A payout whose
// last call has no known end comes back with Doubt and the same key.
func (s *Service) BeginRelease(ctx context.Context, rail RailIdentity, partner, id string) (order *Release, wait time.Duration, err error) {
	key, err := nounPayout.parse(id)
	if err == nil {
		err = s.RegisterRail(ctx, rail)
	}
	if err != nil {
		return nil, 0, err
	}
	var of locking
	err = s.changeAsking(ctx, System(), func(u *unit) {
		u.plannedOnce()
		u.queueLocks(&of, partner, []uuid.UUID{key})
	}, func(ctx context.Context, u *unit) error {
		order, wait = nil, 0
		slice := u.lockedBy(&of)
		if len(slice) == 0 {
			return nounPayout.notFound()
		}
		row := slice[0].row
		if row.NextAttemptAt == nil {
			return nil // final or blocked
		}
		if wait = row.NextAttemptAt.Sub(u.now); wait > 0 {
			return nil
		}
		orders, stuck, err := u.intend(ctx, rail, slice)
		if err = errors.Join(err, stuck); err != nil {
			return err
		}
		u.keepPayouts(slice)
		if order = orders[0]; order != nil {
			u.keepAttempts(order.heldBy(rail).recipient(), orders, nil)
		}
		return nil
	})
	return order, max(wait, 0), err
}

// intend moves pending payouts to releasing, renews the lease of those in doubt
// and blocks what may not go out. It returns the order of each in its place, nil for
// what does not go out; the caller writes payouts and attempts. A payout whose account
// cannot be opened is stuck: it stays as it is.
func (u *unit) intend(ctx context.Context, rail RailIdentity, slice []outgoing) (orders []*Release, stuck, err error) {
	known, err := u.knownOf(ctx, rail, slice)
	if err != nil {
		return nil, nil, err
	}
	orders = make([]*Release, len(slice))
	for i, out := range slice {
		row, method := out.row, known.methods[*out.row.PayoutMethodID]
		barred := u.isBarred(row, known.barring)
		switch reason := known.stops(out.claim, row, method); {
		case reason != "":
			err = u.blockLocked(out.claim, row, reason)
		case known.stopped && row.Status == PayoutPending:
			err = u.wait(out.claim, row, stoppedSentence)
		case barred && row.Status == PayoutPending:
			err = u.wait(out.claim, row, barredSentence)
		default:
			number, sealed := method.number(u.svc.keys)
			if sealed != nil {
				stuck = errors.Join(stuck, fmt.Errorf("open account of %s: %w", nounPayoutMethod.id(method.ID), sealed))
				continue
			}
			err = u.set(out.claim, row)
			orders[i] = u.order(row, method, number, known)
			orders[i].AskOnly = known.stopped || barred
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return orders, stuck, nil
}

// set gives a payout to this worker until the lease ends.
func (u *unit) set(claim *claimRow, row *payoutRow) error {
	row.Attempts++
	row.NextAttemptAt = new(u.now.Add(ReleaseLease))
	if row.Status == PayoutPending {
		return u.stepPayout(claim, row, PayoutReleasing, fmt.Sprintf("The payout of %s is on its way to the rail.", row.money()))
	}
	u.touch(&row.header)
	return u.sayPayout(claim, row, row.stands(), EventPayoutUpdated, "The rail is asked what became of the payout.")
}

func (u *unit) order(row *payoutRow, method *payoutMethodRow, number account.Number, known *known) *Release {
	order := &Release{
		Partner: row.Partner, PayoutID: nounPayout.id(row.ID), Attempt: row.Attempts, Key: row.key(), Amount: row.money(), Number: number,
		Beneficiary: account.Beneficiary{Name: method.BeneficiaryName, Country: method.BeneficiaryCountry},
	}
	used := known.used[order.Key]
	order.Doubts, order.NotSent, order.Lease = used.doubts, used.notSent, ReleaseLease
	order.RefusalNoticed, order.RefusalReported = used.refusalNoticed || used.refusalReported, used.refusalReported
	order.GivenUp, order.version = known.givenUp[order.Key], row.Version
	if used.first != nil {
		order.Doubt, order.Age, order.Elsewhere = true, u.now.Sub(*used.first), used.elsewhere
	}
	return order
}
