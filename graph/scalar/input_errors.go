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

// unfit is a value that a scalar does not take, with what would be right.
func unfit(code, detail string) error {
	e := model.Invalid(model.FieldError{Code: code, Detail: detail})
	e.Detail = "An argument or a variable is not right: " + detail
	return e
}

// written is text between two marks.
func written(s, mark string) graphql.ContextMarshaler {
	return graphql.ContextWriterFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, mark+s+mark)
		return err
	})
}

// notes are values of an operation that could not be read.
type notes struct {
	mu  sync.Mutex
	all map[*graphql.FieldContext][]model.FieldError
}

type notesKey struct{}

// Noting has what cannot be read noted in an operation, instead of stopping at the
// first: the field that it was meant for names it together with everything else
// that is wrong. The value is zero then; who resolves a field asks Noted first.
func Noting(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	return next(context.WithValue(ctx, notesKey{}, &notes{all: map[*graphql.FieldContext][]model.FieldError{}}))
}

// unread notes that a value, or what is inside of it, could not be read; the error
// is for an operation that notes nothing.
func unread(ctx context.Context, code, detail string, inside ...string) error {
	n, noting := ctx.Value(notesKey{}).(*notes)
	if !noting {
		return unfit(code, detail)
	}
	at := graphql.GetPath(ctx)
	for _, name := range inside {
		at = append(at, ast.PathName(name))
	}
	field := graphql.GetFieldContext(ctx)
	at = at[min(len(at), len(field.Path())):]
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all[field] = append(n.all[field], model.FieldError{Pointer: Pointer(at), Code: code, Detail: detail})
	return nil
}

// Noted is what could not be read of the arguments of the field that ctx resolves;
// the pointers lead into the arguments, by the names of the schema.
func Noted(ctx context.Context) (faults []model.FieldError) {
	n, noting := ctx.Value(notesKey{}).(*notes)
	if !noting {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all[graphql.GetFieldContext(ctx)]
}

// Pointer is an RFC 6901 pointer along a path.
func Pointer(path ast.Path) string {
	var to jsontext.Pointer
	for _, element := range path {
		to = to.AppendToken(fmt.Sprint(element))
	}
	return model.Bounded(string(to))
}
