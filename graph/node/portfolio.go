package node

import (
	"context"
	"time"

	"parapet/model/hazard"
	"parapet/model/insight/portfolio"
	"parapet/model/kernel/optional"
	"parapet/model/wire"
)

// Portfolio is the figures of a portfolio at one instant.
type Portfolio struct{ *portfolio.Portfolio }

// Portfolio opens a portfolio.
func (r *Reader) Portfolio(ctx context.Context, partner, product, currency *string, from, to *time.Time) (*Portfolio, error) {
	p, err := r.Service.Portfolio.Open(ctx, r.Actor, portfolio.Filter{
		Partner: optional.OrZero(partner), Product: optional.OrZero(product), Currency: optional.OrZero(currency), From: from, To: to,
	})
	return &Portfolio{p}, err
}

// CoverMap is the covers of a map.
type CoverMap struct{ *wire.CoverMap }

// MapCover is a policy on a map.
type MapCover struct{ wire.MapCover }

// CoverMap returns the covers of a box.
func (r *Reader) CoverMap(ctx context.Context, box hazard.Box, zoom int, partner, product, currency *string) (*CoverMap, error) {
	drawn, err := r.Service.Portfolio.Map(ctx, r.Actor, portfolio.MapRequest{Box: box, Zoom: zoom, Partner: optional.OrZero(partner), Product: optional.OrZero(product), Currency: optional.OrZero(currency)})
	if err != nil {
		return nil, err
	}
	return &CoverMap{drawn}, nil
}

// Covers returns the policies.
func (m *CoverMap) Covers() []MapCover {
	covers := make([]MapCover, len(m.CoverMap.Covers))
	for i, cover := range m.CoverMap.Covers {
		covers[i] = MapCover{cover}
	}
	return covers
}

// ProductKey returns the key of the product.
func (c MapCover) ProductKey() string { return c.Product }

// Place returns the insured place.
func (c MapCover) Place() Place { return Place{c.MapCover.Place} }

// Book is lines of a portfolio, and whether there are more.
type Book struct {
	Lines []wire.BookLine
	More  bool
}

// Book sums the policies by dimensions.
func (p *Portfolio) Book(ctx context.Context, by []string, first *int) (*Book, error) {
	dimensions := make([]portfolio.Dimension, len(by))
	for i, word := range by {
		dimensions[i] = portfolio.Dimension(word)
	}
	most := portfolio.DefaultBookLines
	if first != nil {
		most = *first
	}
	lines, more, err := p.Portfolio.Book(ctx, dimensions, most)
	return &Book{lines, more}, err
}

// Series returns the figures over time.
func (p *Portfolio) Series(ctx context.Context, interval string) ([]wire.Series, error) {
	return p.Portfolio.Series(ctx, portfolio.Interval(interval))
}
