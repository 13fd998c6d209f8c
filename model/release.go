package model

import (
	"context"
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
	Attempt           int    // fences this call
	Key               string // the rail's idempotency key
	Doubt             bool   // an earlier call under this key has no known end: inquire before sending
	Amount            money.Money
	Beneficiary       account.Beneficiary
	Number            account.Number
}

// Outcome is how a call to a rail ended.
type Outcome string

const (
	// OutcomeAccepted means the rail pays.
	OutcomeAccepted Outcome = "accepted"
	// OutcomeRefused means the rail definitely does not.
	OutcomeRefused Outcome = "refused"
	// OutcomeUnknown means nobody knows yet.
	OutcomeUnknown Outcome = "unknown"
	// OutcomeMismatch means the rail pays something else than was asked.
	OutcomeMismatch Outcome = "mismatch"
)

// RailAnswer is what a rail said.
type RailAnswer struct {
	Outcome   Outcome
	Code      string
	Reference string
}

// releaseLease is how long one worker has for a call before another may take
// over: longer than a job may run.
const releaseLease = 60 * time.Second

// BeginRelease commits the intent to pay and returns the order. It returns nil
// when there is nothing to do, and how long to wait when it is somebody else's
// turn. A payout whose last call has no known end comes back with Doubt and the
// same key.
func (s *Service) BeginRelease(ctx context.Context, rail, partner, id string) (order *Release, wait time.Duration, err error) {
	err = s.payoutChange(ctx, System(), partner, id, func(ctx context.Context, u *unit, claim *claimRow, row *payoutRow) error {
		if row.NextAttemptAt == nil {
			return nil // final or blocked
		}
		if wait = row.NextAttemptAt.Sub(u.now); wait > 0 {
			return nil
		}
		wait = 0
		method := new(payoutMethodRow)
		if err := u.NewSelect().Model(method).Where("id = ?", row.PayoutMethodID).Where("partner = ?", partner).Scan(ctx); err != nil {
			return fmt.Errorf("read payout method: %w", err)
		}
		proceed, err := u.intend(ctx, claim, row, method)
		if err != nil || !proceed {
			return err
		}
		order, err = u.order(ctx, rail, row, method)
		return err
	})
	return order, wait, err
}

// intend moves a pending payout to releasing, or renews the lease of one in
// doubt; false when it got blocked instead.
func (u *unit) intend(ctx context.Context, claim *claimRow, row *payoutRow, method *payoutMethodRow) (bool, error) {
	lease := u.now.Add(releaseLease)
	row.Attempts++
	row.NextAttemptAt = &lease
	if row.Status != PayoutPending {
		if err := u.save(ctx, row, "attempts", "next_attempt_at"); err != nil {
			return false, err
		}
		err := u.sayPayout(claim, row, EventPayoutUpdated, "The rail is asked what became of the payout.")
		if err == nil {
			err = u.told(ctx, claim)
		}
		return true, err
	}
	if method.Status != MethodVerified {
		row.Attempts--
		if err := u.block(ctx, claim, row, BlockedMethodUnverified); err != nil {
			return false, err
		}
		return false, u.told(ctx, claim)
	}
	if err := u.movePayout(ctx, claim, row, PayoutReleasing, fmt.Sprintf("The payout of %s is on its way to the rail.", row.money())); err != nil {
		return false, err
	}
	return true, u.told(ctx, claim)
}

func (u *unit) order(ctx context.Context, rail string, row *payoutRow, method *payoutMethodRow) (*Release, error) {
	doubt, err := u.NewSelect().Model((*attemptRow)(nil)).Where("payout_id = ?", row.ID).Where("partner = ?", row.Partner).
		Where("key = ?", row.key()).Exists(ctx)
	if err != nil {
		return nil, fmt.Errorf("read attempts: %w", err)
	}
	number, err := method.number(u.svc.keys)
	if err != nil {
		return nil, fmt.Errorf("open account of %s: %w", nounPayoutMethod.id(method.ID), err)
	}
	attempt := &attemptRow{PayoutID: row.ID, Partner: row.Partner, Number: row.Attempts, Rail: rail, Key: row.key(), StartedAt: u.now}
	if _, err := u.NewInsert().Model(attempt).Exec(ctx); err != nil {
		return nil, fmt.Errorf("write attempt: %w", err)
	}
	return &Release{
		Partner: row.Partner, PayoutID: nounPayout.id(row.ID), Attempt: row.Attempts, Key: row.key(), Doubt: doubt,
		Amount: row.money(), Number: number,
		Beneficiary: account.Beneficiary{Name: method.BeneficiaryName, Country: method.BeneficiaryCountry},
	}, nil
}

// doubtDelays is how long after each unanswered call the rail is asked again;
// the last one repeats.
var doubtDelays = []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour}

