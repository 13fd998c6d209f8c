package graph

import (
	"cmp"
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/graph/budget"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/readcharge"
)

const (
	// maxOperations limits the concurrent operations of one partner (or client, without a
	// partner) on this node. Subscriptions last for hours and have their own limit.
	maxOperations = 16

	// maxRootFields limits the root fields of one query that are resolved concurrently.
	// Each may hold a database connection, and other partners need some too.
	maxRootFields = 4
)

// operationCounter counts the running operations of each caller.
type operationCounter struct {
	mu     sync.Mutex
	counts map[string]int
}

// acquireOperation counts one more operation until release is called, which may be called
// repeatedly. Errors: rate_limited.
func (c *operationCounter) acquireOperation(actor actor.Actor) (release func(), err error) {
	caller := actor.CallerName()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts[caller] >= maxOperations {
		e := apperr.Fail(apperr.CodeRateLimited, "You have %d operations running on this server, the most allowed. Wait until one of them has been answered.", maxOperations)
		e.RetryAfter = time.Second
		return nil, e
	}
	c.counts[caller]++
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.counts[caller]--; c.counts[caller] == 0 {
			delete(c.counts, caller)
		}
	}), nil
}

type rootSlotsKey struct{}

// limitOperation gives each query and mutation a budget. A subscription has none because
// it sends one record at a time.
func limitOperation(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	if graphql.GetOperationContext(ctx).Operation.Operation == ast.Subscription {
		return next(ctx)
	}
	ctx = context.WithValue(ctx, rootSlotsKey{}, make(chan struct{}, maxRootFields))
	respond := next(budget.With(ctx, budget.New(budget.DefaultBytes)))
	if graphql.GetOperationContext(ctx).Operation.Operation == ast.Mutation {
		return respond
	}
	return func(ctx context.Context) *graphql.Response { return awaitResponse(ctx, respond) }
}

// awaitResponse waits for the response of a query. It returns nil when chargeField has
// stopped the query.
func awaitResponse(ctx context.Context, respond graphql.ResponseHandler) (response *graphql.Response) {
	var panicked any
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { panicked = recover() }()
		growStack()
		response = respond(ctx)
	}()
	<-ended
	switch {
	case ctx.Err() != nil || budget.From(ctx).Err() != nil:
		return nil // gqlgen panics on the values of stopped fields
	case panicked != nil:
		panic(panicked)
	default:
		return response
	}
}

// growStack makes the runtime grow the stack of a new goroutine to 32 KiB, which a query needs, in
// one step. Growing it during the query copies all frames several times: 2 % of the processor time
// of BenchmarkDashboard.
//
//go:noinline
func growStack() {
	var room [16 << 10]byte
	runtime.KeepAlive(&room)
}

// limitRootFields makes a root field wait until fewer than maxRootFields are being
// resolved.
func limitRootFields(ctx context.Context, next graphql.RootResolver) graphql.Marshaler {
	if slots, limited := ctx.Value(rootSlotsKey{}).(chan struct{}); limited {
		slots <- struct{}{}
		defer func() { <-slots }()
	}
	return next(ctx)
}

// budgetError returns query_too_costly for a query that has exceeded its budget; its
// result is discarded. A mutation is always answered because its caller must learn what
// it has done; its remaining fields fail.
func budgetError(ctx context.Context, operation *graphql.OperationContext) error {
	if operation.Operation.Operation == ast.Query {
		return budget.From(ctx).Err()
	}
	return nil
}

// chargeField charges a field to the budget. Once the budget is exceeded or the caller
// has left, it resolves nothing and ends the goroutines of a query: gqlgen would
// otherwise visit all remaining fields, possibly a hundred thousand.
func chargeField(ctx context.Context, next graphql.Resolver) (any, error) {
	charged := budget.From(ctx)
	if err := cmp.Or(ctx.Err(), charged.ChargeField()); err != nil {
		if graphql.GetOperationContext(ctx).Operation.Operation == ast.Query {
			runtime.Goexit()
		}
		return nil, err
	}
	result, err := next(ctx)
	if err != nil {
		return nil, err
	}
	if err := charged.ChargeOutput(textLength(result)); err != nil {
		return nil, err
	}
	return result, nil
}

// exemptMutation does not charge the rows that a mutation reads for its own work. They do
// not depend on the selection, and a mutation must not fail half way because the fields
// before it were large.
func exemptMutation(ctx context.Context, next graphql.Resolver) (any, error) {
	if graphql.GetFieldContext(ctx).Object == "Mutation" {
		ctx = readcharge.With(ctx, nil)
	}
	return next(ctx)
}

// textLength returns the length in bytes of a potentially long scalar, 0 for other
// values.
func textLength(result any) (bytes int) {
	switch result := result.(type) {
	case string:
		return len(result)
	case *string:
		if result != nil {
			return len(*result)
		}
	case jsontext.Value:
		return len(result)
	case map[string]string:
		for key, value := range result {
			bytes += len(key) + len(value)
		}
	}
	return bytes
}
