package rest

import (
	"context"

	"parapet/model"
	"parapet/model/wire"
)

func (d *door) getProducts(ctx context.Context, c *call, page model.PageRequest) (*model.Page[wire.Product], error) {
	return d.Service.ListProducts(ctx, c.actor, page)
}

func (d *door) getProduct(ctx context.Context, c *call) (*wire.Product, error) {
	return d.Service.GetProduct(ctx, c.actor, c.path("key"))
}
