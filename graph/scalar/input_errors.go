package scalar

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/model"
)

// invalid is a value that a scalar does not take, with what would be right.
func invalid(code, detail string) error {
	e := model.Invalid(model.FieldError{Code: code, Detail: detail})
	e.Detail = "An argument or a variable is not right: " + detail
	return e
}

// quoteText is text between two marks.
func quoteText(s, mark string) graphql.ContextMarshaler {
	return graphql.ContextWriterFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, mark+s+mark)
		return err
	})
}

// inputErrors are values of an operation that could not be read.
type inputErrors struct {
	mu      sync.Mutex
	byField map[*graphql.FieldContext][]model.FieldError
}

type inputErrorsKey struct{}

// CollectErrors makes an operation collect all input errors instead of stopping at the
// first. The value is then zero; a resolver calls CollectedErrors before it uses an
// argument.
func CollectErrors(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	return next(context.WithValue(ctx, inputErrorsKey{}, &inputErrors{byField: map[*graphql.FieldContext][]model.FieldError{}}))
}

// addError notes that a value, or what is inside of it, could not be read; the error
// is for an operation that notes nothing.
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
	e.byField[field] = append(e.byField[field], model.FieldError{Pointer: Pointer(at), Code: code, Detail: detail})
	return nil
}

// CollectedErrors is what could not be read of the arguments of the field that ctx resolves;
// the pointers lead into the arguments, by the names of the schema.
func CollectedErrors(ctx context.Context) (faults []model.FieldError) {
	e, noting := ctx.Value(inputErrorsKey{}).(*inputErrors)
	if !noting {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.byField[graphql.GetFieldContext(ctx)]
}

// Pointer is an RFC 6901 pointer along a path.
func Pointer(path ast.Path) string {
	var to jsontext.Pointer
	for _, element := range path {
		to = to.AppendToken(fmt.Sprint(element))
	}
	return model.BoundPointer(string(to))
}
