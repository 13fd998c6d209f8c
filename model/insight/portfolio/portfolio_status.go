package portfolio

import (
	"context"
	"fmt"
	"time"

	"github.com/shopspring/decimal"
	"github.com/uptrace/bun"

	"parapet/model/claims"
	"parapet/model/kernel/store"
	"parapet/model/kernel/sums"
	"parapet/model/wire"
)

// statusRow is the count and sum of one status and currency, as summed by Postgres.
type statusRow struct {
	Status   string
	Currency string
	Age      int // index into doubtAges
	Count    int64
	Amount   decimal.Decimal
}

// ClaimsByStatus counts the claims opened in the period and sums what they owe, by
// present status. Errors: parameter_invalid.
func (p *Portfolio) ClaimsByStatus(ctx context.Context) ([]wire.StatusFigure, error) {
	return p.sumByStatus(ctx, p.restrictToPeriod(p.claimsQuery(), "opened_at"))
}

// PayoutsByStatus counts and sums the payouts created in the period, by present status.
// Errors: parameter_invalid.
func (p *Portfolio) PayoutsByStatus(ctx context.Context) ([]wire.StatusFigure, error) {
	return p.sumByStatus(ctx, p.restrictToPeriod(p.payoutsQuery(), "created_at"))
}

func (p *Portfolio) sumByStatus(ctx context.Context, q *bun.SelectQuery) ([]wire.StatusFigure, error) {
	var rows []statusRow
	err := p.svc.ScanReplica(ctx, q.ColumnExpr("?TableAlias.status, ?TableAlias.currency, count(*) as count, coalesce(sum(?TableAlias.amount), 0) as amount").
		GroupExpr("1, 2").OrderExpr("2, 1"), &rows)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("sum by status: %w", err))
	}
	figures := make([]wire.StatusFigure, 0, len(rows))
	for _, row := range rows {
		in := sums.Converter{Currency: row.Currency}
		figures = append(figures, wire.StatusFigure{Status: row.Status, Count: row.Count, Amount: in.ToMoney(row.Amount)})
		if in.Err != nil {
			return nil, in.Err
		}
	}
	return figures, nil
}

// doubtAges are the age classes of money in doubt, by how long the beneficiary has
// waited.
var doubtAges = []struct {
	name string
	age  time.Duration
}{
	{"PT0S", 0},
	{"PT1H", time.Hour},
	{"P1D", 24 * time.Hour},
	{"P7D", 7 * 24 * time.Hour},
	{"P30D", 30 * 24 * time.Hour},
}

// Doubt sums the payouts that are reconciling or blocked now, whenever they were
// created, by age. The age counts from the payout's creation, because unblocking and
// blocking a payout again does not make it younger. Errors: parameter_invalid.
func (p *Portfolio) Doubt(ctx context.Context) ([]wire.DoubtFigure, error) {
	bounds := make([]time.Time, 0, len(doubtAges))
	for _, from := range doubtAges[1:] {
		bounds = append(bounds, p.AsOf.Add(-from.age))
	}
	var rows []statusRow
	err := p.svc.ScanReplica(ctx, p.payoutsQuery().Where("po.status in (?, ?)", claims.PayoutReconciling, claims.PayoutBlocked).
		ColumnExpr("po.status, po.currency, count(*) as count, sum(po.amount) as amount").
		ColumnExpr("(select count(*) from unnest(array[?]::timestamptz[]) b where po.created_at <= b) as age", bun.List(bounds)).
		GroupExpr("1, 2, 5").OrderExpr("2, 1, 5"), &rows)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("sum money in doubt: %w", err))
	}
	figures := make([]wire.DoubtFigure, 0, len(rows))
	for _, row := range rows {
		in := sums.Converter{Currency: row.Currency}
		figure := wire.DoubtFigure{Status: row.Status, OlderThan: doubtAges[row.Age].name, Count: row.Count, Amount: in.ToMoney(row.Amount)}
		if row.Age+1 < len(doubtAges) {
			figure.Under = &doubtAges[row.Age+1].name
		}
		if figures = append(figures, figure); in.Err != nil {
			return nil, in.Err
		}
	}
	return figures, nil
}
