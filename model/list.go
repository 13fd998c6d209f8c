package model

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/wire"
)

// listRow is a pointer to a row that begins with a header.
type listRow[Row any] interface {
	*Row
	head() *header
}

// newestFirst reads one page of q by descending id. Ids grow with time, so the
// page is stable while new rows come in.
func newestFirst[Row any, P listRow[Row], Record any](ctx context.Context, s *Service, actor Actor, q *bun.SelectQuery, rows *[]Row, in PageRequest, filter string, public func(*Row) Record) (*wire.List[Record], error) {
	return byID[Row, P](ctx, s, actor, q, rows, in, filter, public, "desc", "<")
}

// oldestFirst reads one page of q by ascending id.
func oldestFirst[Row any, P listRow[Row], Record any](ctx context.Context, s *Service, actor Actor, q *bun.SelectQuery, rows *[]Row, in PageRequest, filter string, public func(*Row) Record) (*wire.List[Record], error) {
	return byID[Row, P](ctx, s, actor, q, rows, in, filter, public, "asc", ">")
}

func byID[Row any, P listRow[Row], Record any](ctx context.Context, s *Service, actor Actor, q *bun.SelectQuery, rows *[]Row, in PageRequest, filter string, public func(*Row) Record, order, beyond string) (*wire.List[Record], error) {
	p, err := s.page(actor, in, filter)
	if err != nil {
		return nil, err
	}
	if p.after != "" {
		after, err := uuid.Parse(p.after)
		if err != nil {
			return nil, fmt.Errorf("cursor of %s: %w", filter, err)
		}
		q = q.Where("?TableAlias.id "+beyond+" ?", after)
	}
	if err := q.OrderExpr("?TableAlias.id " + order).Limit(p.fetch()).Scan(ctx); err != nil {
		return nil, explain(fmt.Errorf("list %s: %w", filter, err))
	}
	return listed(p, *rows, func(r *Row) string { return P(r).head().ID.String() }, public)
}
