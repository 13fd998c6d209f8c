package model

import (
	"context"
	"fmt"
	"time"

	"github.com/shopspring/decimal"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/money"
)

// PortfolioFilter narrows a portfolio. Empty members do not.
type PortfolioFilter struct {
	Partner  string // operators only; partners see their own
	Product  string
	Currency string
	From     *time.Time // included; a year before To when left out
	To       *time.Time // left out; now when nil
}

// MaxPortfolioSpan is the longest time a portfolio may span, five years with a
// day to spare for leap years.
const MaxPortfolioSpan = (5*365 + 2) * 24 * time.Hour

// Portfolio is the figures of a book at one instant. What is in force, at risk or
// in doubt is so at AsOf; what was bound, claimed and paid is of [From, To). No
// figure ever mixes currencies. Each figure is one statement.
type Portfolio struct {
	AsOf     time.Time
	From, To time.Time

	svc    *Service
	actor  Actor
	filter PortfolioFilter
}

// OpenPortfolio checks what a portfolio is asked for. Errors: parameter_invalid,
// partner_mismatch.
func (s *Service) OpenPortfolio(ctx context.Context, actor Actor, f PortfolioFilter) (*Portfolio, error) {
	for _, scope := range []Scope{ScopePoliciesRead, ScopeClaimsRead} {
		if err := s.authorize(ctx, actor, scope); err != nil {
			return nil, err
		}
	}
	var err error
	if f.Partner, err = actor.partnerScope(f.Partner); err != nil {
		return nil, err
	}
	now, err := s.readClock(ctx)
	if err != nil {
		return nil, translateError(fmt.Errorf("read clock: %w", err))
	}
	p := &Portfolio{AsOf: now, To: timeOrDefault(f.To, now).UTC(), svc: s, actor: actor, filter: f}
	p.From = timeOrDefault(f.From, p.To.AddDate(-1, 0, 0)).UTC()
	if p.From.Year() < hazard.EarliestYear {
		return nil, badParameter("from", fmt.Sprintf("It must not lie before the year %d.", hazard.EarliestYear))
	}
	if !p.From.Before(p.To) {
		return nil, badParameter("from", "It must lie before to.")
	}
	if p.To.Sub(p.From) > MaxPortfolioSpan {
		return nil, badParameter("from", "A portfolio spans at most five years; ask for less at once.")
	}
	return p, nil
}

// applyFilter applies the filter to policies, claims or payouts. product tells by what
// a row's product is known.
func (p *Portfolio) applyFilter(q *bun.SelectQuery, product string) *bun.SelectQuery {
	q = p.actor.restrictToTenant(q)
	if p.filter.Partner != "" && p.actor.Kind != ActorPartner {
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

// How a row's product is known: a claim's and a payout's is its policy's.
const (
	ownProductSQL    = "?TableAlias.product = ?"
	policyProductSQL = "exists (select from policies pp where pp.id = ?TableAlias.policy_id and pp.partner = ?TableAlias.partner and pp.product = ?)"
)

// restrictToPeriod narrows to a moment in the time asked for.
func (p *Portfolio) restrictToPeriod(q *bun.SelectQuery, column string) *bun.SelectQuery {
	return q.Where("?TableAlias.? >= ?", bun.Ident(column), p.From).Where("?TableAlias.? < ?", bun.Ident(column), p.To)
}

// policies, claims and payouts are the rows the figures count.
func (p *Portfolio) policiesQuery() *bun.SelectQuery {
	return p.applyFilter(p.svc.db.NewSelect().Model((*policyRow)(nil)), ownProductSQL)
}

func (p *Portfolio) claimsQuery() *bun.SelectQuery {
	return p.applyFilter(p.svc.db.NewSelect().Model((*claimRow)(nil)), policyProductSQL)
}

func (p *Portfolio) payoutsQuery() *bun.SelectQuery {
	return p.applyFilter(p.svc.db.NewSelect().Model((*payoutRow)(nil)), policyProductSQL)
}

// lossesQuery are what policies cost: incurred is what their approved claims are owed,
// paid what was released for them and did not come back. Paid by status, because a
// returned payout is money that did not arrive.
func (p *Portfolio) lossesQuery() *bun.SelectQuery {
	owed := p.claimsQuery().ColumnExpr("c.policy_id, c.partner, c.amount as incurred, 0::bigint as paid").
		Where("c.status in (?, ?)", ClaimApproved, ClaimClosed)
	paid := p.payoutsQuery().ColumnExpr("po.policy_id, po.partner, 0::bigint, po.amount").
		Where("po.status in (?, ?)", PayoutReleased, PayoutReconciled)
	return p.svc.db.NewSelect().TableExpr("(?) as moved", owed.UnionAll(paid)).
		ColumnExpr("policy_id, partner, sum(incurred) as incurred, sum(paid) as paid").GroupExpr("policy_id, partner")
}

// joinLosses joins each policy with what it cost.
func (p *Portfolio) joinLosses(policies *bun.SelectQuery) *bun.SelectQuery {
	return policies.Join("left join (?) as l on l.policy_id = p.id and l.partner = p.partner", p.lossesQuery())
}

// lossRatio is (paid + reserved) / premium, four decimals, half up; nil without
// premium. Paid + reserved is incurred loss, and both it and the written premium
// are of the same policies, whenever they lost: the policy-year view of G. Werner
// and C. Modlin, "Basic Ratemaking" (CAS, 2016), chapters 1 and 3.
func lossRatio(incurred, premium decimal.Decimal) *string {
	if premium.IsZero() {
		return nil
	}
	return new(incurred.DivRound(premium, 4).StringFixed(4))
}

// moneyConverter turns sums of one currency into money.
type moneyConverter struct {
	currency string
	err      error
}

// toMoney is a sum as money; the first sum that 64 bits do not hold is the error.
func (a *moneyConverter) toMoney(total decimal.Decimal) money.Money {
	whole, err := (&amountSum{total}).toMinorUnits()
	if a.err == nil {
		a.err = err
	}
	return money.New(whole, a.currency)
}
