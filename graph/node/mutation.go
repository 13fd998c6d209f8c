package node

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"parapet/internal/gateway"
	"parapet/internal/strictjson"
	"parapet/model"
	"parapet/model/wire"
)

// countMutations counts what a mutation does.
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

// runMutation does what a mutation asks for, or answers again what it answered the
// first time under the same key. The request is the input without its
// clientMutationId, however it was written: as literals, or as variables in any
// order.
func runMutation[In, R any](ctx context.Context, r *Reader, id *string, in In, do func(context.Context, model.Actor, In) (*R, error)) (*R, error) {
	actor := r.Actor
	actor.Operation = graphql.GetFieldContext(ctx).Field.Name
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
	var first *model.Replay
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

// markReplayed tells that the first answer is given again: in extensions.replayed, by
// the name the mutation has in the answer; and as REST does where the key came as
// REST's, which goes with one mutation alone.
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

func newIdempotencyKey(ctx context.Context, key string, in any) (*model.IdempotencyKey, error) {
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
	return &model.IdempotencyKey{Operation: operation, Key: key, Request: sum[:]}, nil
}

// idempotencyKeyOf is the request's header, or the input's clientMutationId; empty without
// either. A header is one promise for one action: two of a kind in one request
// would be taken for one that was sent again, and only the first be done.
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
		return "", model.Fail(model.CodeIdempotencyKeyInvalid, "One Idempotency-Key goes with one mutation; give each of them a clientMutationId of its own.")
	case len(given) > 1 || given[0] == "" || len(given[0]) > maxIdempotencyKey ||
		strings.ContainsFunc(given[0], func(c rune) bool { return c < '!' || c > '~' }):
		return "", model.Fail(model.CodeIdempotencyKeyInvalid, "Use one key of 1 to %d visible ASCII characters.", maxIdempotencyKey)
	}
	return given[0], nil
}
