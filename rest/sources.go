package rest

import (
	"context"

	"parapet/model/kernel/store"
	"parapet/model/wire"
)

func (s *server) getSources(ctx context.Context, c *requestContext, page store.PageRequest) (*store.Page[wire.Source], error) {
	return s.Service.Sources.List(ctx, c.actor, page)
}
