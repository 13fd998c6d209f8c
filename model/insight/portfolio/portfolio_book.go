package portfolio

import (
	"context"
	"fmt"
	"slices"

	"github.com/shopspring/decimal"
	"github.com/uptrace/bun"

	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/kernel/sums"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// Dimension is a grouping of the book's lines. Lines are always grouped by currency
// too.
type Dimension string

const (
	// ByProduct groups by product.
	ByProduct Dimension = "product"
	// ByPartner groups by partner.
	ByPartner Dimension = "partner"
	// ByCell groups by place: cells of one degree, or stations.
	ByCell Dimension = "cell"
)

// Dimensions lists every dimension.
func Dimensions() []Dimension { return []Dimension{ByProduct, ByPartner, ByCell} }

// Number of lines of a book: the maximum and the default.
const (
	MaxBookLines     = 1000
	DefaultBookLines = 100
)

// bookRow is one line as summed by Postgres.
type bookRow struct {
	Product, Partner, Cell, Station *string
	Currency                        string
	InForce, Bound                  int64
	AtRisk, PremiumInForce          decimal.Decimal
	Written, Incurred, Paid         decimal.Decimal
}

// Book sums the policies in force or bound in the period. It returns at most first
// lines, ordered by currency and then by limit at risk, largest first; more reports
// whether there are others. A policy is in force if it is active and its cover has
// begun and not ended, including its waiting period; an exhausted policy has no limit
// left at risk and is not counted. A policy lies in the cell of the middle of its
// footprint's box, which is the centre of its circle unless the circle reaches a pole.
// Errors: parameter_invalid.
func (p *Portfolio) Book(ctx context.Context, by []Dimension, first int) (lines []wire.BookLine, more bool, err error) {
	if first < 1 || first > MaxBookLines {
		return nil, false, apperr.InvalidParameter("first", fmt.Sprintf("Use a whole number from 1 to %d.", MaxBookLines))
	}
	var rows []bookRow
	q, err := p.bookQuery(by)
	if err != nil {
		return nil, false, err
	}
	if err := p.svc.ScanReplica(ctx, q.Limit(int64(first)+1), &rows); err != nil {
		return nil, false, store.TranslateError(fmt.Errorf("sum the book: %w", err))
	}
	more = len(rows) > first
	for _, row := range rows[:min(first, len(rows))] {
		line, err := row.toRecord()
		if err != nil {
			return nil, false, err
		}
		lines = append(lines, line)
	}
	return lines, more, nil
}

const (
	inForceSQL = "p.status = ?0 and p.effective_at <= ?1 and least(p.expires_at, p.cancelled_at) > ?1"
	boundSQL   = "p.created_at >= ?0 and p.created_at < ?1"
	// writtenSQL is the premium of a bound policy; cover that was cancelled before it
	// began costs nothing.
	writtenSQL = "case when p.cancelled_at < p.effective_at then 0 else p.premium_amount end"
	// place_cell keeps a centre on a whole degree from falling below it by the box's
	// last binary digit; a longitude may exceed ±180.
)

func (p *Portfolio) bookQuery(by []Dimension) (*bun.SelectQuery, error) {
	q := p.joinLosses(p.policiesQuery()).
		ColumnExpr("p.currency").GroupExpr("p.currency").OrderExpr("p.currency, at_risk desc").
		ColumnExpr("count(*) filter (where f.in_force) as in_force").
		ColumnExpr("count(*) filter (where f.bound) as bound").
		ColumnExpr("coalesce(sum(p.limit_remaining) filter (where f.in_force), 0) as at_risk").
		ColumnExpr("coalesce(sum(p.premium_amount) filter (where f.in_force), 0) as premium_in_force").
		ColumnExpr("coalesce(sum("+writtenSQL+") filter (where f.bound), 0) as written").
		ColumnExpr("coalesce(sum(l.incurred) filter (where f.bound), 0) as incurred").
		ColumnExpr("coalesce(sum(l.paid) filter (where f.bound), 0) as paid").
		Join("cross join lateral (select ? as in_force, ? as bound) as f",
			bun.SafeQuery(inForceSQL, underwriting.PolicyActive, p.AsOf), bun.SafeQuery(boundSQL, p.From, p.To)).
		Where("f.in_force or f.bound")
	for _, d := range by {
		if !slices.Contains(Dimensions(), d) {
			return nil, apperr.InvalidParameter("by", "Use product, partner and cell.")
		}
	}
	if slices.Contains(by, ByProduct) {
		q = q.ColumnExpr("p.product").GroupExpr("p.product").OrderExpr("p.product")
	}
	if slices.Contains(by, ByPartner) {
		q = q.ColumnExpr("p.partner").GroupExpr("p.partner").OrderExpr("p.partner")
	}
	if slices.Contains(by, ByCell) {
		q = q.ColumnExpr("place_cell(p.footprint, p.station) as cell").ColumnExpr("p.station").
			GroupExpr("cell, p.station").OrderExpr("cell, p.station")
	}
	return q, nil
}

func (r *bookRow) toRecord() (wire.BookLine, error) {
	in := sums.Converter{Currency: r.Currency}
	line := wire.BookLine{
		Product: r.Product, Partner: r.Partner, Currency: r.Currency, Cell: r.toCell(),
		PoliciesInForce: r.InForce, LimitAtRisk: in.ToMoney(r.AtRisk), PremiumInForce: in.ToMoney(r.PremiumInForce),
		PoliciesBound: r.Bound, PremiumWritten: in.ToMoney(r.Written), Paid: in.ToMoney(r.Paid), Reserved: in.ToMoney(r.Incurred.Sub(r.Paid)),
		LossRatio: lossRatio(r.Incurred, r.Written),
	}
	return line, in.Err
}

// toCell parses the cell's corner from its name.
func (r *bookRow) toCell() *wire.PlaceCell {
	switch {
	case r.Station != nil:
		return &wire.PlaceCell{Name: *r.Station, Station: r.Station}
	case r.Cell == nil:
		return nil
	}
	var ns, ew byte
	var lat, lon int
	if _, err := fmt.Sscanf(*r.Cell, "%c%2d%c%3d", &ns, &lat, &ew, &lon); err != nil {
		return nil
	}
	if ns == 'S' {
		lat = -lat
	}
	if ew == 'W' {
		lon = -lon
	}
	return &wire.PlaceCell{Name: *r.Cell, Latitude: &lat, Longitude: &lon}
}
