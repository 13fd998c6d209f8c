package capacity

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/optional"
	"parapet/model/kernel/store"
	"parapet/model/money"
	"parapet/model/quoting/catalog"
	"parapet/model/wire"
)

// capacityRow limits the amount at risk of one product in one cell.
type capacityRow struct {
	bun.BaseModel `bun:"table:capacities,alias:ca"`

	Product   string `bun:",pk"`
	Cell      string `bun:",pk"` // empty: all cells without a row of their own
	Currency  string `bun:",pk"`
	Amount    int64
	UpdatedAt time.Time
	Author    actor.PersonID
}

// Request limits the amount at risk of a product in a cell, or in every cell
// without a limit of its own.
type Request struct {
	Product  string
	Cell     *string // N23E121 or a station; nil for every cell
	Currency string
	Amount   *int64 // minor units; nil removes the limit
}

var cellPattern = regexp.MustCompile(`^([NS]\d{2}[EW]\d{3}|[A-Z0-9]{11})$`)

// Set limits the amount at risk, from the next bind on. The amount at risk is the
// sum of the remaining limits of active policies, including those whose cover has not
// begun. Without a capacity there is no restriction. The result is nil when the capacity
// is removed. Operators only. Errors: validation_failed, not_found.
func (s *Service) Set(ctx context.Context, caller actor.Actor, in Request) (*wire.Capacity, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	v := apperr.NewValidator(ctx)
	v.Require(in.Cell == nil || cellPattern.MatchString(*in.Cell), "/cell", "pattern", "Use a cell such as N23E121, or a station of eleven characters; leave it out for every cell.")
	v.Require(in.Amount == nil || *in.Amount >= 0, "/amount", "minimum", "Use 0 or more minor units; leave it out to remove the limit.")
	v.Require(money.IsCurrency(in.Currency), "/currency", "value", "Use an ISO 4217 code.")
	if err := v.Err(); err != nil {
		return nil, err
	}
	if _, err := catalog.LoadLatestProduct(ctx, s.Store, in.Product); err != nil {
		return nil, err
	}
	row := &capacityRow{Product: in.Product, Currency: in.Currency, Author: caller.PersonID()}
	if in.Cell != nil {
		row.Cell = *in.Cell
	}
	var capacity *wire.Capacity
	err := s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		var err error
		if in.Amount == nil {
			_, err = tx.NewDelete().Model(row).WherePK().Exec(ctx)
		} else {
			row.Amount, row.UpdatedAt = *in.Amount, tx.Now
			_, err = tx.NewInsert().Model(row).On("conflict (product, cell, currency) do update").
				Set("amount = excluded.amount, updated_at = excluded.updated_at, author = excluded.author").Exec(ctx)
			capacity = row.toRecord()
		}
		if err != nil {
			return fmt.Errorf("set capacity: %w", err)
		}
		tx.Describe("", row.Product, nil)
		return tx.StoreResponse(store.StatusOK, "", capacity)
	})
	return capacity, err
}

// atRiskQuery sums what capacities limit: the remaining limits of active policies.
const atRiskQuery = "select coalesce(sum(p.limit_remaining), 0)::bigint from policies p where p.status = 'active'"

// capacityUsageRow is a capacity with its amount at risk.
type capacityUsageRow struct {
	capacityRow `bun:",extend"`

	AtRisk *int64 // set when the capacity names a cell
}

// List returns the capacities of a product, or of all products, ordered by
// product, cell and currency. A capacity with a cell shows its amount at risk. Operators
// only, because the amount at risk adds up the business of all partners. Errors:
// parameter_invalid, cursor_invalid.
func (s *Service) List(ctx context.Context, caller actor.Actor, product string, in store.PageRequest) (*store.Page[wire.Capacity], error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	p, err := s.ParsePage(caller, in, "capacities/"+product, store.SortOldestFirst)
	if err != nil {
		return nil, err
	}
	var rows []capacityUsageRow
	q := s.DB.NewSelect().Model(&rows)
	if product != "" {
		q = q.Where("ca.product = ?", product)
	}
	p.Count = s.NewCounter(q.Clone().ColumnExpr("1"))
	if p.After != "" {
		q = q.Where("(ca.product, ca.cell, ca.currency) > ?", bun.Tuple(strings.Split(p.After, "/")))
	}
	err = q.ColumnExpr("ca.*").
		ColumnExpr("case when ca.cell <> '' then (" + atRiskQuery + " and p.product = ca.product and place_cell(p.footprint, p.station) = ca.cell and p.currency = ca.currency) end as at_risk").
		OrderExpr("ca.product, ca.cell, ca.currency").Limit(p.FetchLimit()).Scan(ctx)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("list capacities: %w", err))
	}
	return store.NewPage(p, rows, (*capacityUsageRow).cursorKey, (*capacityUsageRow).toRecord)
}

// cursorKey returns the position of a capacity in the list; none of its parts contains a
// slash.
func (r *capacityUsageRow) cursorKey() string { return r.Product + "/" + r.Cell + "/" + r.Currency }

func (r *capacityUsageRow) toRecord() wire.Capacity {
	capacity := *r.capacityRow.toRecord()
	if r.AtRisk != nil {
		capacity.AtRisk = new(money.New(*r.AtRisk, r.Currency))
	}
	return capacity
}

func (r *capacityRow) toRecord() *wire.Capacity {
	return &wire.Capacity{
		Product: r.Product, Cell: optional.NonZero(r.Cell), Limit: money.New(r.Amount, r.Currency), UpdatedAt: r.UpdatedAt,
		Author: r.Author.Name(), AuthorIssuer: r.Author.Issuer(),
	}
}

// Settings are the parts of other subdomains that capacity calls.
type Settings struct {
	// RulesChanged applies changed moratorium rules to recent events, in the same
	// transaction.
	RulesChanged func(context.Context, *store.Tx) error
}

// Use is what a policy takes of the capacity of its place.
type Use struct {
	Product            string
	Limit              money.Money
	Footprint, Station *string // one of them, as the policy's row has it
}

// QueueCapacityCheck rejects the policy that is being inserted if it exceeds the
// capacity. Binds of one limited product, cell and currency run one after the other, so
// that two cannot both use the remaining capacity; binds without a capacity do not wait.
// The check is sent with the insert, and its sum includes that policy.
func QueueCapacityCheck(tx *store.Tx, row Use) {
	where := "from capacities where product = $1 and currency = $2 and cell in ('', place_cell($3::text::box, $4))"
	args := []any{row.Product, row.Limit.Currency, row.Footprint, row.Station}
	tx.Batch.Queue("select pg_advisory_xact_lock(hashtextextended(format('capacity/%s/%s/%s', $1::text, $2::text, place_cell($3::text::box, $4)), 0)) "+where+" limit 1", args...)
	tx.Batch.Queue(`select amount, (`+atRiskQuery+` and p.product = $1
			and place_cell(p.footprint, p.station) = place_cell($3::text::box, $4) and p.currency = $2) `+where+" order by cell desc limit 1", args...).
		Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var capacity, sold int64
				if err := rows.Scan(&capacity, &sold); err != nil {
					return err
				}
				if sold > capacity {
					left := money.New(max(0, capacity-(sold-row.Limit.Amount)), row.Limit.Currency)
					return apperr.Fail(apperr.CodeCapacityExceeded, "Not enough capacity is left for this product at this place: %s. Ask for a smaller limit or another place.", left)
				}
			}
			return rows.Err()
		})
}
