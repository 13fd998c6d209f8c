// Package fastjson encodes the result of a root field directly as JSON, without a
// goroutine and a context per field. It supports records whose fields all succeed; for
// anything else it falls back to gqlgen. Relations keep what was read, so nothing is read
// twice.
package fastjson

import (
	"bytes"
	"context"
	"io"
	"reflect"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/graph/budget"
	"parapet/model/kernel/apperr"
)

// Writer writes results of one schema.
type Writer struct {
	schema    *ast.Schema
	direct    map[string]DirectCall
	loadTypes func() *typeRecords
	members   sync.Map // memberKey to *goMember
}

// DirectCall calls the method of a record to which a field is bound, with the arguments
// after the context. A call by reflection takes a microsecond.
type DirectCall func(ctx context.Context, record any, args []any) (any, error)

// New returns a writer for a schema whose types gqlgen has bound. The methods of direct,
// by type and field such as Policy.claims, are called without reflection.
func New(schema *ast.Schema, direct map[string]DirectCall) *Writer {
	return &Writer{schema: schema, direct: direct, loadTypes: loadTypeRecords(schema)}
}

// AroundField is gqlgen field middleware.
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
	written, err := w.writeResult(ctx, field.Field, record)
	switch {
	case err != nil && field.Object == w.schema.Mutation.Name:
		return nil, apperr.Fail(apperr.CodeOf(err), "The mutation was carried out, but its answer is too large. Read the record in a query.")
	case written == nil && err == nil:
		return result, nil
	default:
		return written, err
	}
}

// encodedJSON is the encoded JSON of a result. gqlgen writes each result once.
type encodedJSON struct{ text *bytes.Buffer }

// MarshalGQL writes the JSON and releases its buffer. It grows gqlgen's buffer first, which
// would otherwise double for the closing brace after a long text. A second call panics: the
// buffer may hold another request's result by then.
func (b *encodedJSON) MarshalGQL(to io.Writer) {
	text := b.text
	b.text = nil
	if buffer, grows := to.(*bytes.Buffer); grows {
		buffer.Grow(text.Len() + bytes.MinRead)
	}
	_, _ = to.Write(text.Bytes())
	releaseBuffer(text)
}

// writeResult returns the JSON of a field's result, nil if fastjson does not support it.
// Errors: query_too_costly when the operation's budget is exceeded, and that of the
// context; both stop the writing at once.
func (w *Writer) writeResult(ctx context.Context, field graphql.CollectedField, result any) (out any, err error) {
	e := &encoding{Writer: w, ctx: ctx, operation: graphql.GetOperationContext(ctx), budget: budget.From(ctx), out: buffers.Get().(*bytes.Buffer)}
	defer func() {
		if recover() != nil { // gqlgen meets the panic again and reports it
			out = nil
		}
		if out == nil {
			releaseBuffer(e.out)
		}
	}()
	value := reflect.ValueOf(result)
	put := e.compileType(field.Definition.Type, value.Type(), field.Selections)
	if put == nil {
		return nil, nil
	}
	plain := put(value)
	switch {
	case !e.chargeOutput():
		return nil, e.stopped
	case !plain:
		return nil, nil
	}
	return &encodedJSON{e.out}, nil
}

// chargeOutput charges the bytes written since its last call to the budget. It returns
// false when the operation must stop.
func (e *encoding) chargeOutput() bool {
	if e.stopped == nil {
		e.stopped = e.ctx.Err()
	}
	if e.stopped == nil {
		e.stopped = e.budget.ChargeOutput(e.out.Len() - e.chargedBytes)
		e.chargedBytes = e.out.Len()
	}
	return e.stopped == nil
}

// buffers reuses output buffers: without it, a growing page is copied about six times.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

const (
	maxPooledBuffer = 2 << 20  // the largest reused buffer, in bytes
	chargeInterval  = 16 << 10 // bytes of one record that are written before they are charged
)

func releaseBuffer(out *bytes.Buffer) {
	if out.Cap() <= maxPooledBuffer {
		out.Reset()
		buffers.Put(out)
	}
}

// encoding is the encoding of one result. It compiles every selection once for all its
// records.
type encoding struct {
	*Writer

	ctx          context.Context //nolint:containedctx // an encoding is one call
	operation    *graphql.OperationContext
	budget       *budget.Budget
	out          *bytes.Buffer
	chargedBytes int   // bytes of out that are already charged
	stopped      error // why the operation must stop
}

// valueWriter writes a value; it returns false when it cannot.
type valueWriter func(reflect.Value) bool

// compileType returns the writer for values of a Go type as a type of the schema; nil
// when it is unsupported.
func (e *encoding) compileType(of *ast.Type, in reflect.Type, selections ast.SelectionSet) valueWriter {
	if of.Elem != nil {
		return e.compileList(of, in, selections)
	}
	if in.Kind() == reflect.Pointer {
		return e.compilePointer(of, e.compileNamed(of.NamedType, in.Elem(), selections))
	}
	put := e.compileNamed(of.NamedType, in, selections)
	if put == nil || of.NonNull || e.schema.Types[of.NamedType].Kind != ast.Enum {
		return put
	}
	return func(v reflect.Value) bool {
		if v.Len() == 0 { // the marshal functions of enums write null for an empty value
			e.out.WriteString("null")
			return true
		}
		return put(v)
	}
}

func (e *encoding) compileNamed(name string, in reflect.Type, selections ast.SelectionSet) valueWriter {
	switch definition := e.schema.Types[name]; definition.Kind {
	case ast.Object:
		return e.compileObject(definition, in, selections)
	case ast.Enum:
		return e.compileEnum(in)
	case ast.Scalar:
		return e.compileScalar(name, in)
	case ast.Interface, ast.Union, ast.InputObject: // the type depends on the record
	}
	return nil
}

func (e *encoding) compilePointer(of *ast.Type, target valueWriter) valueWriter {
	if target == nil {
		return nil
	}
	return func(v reflect.Value) bool {
		if v.IsNil() {
			e.out.WriteString("null")
			return !of.NonNull
		}
		return target(v.Elem())
	}
}

func (e *encoding) compileList(of *ast.Type, in reflect.Type, selections ast.SelectionSet) valueWriter {
	if in.Kind() != reflect.Slice {
		return nil
	}
	element := e.compileType(of.Elem, in.Elem(), selections)
	if element == nil {
		return nil
	}
	return func(v reflect.Value) bool {
		if v.IsNil() && !of.NonNull {
			e.out.WriteString("null")
			return true
		}
		e.out.WriteByte('[')
		start := e.out.Len()
		for i := range v.Len() {
			if i > 0 {
				e.out.WriteByte(',')
			}
			if !element(v.Index(i)) || !e.chargeOutput() {
				return false
			}
			if i == 0 { // the other elements are about as long as the first
				e.out.Grow(min((e.out.Len()-start)*v.Len(), maxPooledBuffer))
			}
		}
		e.out.WriteByte(']')
		return true
	}
}
