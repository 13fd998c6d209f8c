package node

import (
	"context"

	"parapet/graph/fastjson"
)

// DirectCalls are the methods that a dashboard calls for each record of a list;
// BenchmarkDashboard measures them.
var DirectCalls = map[string]fastjson.DirectCall{
	"Policy.claims": func(ctx context.Context, record any, args []any) (any, error) {
		return record.(*Policy).Claims(ctx, args[0].(*int), args[1].(*string), args[2].(*string))
	},
	"Policy.productKey": func(_ context.Context, record any, _ []any) (any, error) {
		return record.(*Policy).ProductKey(), nil
	},
	"Claim.timeline": func(ctx context.Context, record any, args []any) (any, error) {
		return record.(*Claim).Timeline(ctx, args[0].(*int), args[1].(*string), args[2].(*int))
	},
	"Claim.payouts": func(_ context.Context, record any, _ []any) (any, error) {
		return record.(*Claim).Payouts(), nil
	},
	"ClaimConnection.nodes": func(_ context.Context, record any, _ []any) (any, error) {
		return record.(*ClaimConnection).Nodes(), nil
	},
	"TimelineConnection.nodes": func(_ context.Context, record any, _ []any) (any, error) {
		return record.(*TimelineConnection).Nodes(), nil
	},
}
