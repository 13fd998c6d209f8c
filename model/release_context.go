package model

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// known is what a release has to know of its payouts.
type known struct {
	methods map[uuid.UUID]*payoutMethodRow
	used    map[string]use
	givenUp map[string][]string // by key: those of its debt that the rail may still pay under
	given   map[string]int      // how many consented to what a digest names
	arrived map[uuid.UUID]bool  // payouts whose beneficiary has the money, see arrivalRow
	stopped bool                // releases are, while this transaction lasts
	barring barringLines
}

// use is how a key was used before.
type use struct {
	first     *time.Time // when the rail may have heard of it first; nil when it has not
	doubts    int
	notSent   int
	elsewhere *RailIdentity // the other bank it was used with

	refusalNoticed, refusalReported bool
}

// stops looks once more, at the last moment, at what made a payout pending: whatever
// went wrong on the way here, nothing goes to an account that is not verified, or
// without the consents, or for what its source retracted.
func (k *known) stops(claim *claimRow, row *payoutRow, method *payoutMethodRow) BlockedReason {
	switch {
	case row.Status != PayoutPending:
		return ""
	case k.arrived[row.ID]:
		return BlockedRailMismatch
	case claim.isHeld():
		return BlockedCompliance
	case method == nil || method.Status != MethodVerified:
		return BlockedMethodUnverified
	case row.ApprovalsNeeded > 0 && k.given[row.digest(method)] < row.ApprovalsNeeded:
		return BlockedApproval
	default:
		return ""
	}
}

func (u *unit) knownOf(ctx context.Context, rail RailIdentity, slice []outgoing) (*known, error) {
	k := &known{methods: map[uuid.UUID]*payoutMethodRow{}, used: map[string]use{}, givenUp: map[string][]string{}, given: map[string]int{}, arrived: map[uuid.UUID]bool{}, barring: barringLines{}}
	u.queueStopped(&k.stopped)
	u.queueArrived(slice, k.arrived)
	u.queueBars(slice, k.barring)
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
		u.queueUses(k.used, rail, payouts, keys)
	}
	u.queueGivenUp(k.givenUp, rail, slice)
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

// queueUses reads, with the next statements, how keys were used before.
func (u *unit) queueUses(uses map[string]use, rail RailIdentity, payouts []uuid.UUID, keys []string) {
	other := fmt.Sprintf(" filter (where a.outcome is distinct from 'not_sent' and "+ofOtherBank+")", "$3", "$4")
	u.later.Queue(`select a.key, min(a.started_at) filter (where a.outcome is distinct from 'not_sent'), count(*) filter (where a.outcome = 'unknown'),
			count(*) filter (where a.outcome = 'not_sent'), bool_or(a.refusal_noticed_at is not null), bool_or(a.refusal_reported_at is not null), (array_agg(a.rail order by a.number)`+other+`)[1],
			coalesce((array_agg(i.address order by a.number)`+other+`)[1], ''), coalesce((array_agg(i.account order by a.number)`+other+`)[1], '')
		from payout_attempts a`+joinIdentity+`where a.payout_id = any($1) and a.key = any($2) group by a.key`, payouts, keys, rail.Name, rail.ID()).
		Query(func(rows pgx.Rows) error {
			var key, address, account string
			var name *string
			var used use
			_, err := pgx.ForEachRow(rows, []any{&key, &used.first, &used.doubts, &used.notSent, &used.refusalNoticed, &used.refusalReported, &name, &address, &account}, func() error {
				used.elsewhere = nil
				if name != nil {
					used.elsewhere = &RailIdentity{*name, address, account}
				}
				uses[key] = used
				return nil
			})
			return err
		})
}
