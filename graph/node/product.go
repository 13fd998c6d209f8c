package node

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"parapet/model/wire"
)

// Product is a published product.
type Product struct{ *wire.Product }

func (r *Reader) products(records []*wire.Product) []*Product {
	all := make([]*Product, len(records))
	for i, record := range records {
		all[i] = &Product{record}
	}
	return all
}

// Product is the newest version of a product. Errors: not_found.
func (r *Reader) Product(ctx context.Context, key string) (*Product, error) {
	return one(r.products)(r.Service.GetProduct(ctx, r.Actor, key))
}

// Products are the newest versions of all products, by key.
func (r *Reader) Products(ctx context.Context, first *int, after *string) (*ProductConnection, error) {
	return listed(r.products)(r.Service.ListProducts(ctx, r.Actor, pageOf(first, after)))
}

// ContextSchema is the JSON Schema of a quote's context.
func (p *Product) ContextSchema() jsontext.Value { return p.Context }

// Trigger is what must be measured.
func (p *Product) Trigger() Trigger { return Trigger{p.Product.Trigger} }
