package model

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"parapet/model/money"
	"parapet/model/wire"
)

// capacityRow is what may be at risk of one product in one cell.
type capacityRow struct {
	bun.BaseModel `bun:"table:capacities,alias:ca"`

	Product   string `bun:",pk"`
	Cell      string `bun:",pk"` // empty: every cell without a row of its own
	Currency  string `bun:",pk"`
	Amount    int64
	UpdatedAt time.Time
	Author    string
}

// CapacityRequest bounds what is at risk of a product in a cell, or in every cell
// that has no bound of its own.
type CapacityRequest struct {
	Product string
	Cell    *string // N23E121 or a station; nil for every cell
	Limit   wire.Money
	Remove  bool // take the bound away
}

var cellName = regexp.MustCompile(`^([NS]\d{2}[EW]\d{3}|[A-Z0-9]{11})$`)

// SetCapacity bounds what may be at risk, from the next bind on: the limits that
// are left of active policies, whether cover has begun or not. Without a bound
// everything is sold. Operators only. Errors: validation_failed, not_found.
func (s *Service) SetCapacity(ctx context.Context, actor Actor, in CapacityRequest) (*wire.Capacity, error) {
	if err := s.authorize(ctx, actor, ScopeOperator); err != nil {
		return nil, err
	}
	c := checking(ctx)
	c.that(in.Cell == nil || cellName.MatchString(*in.Cell), "/cell", "pattern", "Use a cell such as N23E121, or a station of eleven characters; leave it out for every cell.")
	c.that(in.Limit.Amount >= 0, "/limit/amount", "minimum", "Use 0 or more minor units.")
	c.that(money.Known(in.Limit.Currency), "/limit/currency", "value", "Use an ISO 4217 code.")
	if err := c.refusal(); err != nil {
		return nil, err
	}
	if _, err := s.latestProduct(ctx, in.Product); err != nil {
		return nil, err
	}
	row := &capacityRow{Product: in.Product, Currency: in.Limit.Currency, Amount: in.Limit.Amount, Author: actor.Name}
	if in.Cell != nil {
		row.Cell = *in.Cell
	}
	var capacity *wire.Capacity
	err := s.change(ctx, actor, func(ctx context.Context, u *unit) error {
		row.UpdatedAt = u.now
		var err error
		if in.Remove {
			_, err = u.NewDelete().Model(row).WherePK().Exec(ctx)
		} else {
			_, err = u.NewInsert().Model(row).On("conflict (product, cell, currency) do update").
				Set("amount = excluded.amount, updated_at = excluded.updated_at, author = excluded.author").Exec(ctx)
		}
		if err != nil {
			return fmt.Errorf("set capacity: %w", err)
		}
		capacity = row.public()
		return u.answered(statusOK, "", capacity)
	})
	return capacity, err
}

// ListCapacities are the bounds, with what is at risk where a bound names its cell.
// Operators only.
func (s *Service) ListCapacities(ctx context.Context, actor Actor) ([]wire.Capacity, error) {
	if err := s.authorize(ctx, actor, ScopeOperator); err != nil {
		return nil, err
	}
	var rows []struct {
		capacityRow `bun:",extend"`

		AtRisk *int64
	}
	err := s.db.NewSelect().Model(&rows).ColumnExpr("ca.*").
		ColumnExpr("case when ca.cell <> '' then (select coalesce(sum(p.limit_remaining), 0)::bigint from policies p where p.product = ca.product " +
			"and place_cell(p.footprint, p.station) = ca.cell and p.status = 'active' and p.currency = ca.currency) end as at_risk").
		OrderExpr("product, cell, currency").Scan(ctx)
	if err != nil {
		return nil, explain(fmt.Errorf("list capacities: %w", err))
	}
	list := make([]wire.Capacity, len(rows))
	for i := range rows {
		list[i] = *rows[i].public()
		if rows[i].AtRisk != nil {
			list[i].AtRisk = new(money.New(*rows[i].AtRisk, rows[i].Currency))
		}
	}
	return list, nil
}

func (r *capacityRow) public() *wire.Capacity {
	return &wire.Capacity{Product: r.Product, Cell: textOrNil(r.Cell), Limit: money.New(r.Amount, r.Currency), UpdatedAt: r.UpdatedAt, Author: r.Author}
}

// withinCapacity refuses the policy that is being inserted where it would be more
// than the capacity. Binds of one bounded product, cell and currency go one after
// the other, so that two cannot both take what is left; binds without a bound do
// not notice. It is sent with the insert, which the sum counts.
func (u *unit) withinCapacity(row *policyRow) {
	where := "from capacities where product = $1 and currency = $2 and cell in ('', place_cell($3::text::box, $4))"
	args := []any{row.Product, row.Currency, row.Footprint, row.Station}
	u.later.Queue("select pg_advisory_xact_lock(hashtextextended(format('capacity/%s/%s/%s', $1::text, $2::text, place_cell($3::text::box, $4)), 0)) "+where+" limit 1", args...)
	u.later.Queue(`select amount, (select coalesce(sum(p.limit_remaining), 0)::bigint from policies p where p.product = $1
			and place_cell(p.footprint, p.station) = place_cell($3::text::box, $4) and p.status = 'active' and p.currency = $2) `+where+" order by cell desc limit 1", args...).
		Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var capacity, atRisk int64
				if err := rows.Scan(&capacity, &atRisk); err != nil {
					return err
				}
				if atRisk > capacity {
					left := money.New(max(0, capacity-(atRisk-row.LimitAmount)), row.Currency)
					return Fail(CodeCapacityExceeded, "Not enough capacity is left for this product at this place: %s. Ask for a smaller limit or another place.", left)
				}
			}
			return rows.Err()
		})
}
