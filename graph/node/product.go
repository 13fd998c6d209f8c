package node

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"

	"parapet/model"
	"parapet/model/money"
	"parapet/model/product"
	"parapet/model/trigger"
	"parapet/model/wire"
)

// Product is a published product.
type Product struct{ *wire.Product }

func (r *Reader) newProducts(records []*wire.Product) []*Product {
	return wrapEach(records, func(p *wire.Product) *Product { return &Product{p} })
}

// Product is the newest version of a product. Errors: not_found.
func (r *Reader) Product(ctx context.Context, key string) (*Product, error) {
	return toNode(r.newProducts)(r.Service.GetProduct(ctx, r.Actor, key))
}

// Products are the newest versions of all products, by key.
func (r *Reader) Products(ctx context.Context, first *int, after *string) (*ProductConnection, error) {
	return toConnection(r.newProducts)(r.Service.ListProducts(ctx, r.Actor, pageRequest(first, after)))
}

// loadProduct is the version that one of the kin was quoted by.
func (b *batch) loadProduct(ctx context.Context, key string, version int) (*Product, error) {
	id := model.ProductID(key, version)
	return loadOne(ctx, b, "product", &id, b.reader.Service.ProductsByID, b.reader.newProducts)
}

// ContextSchema is the JSON Schema of a quote's context.
func (p *Product) ContextSchema() jsontext.Value { return p.Context }

// Trigger is what must be measured.
func (p *Product) Trigger() Trigger { return Trigger{p.Product.Trigger} }

// PayoutCurves draw what is owed.
func (p *Product) PayoutCurves() []trigger.Curve { return p.Payout.Curves(p.Product.Trigger) }

// decodeMember reads a member that the record shows as it was written.
func decodeMember[T any](p *Product, written jsontext.Value) (T, error) {
	var v T
	if err := wire.Decode(written, &v); err != nil {
		return v, fmt.Errorf("read product %s: %w", p.Key, err)
	}
	return v, nil
}

// Times are its durations.
func (p *Product) Times() (product.Times, error) {
	return decodeMember[product.Times](p, p.Product.Times)
}

// Price is what a premium is built with.
func (p *Product) Price() (product.Loadings, error) {
	return decodeMember[product.Loadings](p, p.Product.Price)
}

// ProductCurrency is a currency with its bounds in money.
type ProductCurrency struct {
	Code                                                                    string
	DefaultLimit, MinimumLimit, MaximumLimit, MinimumPremium, AutomaticUpTo money.Money
}

// Currencies are those it is sold in.
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

// WorkedExample is something that might happen, and what cover says of it.
type WorkedExample struct {
	product.Example
	currency string
}

// Examples are those it passes.
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

// Earthquake of the example.
func (e WorkedExample) Earthquake() *product.ExampleQuake { return e.Quake }

// RainMM of the example, day by day; nil for a missing day.
func (e WorkedExample) RainMM() []*decimal.Decimal { return e.Rain }

// Met tells whether the trigger is met.
func (e WorkedExample) Met() bool { return e.Expect.Met }

// Reason is why.
func (e WorkedExample) Reason() string { return string(e.Expect.Reason) }

// Index is what is measured.
func (e WorkedExample) Index() *decimal.Decimal { return e.Expect.Index }

// Factor is the share of the limit.
func (e WorkedExample) Factor() decimal.Decimal { return e.Expect.Factor }

// Amount is what is owed.
func (e WorkedExample) Amount() money.Money { return money.New(e.Expect.Amount, e.currency) }
