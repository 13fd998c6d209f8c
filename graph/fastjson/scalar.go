package fastjson

import (
	"math"
	"reflect"
	"strconv"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"

	"parapet/graph/scalar"
	"parapet/model/wire"
)

// compileEnum returns the writer of an enum.
func (e *encoding) compileEnum(in reflect.Type) valueWriter {
	if in.Kind() != reflect.String {
		return nil
	}
	return func(v reflect.Value) bool {
		e.out.Write(append(scalar.AppendEnum(append(e.out.AvailableBuffer(), '"'), v.String()), '"'))
		return true
	}
}

var (
	timeType    = reflect.TypeFor[time.Time]()
	decimalType = reflect.TypeFor[decimal.Decimal]()

	jsonType     = reflect.TypeFor[jsontext.Value]()
	metadataType = reflect.TypeFor[map[string]string]()
)

// compileScalar returns the writer of a scalar with the same output as the bound gqlgen
// functions. Rare scalars are unsupported.
func (e *encoding) compileScalar(name string, in reflect.Type) valueWriter {
	kind := in.Kind()
	switch name {
	case "ID", "String", "Duration":
		if kind == reflect.String {
			return e.writeText
		}
	case "Int", "Long":
		if kind == reflect.Int || kind == reflect.Int64 {
			return e.writeInt
		}
	case "Boolean":
		if kind == reflect.Bool {
			return e.writeBool
		}
	case "Float":
		if kind == reflect.Float64 {
			return e.writeFloat
		}
	case "DateTime":
		if in == timeType {
			return e.writeTime
		}
	case "JSON":
		if in == jsonType {
			return e.writeJSON
		}
	case "Metadata":
		if in == metadataType {
			return e.writeMetadata
		}
	case "Decimal":
		switch {
		case in == decimalType:
			return e.marshalWith(func(v reflect.Value) graphql.Marshaler { return scalar.MarshalDecimal(v.Interface().(decimal.Decimal)) })
		case kind == reflect.String:
			return e.writeText
		}
	}
	return nil
}

// writeText writes the same bytes as gqlgen, which escapes control characters in its own
// way: a text with escapes is left to it.
func (e *encoding) writeText(v reflect.Value) bool {
	text := v.String()
	quoted, err := jsontext.AppendQuote(e.out.AvailableBuffer(), text)
	switch {
	case err != nil:
		return false
	case len(quoted) == len(text)+len(`""`):
		e.out.Write(quoted)
	default:
		graphql.MarshalString(text).MarshalGQL(e.out)
	}
	return true
}

// writeFloat leaves infinities and NaN, which JSON does not have, to gqlgen's error.
func (e *encoding) writeFloat(v reflect.Value) bool {
	f := v.Float()
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return false
	}
	graphql.MarshalFloat(f).MarshalGQL(e.out)
	return true
}

func (e *encoding) writeTime(v reflect.Value) bool {
	var t time.Time
	if v.CanAddr() { // Interface() on the value would copy it to the heap
		t = *v.Addr().Interface().(*time.Time)
	} else {
		t = v.Interface().(time.Time)
	}
	e.out.Write(append(wire.AppendTime(append(e.out.AvailableBuffer(), '"'), t), '"'))
	return true
}

func (e *encoding) writeInt(v reflect.Value) bool {
	e.out.Write(strconv.AppendInt(e.out.AvailableBuffer(), v.Int(), 10))
	return true
}

func (e *encoding) writeBool(v reflect.Value) bool {
	e.out.Write(strconv.AppendBool(e.out.AvailableBuffer(), v.Bool()))
	return true
}

func (e *encoding) marshalWith(marshal func(reflect.Value) graphql.Marshaler) valueWriter {
	return func(v reflect.Value) bool {
		marshal(v).MarshalGQL(e.out)
		return true
	}
}

func (e *encoding) writeJSON(v reflect.Value) bool {
	if v.Len() == 0 {
		e.out.WriteString("null")
		return true
	}
	e.out.Write(v.Bytes())
	return true
}

func (e *encoding) writeMetadata(v reflect.Value) bool {
	return wire.EncodeTo(e.out, v.Interface()) == nil
}
