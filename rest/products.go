package rest

import (
	"context"

	"parapet/model/wire"
)

func (d *door) getProducts(ctx context.Context, c *call) (*wire.List[wire.Product], error) {
	return d.Service.ListProducts(ctx, c.actor)
}

func (d *door) getProduct(ctx context.Context, c *call) (*wire.Product, error) {
	return d.Service.GetProduct(ctx, c.actor, c.path("key"))
}
