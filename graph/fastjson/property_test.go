package fastjson_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
	"pgregory.net/rapid"

	"parapet/graph/scalar"
	"parapet/model/hazard/trigger"
)

// boundType is a type of a random schema with the Go type that it is bound to. The
// selection of an object differs from field to field, so marshal is made for each.
type boundType struct {
	schema string // as the schema writes it, such as [T1!]
	in     reflect.Type
	draw   func(*rapid.T) reflect.Value
	// selection draws what a query selects; it returns the text, empty for a leaf, and the
	// marshaler that gqlgen's generated code has for the type.
	selection func(*rapid.T) (string, func(reflect.Value) graphql.Marshaler)
	nullable  bool // the empty value is null, without a pointer
}

// leaf binds a scalar or an enum.
func leaf[T any](schema string, values *rapid.Generator[T], marshal func(T) graphql.Marshaler) boundType {
	return boundType{
		schema: schema, in: reflect.TypeFor[T](),
		draw: func(t *rapid.T) reflect.Value { return reflect.ValueOf(values.Draw(t, schema)) },
		selection: func(*rapid.T) (string, func(reflect.Value) graphql.Marshaler) {
			return "", func(v reflect.Value) graphql.Marshaler { return marshal(v.Interface().(T)) }
		},
	}
}

// nullableLeaf binds a scalar or an enum whose empty value is null.
func nullableLeaf[T any](schema string, values *rapid.Generator[T], marshal func(T) graphql.Marshaler) boundType {
	of := leaf(schema, values, marshal)
	of.nullable = true
	return of
}

// withContext is the wrapper that generated code puts around marshalers with a context.
func withContext[T any](marshal func(T) graphql.ContextMarshaler) func(T) graphql.Marshaler {
	return func(v T) graphql.Marshaler { return graphql.WrapContextMarshaler(context.Background(), marshal(v)) }
}

func leaves() []boundType {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\"\\/\b\f\n\r\t", "\x00\x01\x1f\x7f", "é\u2028\u2029<&>😀\ufffd", `\u0000`, strings.Repeat("long ", 400)}))
	number := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{0, math.MinInt64, math.MaxInt64}))
	whole := rapid.Map(number, func(n int64) int { return int(n) })
	at := rapid.Map(rapid.Int64Range(-62e15, 250e15), func(micro int64) time.Time { return time.UnixMicro(micro).In(time.FixedZone("", 3600)) })
	digits := rapid.Custom(func(t *rapid.T) decimal.Decimal {
		return decimal.New(number.Draw(t, "digits"), rapid.Int32Range(-20, 20).Draw(t, "exponent"))
	})
	document := rapid.Map(rapid.SampledFrom([]string{`{"b" : 1, "a":["x\u001f",null]}`, `"\n"`, "12.50", "null"}), func(s string) jsontext.Value { return jsontext.Value(s) })
	return []boundType{
		leaf("String", text, scalar.MarshalString), leaf("ID", text, scalar.MarshalID), leaf("Duration", text, scalar.MarshalString),
		leaf("Int", whole, graphql.MarshalInt), leaf("Int", number, graphql.MarshalInt64),
		leaf("Long", number, withContext(scalar.MarshalLong)), leaf("Long", whole, withContext(scalar.MarshalCount)),
		leaf("Boolean", rapid.Bool(), scalar.MarshalBoolean), leaf("Float", rapid.Float64(), withContext(graphql.MarshalFloatContext)),
		leaf("DateTime", at, withContext(scalar.MarshalDateTime)), leaf("Decimal", digits, scalar.MarshalDecimal),
		leaf("Decimal", rapid.Map(digits, decimal.Decimal.String), scalar.MarshalDecimalText),
		leaf("JSON", document, scalar.MarshalJSON), nullableLeaf("JSON", rapid.OneOf(document, rapid.Just(jsontext.Value(nil))), scalar.MarshalJSON),
		leaf("Metadata", rapid.MapOf(text, text), withContext(scalar.MarshalMetadata)),
		leaf("Kind", rapid.SampledFrom([]string{"big", "very_small", "claim.paid"}), scalar.MarshalEnum),
		nullableLeaf("Kind", rapid.SampledFrom([]trigger.WindRule{"", "big"}), scalar.MarshalWindRule),
	}
}

// drawType wraps a type at random: required, nullable through a pointer, or a list.
func drawType(t *rapid.T, of boundType, depth int) boundType {
	switch wrap := rapid.IntRange(0, 3).Draw(t, "wrap"); {
	case wrap == 0 && depth > 0:
		return listOf(drawType(t, of, depth-1), rapid.Bool().Draw(t, "required list"))
	case of.nullable:
		return of
	case wrap == 1:
		return pointerTo(of)
	default:
		of.schema += "!"
		return of
	}
}

// pointerTo binds a type to a pointer, whose nil is null.
func pointerTo(of boundType) boundType {
	return boundType{
		schema: of.schema, in: reflect.PointerTo(of.in),
		draw: func(t *rapid.T) reflect.Value {
			if rapid.Bool().Draw(t, "null") {
				return reflect.Zero(reflect.PointerTo(of.in))
			}
			pointer := reflect.New(of.in)
			pointer.Elem().Set(of.draw(t))
			return pointer
		},
		selection: func(t *rapid.T) (string, func(reflect.Value) graphql.Marshaler) {
			text, marshal := of.selection(t)
			return text, func(v reflect.Value) graphql.Marshaler {
				if v.IsNil() {
					return graphql.Null
				}
				return marshal(v.Elem())
			}
		},
	}
}

