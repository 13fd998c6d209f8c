package node

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"

	"parapet/model/hazard/trigger"
	"parapet/model/money"
	"parapet/model/quoting/catalog"
	"parapet/model/quoting/product"
	"parapet/model/wire"
)

// Product is a published product.
type Product struct{ *wire.Product }

func (r *Reader) newProducts(records []*wire.Product) []*Product {
	return wrapEach(records, func(p *wire.Product) *Product { return &Product{p} })
}

// Product returns a version of a product, the newest without one. Errors: not_found.
func (r *Reader) Product(ctx context.Context, key string, version *int) (*Product, error) {
	if version == nil {
		return toNode(r.newProducts)(r.Service.Products.Get(ctx, r.Actor, key))
	}
	return toNode(r.newProducts)(r.Service.Products.GetVersion(ctx, r.Actor, key, *version))
}

// ProductVersions lists all versions of a product, the newest first.
func (r *Reader) ProductVersions(ctx context.Context, key string, first *int, after *string) (*ProductConnection, error) {
	return toConnection(r.newProducts)(r.Service.Products.Versions(ctx, r.Actor, key, pageRequest(first, after)))
}

// Products lists the newest versions of the products on sale by key.
func (r *Reader) Products(ctx context.Context, first *int, after *string) (*ProductConnection, error) {
	return toConnection(r.newProducts)(r.Service.Products.List(ctx, r.Actor, pageRequest(first, after)))
}

// loadProduct returns the product version by which a record of the batch was quoted.
func (b *batch) loadProduct(ctx context.Context, key string, version int) (*Product, error) {
	id := catalog.ProductID(key, version)
	return loadOne(ctx, b, "product", &id, b.reader.Service.Products.ByID, b.reader.newProducts)
}

// ContextSchema returns the JSON Schema of a quote's context.
func (p *Product) ContextSchema() jsontext.Value { return p.Context }

// Trigger returns the trigger.
func (p *Product) Trigger() Trigger { return Trigger{p.Product.Trigger} }

// PayoutCurves returns the payout as curves.
func (p *Product) PayoutCurves() []trigger.Curve { return p.Payout.Curves(p.Product.Trigger) }

// decodeMember decodes a member that the record shows as it was written.
func decodeMember[T any](p *Product, written jsontext.Value) (T, error) {
	var v T
	if err := wire.Decode(written, &v); err != nil {
		return v, fmt.Errorf("read product %s: %w", p.Key, err)
	}
	return v, nil
}

// Times returns the product's durations.
func (p *Product) Times() (product.Times, error) {
	return decodeMember[product.Times](p, p.Product.Times)
}

// Price returns the loadings of the premium.
func (p *Product) Price() (product.Loadings, error) {
	return decodeMember[product.Loadings](p, p.Product.Price)
}

// ProductCurrency is a currency with its limits in money.
type ProductCurrency struct {
	Code                                                                    string
	DefaultLimit, MinimumLimit, MaximumLimit, MinimumPremium, AutomaticUpTo money.Money
}

// Currencies returns the currencies in which the product is sold.
func (p *Product) Currencies() ([]ProductCurrency, error) {
	bounds, err := decodeMember[[]product.Currency](p, p.Product.Currencies)
	if err != nil {
		return nil, err
	}
	settled, err := decodeMember[product.Settlement](p, p.Settlement)
	all := make([]ProductCurrency, len(bounds))
	for i, b := range bounds {
		in := func(minor int64) money.Money { return money.New(minor, b.Code) }
		all[i] = ProductCurrency{b.Code, in(b.DefaultLimit), in(b.MinimumLimit), in(b.MaximumLimit), in(b.MinimumPremium), in(settled.AutomaticUpTo[b.Code])}
	}
	return all, err
}

// WorkedExample is a hypothetical event with the expected evaluation.
type WorkedExample struct {
	product.Example
	currency string
}

// Examples returns the worked examples that the product passes.
func (p *Product) Examples() ([]WorkedExample, error) {
	examples, err := decodeMember[[]product.Example](p, p.Product.Examples)
	if err != nil {
		return nil, err
	}
	bounds, err := decodeMember[[]product.Currency](p, p.Product.Currencies)
	if err != nil {
		return nil, err
	}
	all := make([]WorkedExample, len(examples))
	for i, example := range examples {
		all[i] = WorkedExample{example, example.Currency(bounds[0].Code)}
	}
	return all, nil
}

// Earthquake returns the earthquake of the example.
func (e WorkedExample) Earthquake() *product.ExampleQuake { return e.Quake }

// Met reports whether the trigger is met.
func (e WorkedExample) Met() bool { return e.Expect.Met }

// Reason returns the reason.
func (e WorkedExample) Reason() string { return string(e.Expect.Reason) }

// Index returns the measured index.
func (e WorkedExample) Index() *decimal.Decimal { return e.Expect.Index }

// Factor returns the share of the limit.
func (e WorkedExample) Factor() decimal.Decimal { return e.Expect.Factor }

// Amount returns the amount owed.
func (e WorkedExample) Amount() money.Money { return money.New(e.Expect.Amount, e.currency) }
