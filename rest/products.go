package rest

import (
	"context"

	"parapet/model/kernel/store"
	"parapet/model/wire"
)

func (s *server) getProducts(ctx context.Context, c *requestContext, page store.PageRequest) (*store.Page[wire.Product], error) {
	return s.Service.Products.List(ctx, c.actor, page)
}

func (s *server) getProduct(ctx context.Context, c *requestContext) (*wire.Product, error) {
	return s.Service.Products.Get(ctx, c.actor, c.pathParam("key"))
}
