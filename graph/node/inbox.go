package node

import (
	"context"

	"parapet/model/operations"
)

// Search returns the records that a text names.
func (r *Reader) Search(ctx context.Context, text string) ([]*operations.SearchResult, error) {
	caller := r.Actor
	caller.Operation = "search"
	found, err := r.Service.Operations.Search(ctx, caller, text)
	return pointersTo(found), err
}

// Inbox counts what waits for an operator.
func (r *Reader) Inbox(ctx context.Context) (*operations.Inbox, error) {
	return r.Service.Operations.CountInbox(ctx, r.Actor)
}
