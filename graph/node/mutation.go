package node

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"parapet/internal/gateway"
	"parapet/internal/strictjson"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// countMutations counts the mutation fields of an operation.
func countMutations(operation *graphql.OperationContext) (n int) {
	for _, field := range graphql.CollectFields(operation, operation.Operation.SelectionSet, []string{"Mutation"}) {
		if !strings.HasPrefix(field.Name, "__") {
			n++
		}
	}
	return n
}

const (
	idempotencyHeader = "Idempotency-Key"
	maxIdempotencyKey = 255
)

// runMutation runs a mutation, or returns the first result under the same idempotency key
// again. The request's identity is the input without its clientMutationId, whether it was
// sent as literals or as variables in any order.
func runMutation[In, R any](ctx context.Context, r *Reader, id *string, in In, do func(context.Context, actor.Actor, In) (*R, error)) (*R, error) {
	actor := r.Actor
	actor.Operation = graphql.GetFieldContext(ctx).Field.Name
	if err := r.requireRecentSignIn(ctx, actor); err != nil {
		return nil, err
	}
	key, err := idempotencyKeyOf(ctx, id)
	if err != nil {
		return nil, err
	}
	if key != "" {
		if actor.IdempotencyKey, err = newIdempotencyKey(ctx, key, in); err != nil {
			return nil, err
		}
	}
	record, err := do(ctx, actor, in)
	if request := gateway.FromContext(ctx); err == nil && request != nil && request.RecordCall != nil {
		request.RecordCall(actor.Operation, nil)
	}
	var first *store.Replay
	if !errors.As(err, &first) {
		return record, err
	}
	record = new(R)
	if err := wire.Decode(first.Body, record); err != nil {
		return nil, fmt.Errorf("read the first answer: %w", err)
	}
	markReplayed(ctx)
	return record, nil
}

// movingMoney are the mutations that need a recent sign-in.
var movingMoney = []string{"approvePayout", "resolvePayout", "settlePayoutExternally", "resumeReleases"}

// requireRecentSignIn refuses an operator's mutation that moves money when the sign-in is
// old, with the challenge of RFC 9470 in the header.
func (r *Reader) requireRecentSignIn(ctx context.Context, actor actor.Actor) error {
	if actor.SignIn == nil || !slices.Contains(movingMoney, actor.Operation) {
		return nil
	}
	err := actor.RequireRecentSignIn(r.Now())
	var refusal *apperr.Error
	if errors.As(err, &refusal) {
		gateway.FromContext(ctx).SetErrorHeaders(refusal)
	}
	return err
}

// markReplayed marks a replayed result in extensions.replayed, under the mutation's
// response name. It also sets the REST header if the key came as a header, which is
// allowed with a single mutation only.
func markReplayed(ctx context.Context) {
	const name = "replayed"
	all, known := graphql.GetExtension(ctx, name).(*[]string)
	if !known {
		all = new([]string)
		graphql.RegisterExtension(ctx, name, all)
	}
	*all = append(*all, graphql.GetFieldContext(ctx).Field.Alias)
	if len(graphql.GetOperationContext(ctx).Headers.Values(idempotencyHeader)) > 0 {
		gateway.FromContext(ctx).MarkReplayed()
	}
}

func newIdempotencyKey(ctx context.Context, key string, in any) (*actor.IdempotencyKey, error) {
	written, err := wire.Encode(in)
	if err != nil {
		return nil, fmt.Errorf("encode input: %w", err)
	}
	request, err := strictjson.Canonicalize(written)
	if err != nil {
		return nil, fmt.Errorf("encode input: %w", err)
	}
	operation := "mutation " + graphql.GetFieldContext(ctx).Field.Name
	sum := sha256.Sum256([]byte(operation + "\x00" + string(request)))
	return &actor.IdempotencyKey{Operation: operation, Key: key, Request: sum[:]}, nil
}

// idempotencyKeyOf returns the key from the request header or the input's
// clientMutationId, empty without either. A header key allows one mutation: a second one
// of the same kind would be taken for a retry of the first and would not run.
func idempotencyKeyOf(ctx context.Context, id *string) (string, error) {
	operation := graphql.GetOperationContext(ctx)
	given := operation.Headers.Values(idempotencyHeader)
	fromHeader := len(given) > 0
	if !fromHeader && id != nil {
		given = []string{*id}
	}
	switch {
	case len(given) == 0:
		return "", nil
	case fromHeader && countMutations(operation) > 1:
		return "", apperr.Fail(apperr.CodeIdempotencyKeyInvalid, "An Idempotency-Key is for one mutation only; give each mutation a clientMutationId of its own.")
	case len(given) > 1 || given[0] == "" || len(given[0]) > maxIdempotencyKey ||
		strings.ContainsFunc(given[0], func(c rune) bool { return c < '!' || c > '~' }):
		return "", apperr.Fail(apperr.CodeIdempotencyKeyInvalid, "Use one key of 1 to %d visible ASCII characters.", maxIdempotencyKey)
	}
	return given[0], nil
}