// listOf binds a list to a slice. A nil slice is null, or empty where null is not allowed.
func listOf(of boundType, required bool) boundType {
	list := boundType{schema: "[" + of.schema + "]", in: reflect.SliceOf(of.in)}
	if required {
		list.schema += "!"
	}
	list.draw = func(t *rapid.T) reflect.Value {
		all := reflect.Zero(list.in)
		if rapid.Bool().Draw(t, "not nil") {
			all = reflect.MakeSlice(list.in, 0, 0)
			for range rapid.IntRange(0, 3).Draw(t, "length") {
				all = reflect.Append(all, of.draw(t))
			}
		}
		return all
	}
	list.selection = func(t *rapid.T) (string, func(reflect.Value) graphql.Marshaler) {
		text, marshal := of.selection(t)
		return text, func(v reflect.Value) graphql.Marshaler {
			if v.IsNil() && !required {
				return graphql.Null
			}
			all := make(graphql.Array, v.Len())
			for i := range all {
				all[i] = marshal(v.Index(i))
			}
			return all
		}
	}
	return list
}

// drawObject draws a type of a random schema with fields of the given types, the first of
// the last one, and binds it to a struct. It adds the type's definition to the schema.
func drawObject(t *rapid.T, name string, of []boundType, schema *strings.Builder) boundType {
	fields := make([]boundType, rapid.IntRange(1, 6).Draw(t, "fields"))
	members := make([]reflect.StructField, len(fields))
	fmt.Fprintf(schema, "type %s {", name)
	for i := range fields {
		field := of[len(of)-1]
		if i > 0 {
			field = rapid.SampledFrom(of).Draw(t, "type")
		}
		fields[i] = drawType(t, field, 2)
		members[i] = reflect.StructField{Name: fmt.Sprintf("FieldOf%d", i), Type: fields[i].in}
		fmt.Fprintf(schema, " fieldOf%d: %s", i, fields[i].schema)
	}
	schema.WriteString(" }\n")
	object := boundType{schema: name, in: reflect.StructOf(members)}
	object.draw = func(t *rapid.T) reflect.Value {
		record := reflect.New(object.in).Elem()
		for i, field := range fields {
			record.Field(i).Set(field.draw(t))
		}
		return record
	}
	object.selection = func(t *rapid.T) (string, func(reflect.Value) graphql.Marshaler) {
		return drawSelection(t, name, fields)
	}
	return object
}

// drawSelection selects fields of an object in any order, some of them twice under aliases.
func drawSelection(t *rapid.T, name string, fields []boundType) (string, func(reflect.Value) graphql.Marshaler) {
	var text strings.Builder
	var selected []graphql.CollectedField
	var marshalers []func(reflect.Value) graphql.Marshaler
	for n, i := range rapid.SliceOfN(rapid.IntRange(-1, len(fields)-1), 1, 5).Draw(t, "selected") {
		alias := fmt.Sprintf("alias%d", n)
		selected = append(selected, graphql.CollectedField{Field: &ast.Field{Alias: alias}})
		if i < 0 {
			fmt.Fprintf(&text, " %s: __typename", alias)
			marshalers = append(marshalers, func(reflect.Value) graphql.Marshaler { return graphql.MarshalString(name) })
			continue
		}
		inner, marshal := fields[i].selection(t)
		fmt.Fprintf(&text, " %s: fieldOf%d%s", alias, i, inner)
		marshalers = append(marshalers, func(record reflect.Value) graphql.Marshaler { return marshal(record.Field(i)) })
	}
	return " {" + text.String() + " }", func(record reflect.Value) graphql.Marshaler {
		set := graphql.NewFieldSet(selected)
		for i, marshal := range marshalers {
			set.Values[i] = marshal(record)
		}
		return set
	}
}

func TestRandomResultsAreWrittenAsGqlgenWritesThem(t *testing.T) {
	t.Parallel()
	for _, of := range leaves() { // each in some field: rapid prefers the first types of a list
		rapid.Check(t, func(t *rapid.T) {
			var schema strings.Builder
			schema.WriteString("scalar DateTime scalar Decimal scalar Long scalar Duration scalar JSON scalar Metadata enum Kind { BIG VERY_SMALL CLAIM_PAID }\n")
			types := append(leaves(), of)
			for n := range rapid.IntRange(1, 4).Draw(t, "types") { // a type has fields of the types before it
				types = append(types, drawObject(t, fmt.Sprintf("Type%d", n), types, &schema))
			}
			root := drawType(t, types[len(types)-1], 1)
			fmt.Fprintf(&schema, "type Query { root: %s }", root.schema)
			selection, marshal := root.selection(t)
			result := root.draw(t)
			if result.Kind() == reflect.Pointer && result.IsNil() {
				return // a missing record is left to gqlgen
			}
			got, err := writeRoot(context.Background(), t, schema.String(), "{ root"+selection+" }", nil, result.Interface())
			require.NoError(t, err)
			require.Implements(t, (*graphql.Marshaler)(nil), got, "the type is supported")
			var want, written bytes.Buffer
			marshal(result).MarshalGQL(&want)
			got.(graphql.Marshaler).MarshalGQL(&written)
			require.Equal(t, want.String(), written.String())
		})
	}
}
