package node

import (
	"context"

	"parapet/model"
)

// AuditLog lists operator actions and rejected requests, newest first.
func (r *Reader) AuditLog(ctx context.Context, first *int, after *string, filter *model.AuditFilter, order *string) (*AuditConnection, error) {
	return toConnection(asNodes[model.AuditEntry])(r.Service.ListAudit(ctx, r.Actor, orEmpty(filter), orderedPage(first, after, order)))
}
