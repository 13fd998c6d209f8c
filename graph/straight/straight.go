// Package straight writes what a root field of a query holds straight into JSON,
// without a goroutine, a context and a node of a tree for each field below it. It
// knows the plain case only: records whose every field is there. Whatever else it
// meets (an error, a null that may not be, a type it does not know), it leaves to
// the library, which begins anew and says what there is to say; relations remember
// what was read, so nothing is read twice.
package straight

import (
	"bytes"
	"context"
	"io"
	"reflect"
	"strings"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// Writer writes results of one schema.
type Writer struct {
	schema  *ast.Schema
	members sync.Map // of member names, to *member
}

// New makes a writer for a schema whose types the library bound.
func New(schema *ast.Schema) *Writer { return &Writer{schema: schema} }

// AroundField is the library's middleware.
func (w *Writer) AroundField(ctx context.Context, next graphql.Resolver) (any, error) {
	result, err := next(ctx)
	field := graphql.GetFieldContext(ctx)
	if err != nil || result == nil || field.Object != w.schema.Query.Name || strings.HasPrefix(field.Field.Name, "__") {
		return result, err
	}
	if written := w.write(ctx, field.Field, result); written != nil {
		return written, nil
	}
	return result, nil
}

// written is JSON of a result.
type written []byte

// MarshalGQL writes it.
func (b written) MarshalGQL(to io.Writer) { _, _ = to.Write(b) }

// write is the JSON of a field's result; nil where it is not plain.
func (w *Writer) write(ctx context.Context, field graphql.CollectedField, result any) (out graphql.Marshaler) {
	defer func() {
		if recover() != nil { // the library meets it again, and tells
			out = nil
		}
	}()
	r := &run{Writer: w, ctx: ctx, operation: graphql.GetOperationContext(ctx), out: sheets.Get().(*bytes.Buffer)}
	defer r.done()
	value := reflect.ValueOf(result)
	put := r.compile(field.Definition.Type, value.Type(), field.Selections)
	if put == nil || !put(value) {
		return nil
	}
	return written(bytes.Clone(r.out.Bytes()))
}

// sheets are written on again: a page that grows as it is written is copied half a
// dozen times.
var sheets = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// largestSheet is the largest that is kept, in bytes.
const largestSheet = 1 << 20

func (r *run) done() {
	if r.out.Cap() <= largestSheet {
		r.out.Reset()
		sheets.Put(r.out)
	}
}

// run is one result on its way. Every selection is compiled once, however many
// records it is made of.
type run struct {
	*Writer

	ctx       context.Context //nolint:containedctx // a run is one call
	operation *graphql.OperationContext
	out       *bytes.Buffer
}

// put writes a value; false when it cannot.
type put func(reflect.Value) bool

// compile is how values of a Go type are written as a type of the schema; nil when
// that is not known.
func (r *run) compile(of *ast.Type, in reflect.Type, selections ast.SelectionSet) put {
	if of.Elem != nil {
		return r.list(of, in, selections)
	}
	if in.Kind() == reflect.Pointer {
		return r.pointer(of, r.named(of.NamedType, in.Elem(), selections))
	}
	return r.named(of.NamedType, in, selections)
}

func (r *run) named(name string, in reflect.Type, selections ast.SelectionSet) put {
	switch definition := r.schema.Types[name]; definition.Kind {
	case ast.Object:
		return r.object(definition, in, selections)
	case ast.Enum:
		return r.word(in)
	case ast.Scalar:
		return r.scalar(name, in)
	case ast.Interface, ast.Union, ast.InputObject: // which it is, only the record tells
	}
	return nil
}

func (r *run) pointer(of *ast.Type, target put) put {
	if target == nil {
		return nil
	}
	return func(v reflect.Value) bool {
		if v.IsNil() {
			r.out.WriteString("null")
			return !of.NonNull
		}
		return target(v.Elem())
	}
}

func (r *run) list(of *ast.Type, in reflect.Type, selections ast.SelectionSet) put {
	if in.Kind() != reflect.Slice {
		return nil
	}
	element := r.compile(of.Elem, in.Elem(), selections)
	if element == nil {
		return nil
	}
	return func(v reflect.Value) bool {
		if v.IsNil() && !of.NonNull {
			r.out.WriteString("null")
			return true
		}
		r.out.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				r.out.WriteByte(',')
			}
			if !element(v.Index(i)) {
				return false
			}
		}
		r.out.WriteByte(']')
		return true
	}
}
