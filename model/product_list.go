package model

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"parapet/model/product"
	"parapet/model/wire"
)

// ListProducts are the newest versions of all products, by key. There are few,
// so the list has one page.
func (s *Service) ListProducts(ctx context.Context, actor Actor) (*wire.List[wire.Product], error) {
	if err := s.authorize(ctx, actor, ScopeProductsRead); err != nil {
		return nil, err
	}
	var rows []productRow
	err := s.db.NewSelect().Model(&rows).DistinctOn("key").OrderExpr("key, version desc").Scan(ctx)
	if err != nil {
		return nil, explain(fmt.Errorf("list products: %w", err))
	}
	list := &wire.List[wire.Product]{Object: "list", Data: make([]wire.Product, 0, len(rows))}
	for _, row := range rows {
		p, err := s.productVersion(ctx, s.db, row.Key, row.Version)
		if err != nil {
			return nil, err
		}
		record, err := row.public(p)
		if err != nil {
			return nil, err
		}
		list.Data = append(list.Data, *record)
	}
	return list, nil
}

// GetProduct is the newest version of a product. Errors: not_found.
func (s *Service) GetProduct(ctx context.Context, actor Actor, key string) (*wire.Product, error) {
	list, err := s.ListProducts(ctx, actor)
	if err != nil {
		return nil, err
	}
	for i := range list.Data {
		if list.Data[i].Key == key {
			return &list.Data[i], nil
		}
	}
	return nil, Fail(CodeNotFound, "There is no product with this key.")
}

// public is the product as partners see it; its id is its key.
func (r productRow) public(p *product.Product) (*wire.Product, error) {
	d := p.Document()
	record := &wire.Product{
		Header: wire.Header{ID: r.Key, Object: "product", CreatedAt: r.CreatedAt, UpdatedAt: r.CreatedAt, Version: int64(r.Version)},
		Key:    r.Key, Title: d.Title, Summary: d.Summary, Place: d.Place, Context: p.ContextSchema(),
		Trigger: d.Trigger, Payout: d.Payout, Notes: d.Notes,
	}
	for _, part := range []struct {
		from any
		into *jsontext.Value
	}{
		{d.Times, &record.Times},
		{d.Settlement, &record.Settlement},
		{d.Loadings, &record.Price},
		{d.Currencies, &record.Currencies},
		{d.Examples, &record.Examples},
	} {
		text, err := wire.Encode(part.from)
		if err != nil {
			return nil, fmt.Errorf("encode product %s: %w", r.Key, err)
		}
		*part.into = text
	}
	return record, nil
}
