package straight

import (
	"context"
	"reflect"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/graph/scalar"
)

// step writes one field of an object.
type step struct {
	key []byte
	get func(record reflect.Value) (reflect.Value, bool)
	put put
}

// object writes the fields that are selected of a record, one after the other.
func (r *run) object(definition *ast.Definition, in reflect.Type, selections ast.SelectionSet) put {
	if in.Kind() != reflect.Struct {
		return nil
	}
	fields := graphql.CollectFields(r.operation, selections, append([]string{definition.Name}, definition.Interfaces...))
	steps := make([]step, len(fields))
	for i, field := range fields {
		s := r.step(definition.Name, in, field)
		if s.put == nil {
			return nil
		}
		s.key = []byte(strconv.Quote(field.Alias) + ":")
		if i > 0 {
			s.key = append([]byte{','}, s.key...)
		}
		steps[i] = s
	}
	return func(v reflect.Value) bool {
		if !v.CanAddr() {
			kept := reflect.New(in).Elem()
			kept.Set(v)
			v = kept
		}
		r.out.WriteByte('{')
		for _, s := range steps {
			r.out.Write(s.key)
			value, ok := s.get(v)
			if !ok || !s.put(value) || r.out.Len()-r.charged > chargedAtOnce && !r.chargeOutput() {
				return false
			}
		}
		r.out.WriteByte('}')
		return true
	}
}

func (r *run) step(object string, in reflect.Type, field graphql.CollectedField) step {
	if field.IsDeferred() {
		return step{}
	}
	if field.Name == "__typename" {
		return step{
			get: func(v reflect.Value) (reflect.Value, bool) { return v, true },
			put: func(reflect.Value) bool { r.out.WriteString(strconv.Quote(object)); return true },
		}
	}
	m := r.member(in, field.Name)
	switch {
	case m == nil:
		return step{}
	case m.method < 0:
		return step{
			get: func(v reflect.Value) (reflect.Value, bool) { return v.FieldByIndex(m.index), true },
			put: r.compile(field.Definition.Type, m.result, field.Selections),
		}
	}
	args, ok := r.arguments(m, field)
	if !ok {
		return step{}
	}
	return step{
		get: func(v reflect.Value) (reflect.Value, bool) {
			out := v.Addr().Method(m.method).Call(args)
			return out[0], len(out) == 1 || out[1].IsNil()
		},
		put: r.compile(field.Definition.Type, m.result, field.Selections),
	}
}

// member is what of a Go type a field is bound to.
type member struct {
	index  []int // of a struct's field
	method int   // of the pointer's; -1 without
	call   reflect.Type
	result reflect.Type
}

type memberName struct {
	of   reflect.Type
	name string
}

var (
	contextType = reflect.TypeFor[context.Context]()
	errorType   = reflect.TypeFor[error]()
)

// member binds a field as the library does: to a field of the struct, to a method,
// or to a field of what is embedded, whatever the case of its letters.
func (w *Writer) member(in reflect.Type, name string) *member {
	key := memberName{in, name}
	if kept, ok := w.members.Load(key); ok {
		return kept.(*member)
	}
	m := bind(in, name)
	w.members.Store(key, m)
	return m
}

func bind(in reflect.Type, name string) *member {
	var embedded *member
	for _, field := range reflect.VisibleFields(in) {
		if field.IsExported() && !field.Anonymous && strings.EqualFold(field.Name, name) {
			found := &member{index: field.Index, method: -1, result: field.Type}
			if len(field.Index) == 1 {
				return found
			}
			embedded = found
		}
	}
	pointer := reflect.PointerTo(in)
	for i := range pointer.NumMethod() {
		method := pointer.Method(i)
		if strings.EqualFold(method.Name, name) {
			call := method.Type
			if n := call.NumOut(); n == 0 || n > 2 || n == 2 && call.Out(1) != errorType {
				return nil
			}
			return &member{method: i, call: call, result: call.Out(0)}
		}
	}
	return embedded
}

// arguments are those of a method: the context where it takes one, and the field's
// in the schema's order.
func (r *run) arguments(m *member, field graphql.CollectedField) ([]reflect.Value, bool) {
	var args []reflect.Value
	at := 1 // behind the record
	if at < m.call.NumIn() && m.call.In(at) == contextType {
		args, at = append(args, reflect.ValueOf(r.ctx)), at+1
	}
	if m.call.NumIn()-at != len(field.Definition.Arguments) {
		return nil, false
	}
	given := field.ArgumentMap(r.operation.Variables)
	for i, argument := range field.Definition.Arguments {
		value, ok := plain(m.call.In(at+i), argument.Type.NamedType, given[argument.Name])
		if !ok {
			return nil, false
		}
		args = append(args, value)
	}
	return args, true
}

// plain is an argument's value in Go, for numbers and text.
func plain(in reflect.Type, name string, given any) (reflect.Value, bool) {
	if in.Kind() == reflect.Pointer {
		if given == nil {
			return reflect.Zero(in), true
		}
		target, ok := plain(in.Elem(), name, given)
		if !ok {
			return target, false
		}
		pointer := reflect.New(in.Elem())
		pointer.Elem().Set(target)
		return pointer, true
	}
	var value any
	var err error
	switch {
	case name == "Int" && in.Kind() == reflect.Int:
		value, err = graphql.UnmarshalInt(given)
	case name == "String" && in.Kind() == reflect.String:
		value, err = scalar.UnmarshalString(given)
	case name == "ID" && in.Kind() == reflect.String:
		value, err = scalar.UnmarshalID(given)
	case name == "Boolean" && in.Kind() == reflect.Bool:
		value, err = scalar.UnmarshalBoolean(given)
	default:
		return reflect.Value{}, false
	}
	return reflect.ValueOf(value), err == nil
}
