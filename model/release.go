package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
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
	Lease             time.Duration // from before the intent: nothing may be sent later
	Underway          bool          // the call has no known end yet; see Sent
	AskOnly           bool          // releases are stopped: nothing is sent again, also not under this key
	Elsewhere         string        // the other rail that was called under this key and alone knows its end: this one is neither asked nor sent to
	Amount            money.Money
	Beneficiary       account.Beneficiary
	Number            account.Number
}

// releaseLease is how long one worker has for a call before another may take
// over: longer than a job may run.
const releaseLease = 60 * time.Second

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
func (s *Service) BeginRelease(ctx context.Context, rail, partner, id string) (order *Release, wait time.Duration, err error) {
	key, err := nounPayout.parse(id)
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
			u.keepAttempts(cmp.Or(order.Elsewhere, rail), orders, nil)
		}
		return nil
	})
	return order, max(wait, 0), err
}

// intend moves pending payouts to releasing, renews the lease of those in doubt
// and blocks what may not go out. It returns the order of each in its place, nil for
// what does not go out; the caller writes payouts and attempts. A payout whose account
// cannot be opened is stuck: it stays as it is.
func (u *unit) intend(ctx context.Context, rail string, slice []outgoing) (orders []*Release, stuck, err error) {
	known, err := u.knownOf(ctx, rail, slice)
	if err != nil {
		return nil, nil, err
	}
	orders = make([]*Release, len(slice))
	for i, out := range slice {
		row, method := out.row, known.methods[*out.row.PayoutMethodID]
		switch reason := known.stops(row, method); {
		case reason != "":
			err = u.blockLocked(out.claim, row, reason)
		case known.stopped && row.Status == PayoutPending:
			err = u.wait(out.claim, row)
		default:
			number, sealed := method.number(u.svc.keys)
			if sealed != nil {
				stuck = errors.Join(stuck, fmt.Errorf("open account of %s: %w", nounPayoutMethod.id(method.ID), sealed))
				continue
			}
			err = u.set(out.claim, row)
			orders[i] = u.order(row, method, number, known)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return orders, stuck, nil
}

// DoubtsElsewhere counts the payouts in doubt at other rails than the named one, by
// rail. System and operators only.
func (s *Service) DoubtsElsewhere(ctx context.Context, actor Actor, rail string) (map[string]int, error) {
	if err := s.authorize(ctx, actor, ScopeOperator); err != nil {
		return nil, err
	}
	var rows []struct {
		Rail  string
		Count int
	}
	err := s.preparedRows(ctx, s.pool, &rows, `select a.rail, count(distinct po.id) as count
		from payouts po join payout_attempts a on a.payout_id = po.id and a.partner = po.partner and a.key like '%.' || po.key_number
		where po.next_attempt_at is not null and po.status in ('releasing', 'reconciling') and a.rail <> $1 group by a.rail`, rail)
	counts := make(map[string]int, len(rows))
	for _, row := range rows {
		counts[row.Rail] = row.Count
	}
	return counts, explain(err)
}

// set gives a payout to this worker until the lease ends.
func (u *unit) set(claim *claimRow, row *payoutRow) error {
	row.Attempts++
	row.NextAttemptAt = new(u.now.Add(releaseLease))
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
	order.Doubts, order.NotSent, order.Lease = used.doubts, used.notSent, releaseLease
	if used.first != nil {
		order.Doubt, order.Age, order.Elsewhere = true, u.now.Sub(*used.first), used.elsewhere
	}
	order.AskOnly = known.stopped
	return order
}

// known is what a release has to know of its payouts.
type known struct {
	methods map[uuid.UUID]*payoutMethodRow
	used    map[string]use
	given   map[string]int // how many consented to what a digest names
	stopped bool           // releases are, while this transaction lasts
}

// use is how a key was used before.
type use struct {
	first     *time.Time // when the rail may have heard of it first; nil when it has not
	doubts    int
	notSent   int
	elsewhere string // the other rail it was used with
}

// stops looks once more, at the last moment, at what made a payout pending: whatever
// went wrong on the way here, nothing goes to an account that is not verified, or
// without the consents.
func (k *known) stops(row *payoutRow, method *payoutMethodRow) BlockedReason {
	switch {
	case row.Status != PayoutPending:
		return ""
	case method == nil || method.Status != MethodVerified:
		return BlockedMethodUnverified
	case row.ApprovalsNeeded > 0 && k.given[row.digest(method)] < row.ApprovalsNeeded:
		return BlockedApproval
	default:
		return ""
	}
}

func (u *unit) knownOf(ctx context.Context, rail string, slice []outgoing) (*known, error) {
	k := &known{methods: map[uuid.UUID]*payoutMethodRow{}, used: map[string]use{}, given: map[string]int{}}
	u.queueStopped(&k.stopped)
	var methods, payouts, guarded []uuid.UUID
	var keys []string
	for _, out := range slice {
		methods = append(methods, *out.row.PayoutMethodID)
		if out.row.Attempts > 0 {
			payouts, keys = append(payouts, out.row.ID), append(keys, out.row.key())
		}
		if out.row.ApprovalsNeeded > 0 {
			guarded = append(guarded, out.row.ID)
		}
	}
	text := u.svc.texts.of((*payoutMethodRow)(nil), "by ids", func() string {
		return u.NewSelect().Model((*payoutMethodRow)(nil)).Where("pm.id = any($1)").String()
	})
	u.later.Queue(text, methods).Query(func(rows pgx.Rows) error {
		found := make([]payoutMethodRow, 0, len(methods))
		err := u.svc.all(rows, text, &found)
		for i := range found {
			k.methods[found[i].ID] = &found[i]
		}
		return err
	})
	if len(payouts) > 0 {
		u.later.Queue(`select key, min(started_at) filter (where outcome is distinct from 'not_sent'), count(*) filter (where outcome = 'unknown'),
				count(*) filter (where outcome = 'not_sent'), coalesce(min(rail) filter (where rail <> $3 and outcome is distinct from 'not_sent'), '')
			from payout_attempts where payout_id = any($1) and key = any($2) group by key`, payouts, keys, rail).
			Query(func(rows pgx.Rows) error {
				var key string
				var used use
				_, err := pgx.ForEachRow(rows, []any{&key, &used.first, &used.doubts, &used.notSent, &used.elsewhere}, func() error {
					k.used[key] = used
					return nil
				})
				return err
			})
	}
	if len(guarded) > 0 {
		u.later.Queue("select digest, count(*) from payout_approvals where payout_id = any($1) group by digest", guarded).Query(func(rows pgx.Rows) error {
			var digest string
			var n int
			_, err := pgx.ForEachRow(rows, []any{&digest, &n}, func() error {
				k.given[digest] = n
				return nil
			})
			return err
		})
	}
	if err := u.send(ctx); err != nil {
		return nil, fmt.Errorf("read payout methods and attempts: %w", err)
	}
	return k, nil
}
