package node

import (
	"context"

	"parapet/model/kernel/actor"
	"parapet/model/quoting/catalog"
	"parapet/model/wire"
)

// PublishProductInput is the input of PublishProduct.
type PublishProductInput struct {
	Document         string
	ClientMutationID *string
}

// PublishProductPayload is the published product.
type PublishProductPayload struct {
	Product          *Product
	ClientMutationID *string
}

// PublishProduct publishes a product version.
func (r *Reader) PublishProduct(ctx context.Context, in PublishProductInput) (*PublishProductPayload, error) {
	record, err := runMutation(ctx, r, in.ClientMutationID, in.Document, func(ctx context.Context, actor actor.Actor, document string) (*wire.Product, error) {
		record, _, err := r.Service.Products.Publish(ctx, actor, []byte(document))
		return record, err
	})
	product, err := toNode(r.newProducts)(record, err)
	return &PublishProductPayload{product, in.ClientMutationID}, err
}

// RetireProductInput is the input of RetireProduct.
type RetireProductInput struct {
	catalog.RetireRequest
	ClientMutationID *string
}

// RetireProductPayload is the retired product.
type RetireProductPayload struct {
	Product          *Product
	ClientMutationID *string
}

// RetireProduct stops new quotes of a product version.
func (r *Reader) RetireProduct(ctx context.Context, in RetireProductInput) (*RetireProductPayload, error) {
	product, err := toNode(r.newProducts)(runMutation(ctx, r, in.ClientMutationID, in.RetireRequest, r.Service.Products.Retire))
	return &RetireProductPayload{product, in.ClientMutationID}, err
}