// EndRelease records what the rail said of an order and returns how long to wait
// before it is asked again, zero when its word is final. Success is recorded
// whichever attempt brought it; doubt never becomes a refusal.
func (s *Service) EndRelease(ctx context.Context, rail string, order *Release, answer RailAnswer) (again time.Duration, err error) {
	err = s.payoutChange(ctx, Actor{Kind: ActorRail, Name: rail}, order.Partner, order.PayoutID, func(ctx context.Context, u *unit, claim *claimRow, row *payoutRow) error {
		if err := u.endAttempt(ctx, row, order.Attempt, answer); err != nil {
			return err
		}
		again, err = u.end(ctx, rail, claim, row, order, answer)
		if err != nil {
			return err
		}
		return u.told(ctx, claim)
	})
	return again, err
}

// end judges whose word it is. Only the last call may refuse or doubt, because
// a later one is under way with the same key and may pay. Money that went out
// under a key that was given up is nothing to try again.
func (u *unit) end(ctx context.Context, rail string, claim *claimRow, row *payoutRow, order *Release, answer RailAnswer) (time.Duration, error) {
	paid := answer.Outcome == OutcomeAccepted || answer.Outcome == OutcomeMismatch
	underway := row.Status == PayoutReleasing || row.Status == PayoutReconciling
	switch {
	case paid && order.Key != row.key() && (underway || row.Status == PayoutPending || row.Status == PayoutBlocked):
		return 0, u.block(ctx, claim, row, BlockedRailMismatch)
	case !underway || !paid && order.Attempt != row.Attempts:
		return 0, nil // the rail's word arrived another way, or is still to come
	default:
		return u.conclude(ctx, rail, claim, row, answer)
	}
}

func (u *unit) endAttempt(ctx context.Context, row *payoutRow, number int, answer RailAnswer) error {
	outcome := answer.Outcome
	if outcome == OutcomeMismatch {
		outcome = OutcomeAccepted
	}
	_, err := u.NewUpdate().Model((*attemptRow)(nil)).Set("ended_at = ?", u.now).Set("outcome = ?", outcome).
		Set("code = ?", textOrNil(answer.Code)).Set("provider_reference = ?", textOrNil(answer.Reference)).
		Where("payout_id = ?", row.ID).Where("partner = ?", row.Partner).Where("number = ?", number).Where("ended_at is null").Exec(ctx)
	if err != nil {
		return fmt.Errorf("finish attempt: %w", err)
	}
	return nil
}

func (u *unit) conclude(ctx context.Context, rail string, claim *claimRow, row *payoutRow, answer RailAnswer) (time.Duration, error) {
	row.Provider = &rail
	switch answer.Outcome {
	case OutcomeAccepted:
		row.ProviderReference, row.ReleasedAt, row.NextAttemptAt = textOrNil(answer.Reference), &u.now, nil
		return 0, u.movePayout(ctx, claim, row, PayoutReleased, fmt.Sprintf("The rail accepted the payout of %s (%s).", row.money(), answer.Reference))
	case OutcomeRefused:
		row.KeyNumber++
		return 0, u.block(ctx, claim, row, BlockedRailRejected)
	case OutcomeMismatch:
		row.ProviderReference = textOrNil(answer.Reference)
		return 0, u.block(ctx, claim, row, BlockedRailMismatch)
	case OutcomeUnknown:
	}
	again := doubtDelays[min(row.Attempts, len(doubtDelays))-1]
	next := u.now.Add(again)
	row.NextAttemptAt = &next
	if row.Status == PayoutReleasing {
		return again, u.movePayout(ctx, claim, row, PayoutReconciling, "The rail's answer is unknown; it is asked until it is clear.")
	}
	if err := u.save(ctx, row, "next_attempt_at", "provider"); err != nil {
		return 0, err
	}
	return again, u.sayPayout(claim, row, EventPayoutUpdated, "The rail's answer is still unknown.")
}

// payoutChange is a change of one payout on its way.
func (s *Service) payoutChange(ctx context.Context, actor Actor, partner, id string, do func(context.Context, *unit, *claimRow, *payoutRow) error) error {
	key, err := nounPayout.parse(id)
	if err != nil {
		return err
	}
	return s.change(ctx, actor, func(ctx context.Context, u *unit) error {
		claim, row, err := u.lockPayout(ctx, partner, key)
		if err != nil {
			return err
		}
		return do(ctx, u, claim, row)
	})
}

// lockPayout locks a payout, and its claim before it. Without a partner it is
// whoever's payout the actor may see.
func (u *unit) lockPayout(ctx context.Context, partner string, id uuid.UUID) (*claimRow, *payoutRow, error) {
	row := new(payoutRow)
	if err := u.actor.tenancy(u.NewSelect().Model(row).Where("po.id = ?0 and ?1 in ('', po.partner)", id, partner)).Scan(ctx); err != nil {
		if absent(err) {
			return nil, nil, nounPayout.notFound()
		}
		return nil, nil, fmt.Errorf("read payout: %w", err)
	}
	claim, err := u.lockClaim(ctx, row.ClaimID)
	if err != nil {
		return nil, nil, err
	}
	row = new(payoutRow)
	return claim, row, u.locked(ctx, row, id, nounPayout)
}
