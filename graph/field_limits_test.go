package graph

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/99designs/gqlgen/graphql"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/graph/budget"
	"parapet/internal/errormap"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

func TestRootFieldsOfOneQueryAreResolvedFourAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handed := make(chan context.Context, 1)
		limitOperation(operationContext(t, ast.Query), func(ctx context.Context) graphql.ResponseHandler {
			handed <- ctx
			return nil
		})
		limited := <-handed
		answer := make(chan struct{})
		var resolving atomic.Int64
		for range 20 {
			go limitRootFields(limited, func(context.Context) graphql.Marshaler {
				resolving.Add(1)
				<-answer
				return nil
			})
		}
		synctest.Wait()
		require.EqualValues(t, 4, resolving.Load())
		close(answer)
		synctest.Wait()
		require.EqualValues(t, 20, resolving.Load())
	})
}

// operationContext is the context of a field of an operation.
func operationContext(t *testing.T, kind ast.Operation) context.Context {
	t.Helper()
	return graphql.WithOperationContext(t.Context(), &graphql.OperationContext{Operation: &ast.OperationDefinition{Operation: kind}})
}

func TestFieldIsNotResolvedOnceItsOperationHasEnded(t *testing.T) {
	t.Parallel()
	resolve := func(context.Context) (any, error) { return "resolved", nil }
	for _, kind := range []ast.Operation{ast.Query, ast.Mutation} {
		left, leave := context.WithCancel(operationContext(t, kind))
		leave()
		spent := budget.New(1 << 10)
		for ended, ctx := range map[error]context.Context{context.Canceled: left, nil: budget.With(operationContext(t, kind), spent)} {
			var result any
			var err error
			var resolving sync.WaitGroup
			resolving.Go(func() { result, err = chargeField(ctx, resolve) })
			resolving.Wait()
			require.Nil(t, result)
			if kind == ast.Mutation {
				require.Equal(t, apperr.CodeOf(cmp.Or(ended, spent.Err())), apperr.CodeOf(err))
			} else {
				require.NoError(t, err, "the goroutine has ended")
			}
		}
		require.Equal(t, errormap.CodeQueryTooCostly, apperr.CodeOf(spent.Err()), "an exceeded budget stays exceeded")
	}
}

func TestLongTextsOfFieldsAreCharged(t *testing.T) {
	t.Parallel()
	text := string(make([]byte, 1<<20))
	for name, result := range map[string]any{"text": text, "optional text": &text, "metadata": map[string]string{"key": text}, "JSON": jsontext.Value(text)} {
		ctx := budget.With(operationContext(t, ast.Query), budget.New(2<<20))
		_, err := chargeField(ctx, func(context.Context) (any, error) { return result, nil })
		require.Equal(t, errormap.CodeQueryTooCostly, apperr.CodeOf(err), name)
	}
}

func TestRowsThatAMutationReadsAreNotCharged(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.Quote("rain-excess", nil)
	for object, charged := range map[string]bool{"Mutation": false, "Query": true} {
		ctx := graphql.WithFieldContext(budget.With(t.Context(), budget.New(0)), &graphql.FieldContext{Object: object})
		_, err := exemptMutation(ctx, func(ctx context.Context) (any, error) {
			return b.Service.Quotes.List(ctx, b.Acme, store.Filter{}, store.PageRequest{})
		})
		require.Equal(t, charged, err != nil, object)
	}
}
