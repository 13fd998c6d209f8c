package scalar

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/model/kernel/apperr"
)

// invalid returns an error for a value that a scalar does not accept; detail states what
// is allowed.
func invalid(code, detail string) error {
	e := apperr.Invalid(apperr.FieldError{Code: code, Detail: detail})
	e.Detail = "An argument or a variable is not right: " + detail
	return e
}

// quoteText writes text between two marks.
func quoteText(s, mark string) graphql.ContextMarshaler {
	return graphql.ContextWriterFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, mark+s+mark)
		return err
	})
}

// inputErrors are the unreadable values of an operation.
type inputErrors struct {
	mu      sync.Mutex
	byField map[*graphql.FieldContext][]apperr.FieldError
}

type inputErrorsKey struct{}

// CollectErrors makes an operation collect all input errors instead of stopping at the
// first. The value is then zero; a resolver calls CollectedErrors before it uses an
// argument.
func CollectErrors(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	return next(context.WithValue(ctx, inputErrorsKey{}, &inputErrors{byField: map[*graphql.FieldContext][]apperr.FieldError{}}))
}

// addError records that a value, or the path inside it, is unreadable. It returns an
// error if the operation does not collect errors.
func addError(ctx context.Context, code, detail string, inside ...string) error {
	e, noting := ctx.Value(inputErrorsKey{}).(*inputErrors)
	if !noting {
		return invalid(code, detail)
	}
	at := graphql.GetPath(ctx)
	for _, name := range inside {
		at = append(at, ast.PathName(name))
	}
	field := graphql.GetFieldContext(ctx)
	at = at[min(len(at), len(field.Path())):]
	e.mu.Lock()
	defer e.mu.Unlock()
	e.byField[field] = append(e.byField[field], apperr.FieldError{Pointer: Pointer(at), Code: code, Detail: detail})
	return nil
}

// CollectedErrors returns the input errors of the field that ctx resolves; the pointers
// lead into its arguments, with the names of the schema.
func CollectedErrors(ctx context.Context) (faults []apperr.FieldError) {
	e, noting := ctx.Value(inputErrorsKey{}).(*inputErrors)
	if !noting {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.byField[graphql.GetFieldContext(ctx)]
}

// Pointer returns the RFC 6901 pointer of a path.
func Pointer(path ast.Path) string {
	var to jsontext.Pointer
	for _, element := range path {
		to = to.AppendToken(fmt.Sprint(element))
	}
	return apperr.BoundPointer(string(to))
}
