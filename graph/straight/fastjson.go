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
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/graph/budget"
	"parapet/model"
)

// Writer writes results of one schema.
type Writer struct {
	schema    *ast.Schema
	loadTypes func() *typeRecords
	members   sync.Map // of member names, to *member
}

// New makes a writer for a schema whose types the library bound.
func New(schema *ast.Schema) *Writer {
	return &Writer{schema: schema, loadTypes: loadTypeRecords(schema)}
}

// AroundField is the library's middleware.
func (w *Writer) AroundField(ctx context.Context, next graphql.Resolver) (any, error) {
	result, err := next(ctx)
	field := graphql.GetFieldContext(ctx)
	if err != nil || result == nil || field.Object != w.schema.Query.Name && field.Object != w.schema.Mutation.Name {
		return result, err
	}
	record := result
	if isIntrospection(field.Field) {
		if record = w.loadTypes().recordOf(result); record == nil {
			return result, nil // __typename, or a type that does not exist
		}
	}
	written, err := w.write(ctx, field.Field, record)
	switch {
	case err != nil && field.Object == w.schema.Mutation.Name:
		return nil, model.Fail(model.CodeOf(err), "The mutation was carried out, but its answer is too large. Read the record in a query.")
	case written == nil && err == nil:
		return result, nil
	default:
		return written, err
	}
}

// written is JSON of a result.
type written []byte

// MarshalGQL writes it. A long text would otherwise double gqlgen's buffer for the brace
// that follows it.
func (b written) MarshalGQL(to io.Writer) {
	if buffer, grows := to.(*bytes.Buffer); grows && len(b) > largestSheet {
		buffer.Grow(len(b) + bytes.MinRead)
	}
	_, _ = to.Write(b)
}

// write returns the JSON of a field's result, nil where it is not plain. Errors:
// query_too_costly when the operation's budget is exceeded, and that of the context;
// both stop the writing at once.
func (w *Writer) write(ctx context.Context, field graphql.CollectedField, result any) (out any, err error) {
	r := &run{Writer: w, ctx: ctx, operation: graphql.GetOperationContext(ctx), budget: budget.From(ctx), out: sheets.Get().(*bytes.Buffer)}
	defer r.done()
	defer func() {
		if recover() != nil { // the library meets it again, and tells
			out = nil
		}
	}()
	value := reflect.ValueOf(result)
	put := r.compile(field.Definition.Type, value.Type(), field.Selections)
	if put == nil {
		return nil, nil
	}
	plain := put(value)
	switch {
	case !r.chargeOutput():
		return nil, r.stopped
	case !plain:
		return nil, nil
	case r.out.Cap() > largestSheet: // done does not reuse it
		return written(r.out.Bytes()), nil
	}
	return written(bytes.Clone(r.out.Bytes())), nil
}

// chargeOutput charges the bytes written since its last call to the budget. It returns
// false when the operation must stop.
func (r *run) chargeOutput() bool {
	if r.stopped == nil {
		r.stopped = r.ctx.Err()
	}
	if r.stopped == nil {
		r.stopped = r.budget.ChargeOutput(r.out.Len() - r.charged)
		r.charged = r.out.Len()
	}
	return r.stopped == nil
}

// sheets are written on again: a page that grows as it is written is copied half a
// dozen times.
var sheets = sync.Pool{New: func() any { return new(bytes.Buffer) }}

const (
	largestSheet  = 1 << 20  // the largest that is kept, in bytes
	chargedAtOnce = 16 << 10 // bytes of one record that are written before they are charged
)

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
	budget    *budget.Budget
	out       *bytes.Buffer
	charged   int   // bytes of out that are charged to the budget
	stopped   error // why the operation must stop
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
	put := r.named(of.NamedType, in, selections)
	if put == nil || of.NonNull || r.schema.Types[of.NamedType].Kind != ast.Enum {
		return put
	}
	return func(v reflect.Value) bool {
		if v.Len() == 0 { // the enums' functions write null for an empty word
			r.out.WriteString("null")
			return true
		}
		return put(v)
	}
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
			if !element(v.Index(i)) || !r.chargeOutput() {
				return false
			}
		}
		r.out.WriteByte(']')
		return true
	}
}
