package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/kernel/sums"
	"parapet/model/money"
)

// Filter filters the ledger. Empty fields do not filter.
type Filter struct {
	Partner  string // for operators; partners see their own
	PolicyID string
	Currency string
}

// Balance is the balance of one account in one currency, in minor units: debits less
// credits. An account with a credit nature has a negative balance.
type Balance struct {
	Account Account
	Partner *string // nil where all partners are summed
	Debits  money.Money
	Credits money.Money
	Balance money.Money
	Entries int64
}

// ledgerQuery is a validated filter and the actor that reads.
type ledgerQuery struct {
	svc      *Service
	actor    actor.Actor
	partner  string
	policy   *uuid.UUID
	currency string
}

// newLedgerQuery authorizes the actor and validates the filter.
func (s *Service) newLedgerQuery(ctx context.Context, caller actor.Actor, f Filter) (*ledgerQuery, error) {
	for _, scope := range []actor.Scope{actor.ScopePoliciesRead, actor.ScopeClaimsRead} {
		if err := s.Authorize(ctx, caller, scope); err != nil {
			return nil, err
		}
	}
	partner, err := caller.PartnerScope(f.Partner)
	if err != nil {
		return nil, err
	}
	view := &ledgerQuery{svc: s, actor: caller, partner: partner, currency: f.Currency}
	if f.PolicyID != "" {
		id, err := store.ResourcePolicy.ParseID(f.PolicyID)
		if err != nil {
			return nil, apperr.InvalidParameter("policy_id", "Use a policy's id, pol_ and 26 characters.")
		}
		view.policy = &id
	}
	return view, nil
}

// applyFilter applies the filter to entries, alias le.
func (v *ledgerQuery) applyFilter(q *bun.SelectQuery) *bun.SelectQuery {
	q = store.RestrictToTenant(v.actor, q)
	if v.partner != "" && v.actor.Kind != actor.KindPartner {
		q = q.Where("?TableAlias.partner = ?", v.partner)
	}
	if v.policy != nil {
		q = q.Where("?TableAlias.policy_id = ?", v.policy)
	}
	if v.currency != "" {
		q = q.Where("?TableAlias.currency = ?", v.currency)
	}
	return q
}

// Balances sums the ledger as it is now, or as it was before an instant: by account and
// currency, and by partner if byPartner is set. Partners see their own. Errors:
// parameter_invalid, partner_mismatch.
func (s *Service) Balances(ctx context.Context, actor actor.Actor, f Filter, byPartner bool, before *time.Time) ([]Balance, error) {
	view, err := s.newLedgerQuery(ctx, actor, f)
	if err != nil {
		return nil, err
	}
	return view.sumBalances(ctx, s.DB, byPartner, before)
}

func (v *ledgerQuery) sumBalances(ctx context.Context, db bun.IDB, byPartner bool, before *time.Time) ([]Balance, error) {
	q := v.applyFilter(db.NewSelect().Model((*ledgerRow)(nil))).ColumnExpr("le.account, le.currency, count(*) as entries").
		ColumnExpr("coalesce(sum(le.amount) filter (where le.amount > 0), 0) as debits, coalesce(-sum(le.amount) filter (where le.amount < 0), 0) as credits")
	if before != nil {
		q = q.Where("le.at < ?", before)
	}
	grouped := "le.account, le.currency"
	if byPartner {
		q, grouped = q.Column("le.partner"), grouped+", le.partner"
	}
	var rows []struct {
		Partner         *string
		Account         Account
		Currency        string
		Debits, Credits decimal.Decimal
		Entries         int64
	}
	order := "le.currency, array_position(array[?], le.account)"
	if byPartner {
		order = "le.partner, " + order
	}
	if err := q.GroupExpr(grouped).OrderExpr(order, bun.List(Accounts())).Scan(ctx, &rows); err != nil {
		return nil, store.TranslateError(fmt.Errorf("sum the ledger: %w", err))
	}
	balances := make([]Balance, len(rows))
	for i, row := range rows {
		in := sums.Converter{Currency: row.Currency}
		balances[i] = Balance{
			Account: row.Account, Partner: row.Partner, Entries: row.Entries,
			Debits: in.ToMoney(row.Debits), Credits: in.ToMoney(row.Credits), Balance: in.ToMoney(row.Debits.Sub(row.Credits)),
		}
		if in.Err != nil {
			return nil, in.Err
		}
	}
	return balances, nil
}
