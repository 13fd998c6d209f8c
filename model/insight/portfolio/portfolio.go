package portfolio

import (
	"context"
	"fmt"
	"time"

	"github.com/shopspring/decimal"
	"github.com/uptrace/bun"

	"parapet/model/claims"
	"parapet/model/hazard"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/optional"
	"parapet/model/kernel/store"
	"parapet/model/underwriting"
)

// Filter selects a part of the portfolio. Empty fields select everything.
type Filter struct {
	Partner  string // operators only; partners see their own
	Product  string
	Currency string
	From     *time.Time // inclusive; defaults to one year before To
	To       *time.Time // exclusive; defaults to now
}

// MaxPortfolioSpan bounds the period of a portfolio: five years, plus two days for leap
// years.
const MaxPortfolioSpan = (5*365 + 2) * 24 * time.Hour

// Portfolio computes the figures of a portfolio at one instant. Figures in force, at
// risk or in doubt are as of AsOf; figures bound, claimed and paid cover [From, To). No
// figure mixes currencies. Each figure is one statement.
type Portfolio struct {
	AsOf     time.Time
	From, To time.Time

	svc    *Service
	actor  actor.Actor
	filter Filter
}

// Open validates a portfolio request. Errors: parameter_invalid,
// partner_mismatch.
func (s *Service) Open(ctx context.Context, caller actor.Actor, f Filter) (*Portfolio, error) {
	for _, scope := range []actor.Scope{actor.ScopePoliciesRead, actor.ScopeClaimsRead} {
		if err := s.Authorize(ctx, caller, scope); err != nil {
			return nil, err
		}
	}
	var err error
	if f.Partner, err = caller.PartnerScope(f.Partner); err != nil {
		return nil, err
	}
	now, err := s.ReadClock(ctx)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("read clock: %w", err))
	}
	p := &Portfolio{AsOf: now, To: optional.Or(f.To, now).UTC(), svc: s, actor: caller, filter: f}
	p.From = optional.Or(f.From, p.To.AddDate(-1, 0, 0)).UTC()
	if p.From.Year() < hazard.EarliestYear {
		return nil, apperr.InvalidParameter("from", fmt.Sprintf("It must not be before the year %d.", hazard.EarliestYear))
	}
	if !p.From.Before(p.To) {
		return nil, apperr.InvalidParameter("from", "It must be before to.")
	}
	if p.To.Sub(p.From) > MaxPortfolioSpan {
		return nil, apperr.InvalidParameter("from", "A portfolio spans at most five years; ask for less at once.")
	}
	return p, nil
}

// applyFilter applies the filter to policies, claims or payouts; product is the SQL
// expression of a row's product.
func (p *Portfolio) applyFilter(q *bun.SelectQuery, product string) *bun.SelectQuery {
	q = store.RestrictToTenant(p.actor, q)
	if p.filter.Partner != "" && p.actor.Kind != actor.KindPartner {
		q = q.Where("?TableAlias.partner = ?", p.filter.Partner)
	}
	if p.filter.Currency != "" {
		q = q.Where("?TableAlias.currency = ?", p.filter.Currency)
	}
	if p.filter.Product != "" {
		q = q.Where(product, p.filter.Product)
	}
	return q
}

// SQL expressions of a row's product: claims and payouts have their policy's.
const (
	ownProductSQL    = "?TableAlias.product = ?"
	policyProductSQL = "exists (select from policies pp where pp.id = ?TableAlias.policy_id and pp.partner = ?TableAlias.partner and pp.product = ?)"
)

// restrictToPeriod keeps the rows whose time column lies in the period.
func (p *Portfolio) restrictToPeriod(q *bun.SelectQuery, column string) *bun.SelectQuery {
	return q.Where("?TableAlias.? >= ?", bun.Ident(column), p.From).Where("?TableAlias.? < ?", bun.Ident(column), p.To)
}

// policiesQuery, claimsQuery and payoutsQuery select the rows that the figures count.
func (p *Portfolio) policiesQuery() *bun.SelectQuery {
	return p.applyFilter(p.svc.DB.NewSelect().Model((*underwriting.PolicyRow)(nil)), ownProductSQL)
}

func (p *Portfolio) claimsQuery() *bun.SelectQuery {
	return p.applyFilter(p.svc.DB.NewSelect().Model((*claims.ClaimRow)(nil)), policyProductSQL)
}

func (p *Portfolio) payoutsQuery() *bun.SelectQuery {
	return p.applyFilter(p.svc.DB.NewSelect().Model((*claims.PayoutRow)(nil)), policyProductSQL)
}

// lossesQuery sums losses per policy: incurred is what approved claims owe, paid is
// what was released for them and not returned. Paid depends on the status, because
// money of a returned payout did not arrive.
func (p *Portfolio) lossesQuery() *bun.SelectQuery {
	owed := p.claimsQuery().ColumnExpr("c.policy_id, c.partner, c.amount as incurred, 0::bigint as paid").
		Where("c.status in (?, ?)", claims.ClaimApproved, claims.ClaimClosed)
	paid := p.payoutsQuery().ColumnExpr("po.policy_id, po.partner, 0::bigint, po.amount").
		Where("po.status in (?, ?)", claims.PayoutReleased, claims.PayoutReconciled)
	return p.svc.DB.NewSelect().TableExpr("(?) as moved", owed.UnionAll(paid)).
		ColumnExpr("policy_id, partner, sum(incurred) as incurred, sum(paid) as paid").GroupExpr("policy_id, partner")
}

// joinLosses joins each policy with its losses.
func (p *Portfolio) joinLosses(policies *bun.SelectQuery) *bun.SelectQuery {
	return policies.Join("left join (?) as l on l.policy_id = p.id and l.partner = p.partner", p.lossesQuery())
}

// lossRatio returns (paid + reserved) / premium with four decimals, rounded half up;
// nil without premium. Paid + reserved is the incurred loss, and it and the written
// premium are of the same policies, whenever the loss occurred: the policy-year view of
// G. Werner and C. Modlin, "Basic Ratemaking" (CAS, 2016), chapters 1 and 3.
func lossRatio(incurred, premium decimal.Decimal) *string {
	if premium.IsZero() {
		return nil
	}
	return new(incurred.DivRound(premium, 4).StringFixed(4))
}
