package node

import (
	"context"

	"parapet/model/audit"
	"parapet/model/kernel/optional"
)

// AuditLog lists operator actions and rejected requests, newest first.
func (r *Reader) AuditLog(ctx context.Context, first *int, after *string, filter *audit.Filter, order *string) (*AuditConnection, error) {
	return toConnection(asNodes[audit.Entry])(r.Service.Audit.List(ctx, r.Actor, optional.OrZero(filter), orderedPage(first, after, order)))
}

// RecentCalls lists the calls that changed something or were refused.
func (r *Reader) RecentCalls(ctx context.Context, first *int, after *string, filter *audit.CallFilter) (*CallConnection, error) {
	return toConnection(asNodes[audit.Call])(r.Service.Audit.ListCalls(ctx, r.Actor, optional.OrZero(filter), pageRequest(first, after)))
}
