package fastjson

import (
	"context"
	"reflect"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/graph/scalar"
)

// fieldWriter writes one field of an object.
type fieldWriter struct {
	key   []byte
	read  func(record reflect.Value) (reflect.Value, bool)
	write valueWriter
}

// compileObject returns the writer of a record's selected fields, in order.
func (e *encoding) compileObject(definition *ast.Definition, in reflect.Type, selections ast.SelectionSet) valueWriter {
	if in.Kind() != reflect.Struct {
		return nil
	}
	fields := graphql.CollectFields(e.operation, selections, append([]string{definition.Name}, definition.Interfaces...))
	steps := make([]fieldWriter, len(fields))
	for i, field := range fields {
		s := e.compileField(definition.Name, in, field)
		if s.write == nil {
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
		e.out.WriteByte('{')
		for _, s := range steps {
			e.out.Write(s.key)
			value, ok := s.read(v)
			if !ok || !s.write(value) || e.out.Len()-e.chargedBytes > chargeInterval && !e.chargeOutput() {
				return false
			}
		}
		e.out.WriteByte('}')
		return true
	}
}

func (e *encoding) compileField(object string, in reflect.Type, field graphql.CollectedField) fieldWriter {
	if field.IsDeferred() {
		return fieldWriter{}
	}
	if field.Name == "__typename" {
		return fieldWriter{
			read:  func(v reflect.Value) (reflect.Value, bool) { return v, true },
			write: func(reflect.Value) bool { e.out.WriteString(strconv.Quote(object)); return true },
		}
	}
	m := e.findMember(in, field.Name)
	switch {
	case m == nil:
		return fieldWriter{}
	case m.method < 0:
		return fieldWriter{
			read:  func(v reflect.Value) (reflect.Value, bool) { return v.FieldByIndex(m.index), true },
			write: e.compileType(field.Definition.Type, m.result, field.Selections),
		}
	}
	args, ok := e.bindArguments(m, field)
	if !ok {
		return fieldWriter{}
	}
	return fieldWriter{
		read:  e.compileCall(e.direct[object+"."+field.Name], m, args, len(field.Definition.Arguments)),
		write: e.compileType(field.Definition.Type, m.result, field.Selections),
	}
}

// compileCall returns the call of a record's method, by reflection without direct. The
// last n of its arguments are those of the field.
func (e *encoding) compileCall(direct DirectCall, m *goMember, args []reflect.Value, n int) func(record reflect.Value) (reflect.Value, bool) {
	if direct == nil {
		return func(v reflect.Value) (reflect.Value, bool) {
			out := v.Addr().Method(m.method).Call(args)
			return out[0], len(out) == 1 || out[1].IsNil()
		}
	}
	given := make([]any, n)
	for i, arg := range args[len(args)-n:] {
		given[i] = arg.Interface()
	}
	return func(v reflect.Value) (reflect.Value, bool) {
		out, err := direct(e.ctx, v.Addr().Interface(), given)
		return reflect.ValueOf(out), err == nil
	}
}

// goMember is the field or method of a Go type to which a schema field is bound.
type goMember struct {
	index  []int // path of a struct field
	method int   // index of a method of the pointer type; -1 without
	call   reflect.Type
	result reflect.Type
}

type memberKey struct {
	of   reflect.Type
	name string
}

var (
	contextType = reflect.TypeFor[context.Context]()
	errorType   = reflect.TypeFor[error]()
)

// findMember binds a schema field as gqlgen does: to a struct field, a method or a field
// of an embedded struct, ignoring letter case.
func (w *Writer) findMember(in reflect.Type, name string) *goMember {
	key := memberKey{in, name}
	if kept, ok := w.members.Load(key); ok {
		return kept.(*goMember)
	}
	m := bindMember(in, name)
	w.members.Store(key, m)
	return m
}

func bindMember(in reflect.Type, name string) *goMember {
	var embedded *goMember
	for _, field := range reflect.VisibleFields(in) {
		if field.IsExported() && !field.Anonymous && strings.EqualFold(field.Name, name) {
			found := &goMember{index: field.Index, method: -1, result: field.Type}
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
			return &goMember{method: i, call: call, result: call.Out(0)}
		}
	}
	return embedded
}

// bindArguments returns the arguments of a method call: the context if it takes one, then
// the field's arguments in schema order.
func (e *encoding) bindArguments(m *goMember, field graphql.CollectedField) ([]reflect.Value, bool) {
	var args []reflect.Value
	at := 1 // after the receiver
	if at < m.call.NumIn() && m.call.In(at) == contextType {
		args, at = append(args, reflect.ValueOf(e.ctx)), at+1
	}
	if m.call.NumIn()-at != len(field.Definition.Arguments) {
		return nil, false
	}
	given := field.ArgumentMap(e.operation.Variables)
	for i, argument := range field.Definition.Arguments {
		value, ok := argumentValue(m.call.In(at+i), argument.Type.NamedType, given[argument.Name])
		if !ok {
			return nil, false
		}
		args = append(args, value)
	}
	return args, true
}

// argumentValue converts a numeric or text argument to a Go value.
func argumentValue(in reflect.Type, name string, given any) (reflect.Value, bool) {
	if in.Kind() == reflect.Pointer {
		if given == nil {
			return reflect.Zero(in), true
		}
		target, ok := argumentValue(in.Elem(), name, given)
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
