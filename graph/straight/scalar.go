package straight

import (
	"reflect"
	"strconv"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"

	"parapet/graph/scalar"
	"parapet/model/wire"
)

// word writes a word of an enum.
func (r *run) word(in reflect.Type) put {
	if in.Kind() != reflect.String {
		return nil
	}
	return func(v reflect.Value) bool {
		r.out.Write(append(scalar.AppendWord(append(r.out.AvailableBuffer(), '"'), v.String()), '"'))
		return true
	}
}

var (
	timeType    = reflect.TypeFor[time.Time]()
	decimalType = reflect.TypeFor[decimal.Decimal]()

	jsonType     = reflect.TypeFor[jsontext.Value]()
	metadataType = reflect.TypeFor[map[string]string]()
)

// scalar writes a scalar as the library does with the functions it is bound to;
// those that are not here are rare.
func (r *run) scalar(name string, in reflect.Type) put {
	kind := in.Kind()
	switch name {
	case "ID", "String", "Duration":
		if kind == reflect.String {
			return r.text
		}
	case "Int", "Long":
		if kind == reflect.Int || kind == reflect.Int64 {
			return r.number
		}
	case "Boolean":
		if kind == reflect.Bool {
			return r.truth
		}
	case "Float":
		if kind == reflect.Float64 {
			return r.by(func(v reflect.Value) graphql.Marshaler { return graphql.MarshalFloat(v.Float()) })
		}
	case "DateTime":
		if in == timeType {
			return r.instant
		}
	case "JSON":
		if in == jsonType {
			return r.json
		}
	case "Metadata":
		if in == metadataType {
			return r.metadata
		}
	case "Decimal":
		switch {
		case in == decimalType:
			return r.by(func(v reflect.Value) graphql.Marshaler { return scalar.MarshalDecimal(v.Interface().(decimal.Decimal)) })
		case kind == reflect.String:
			return r.text
		}
	}
	return nil
}

func (r *run) text(v reflect.Value) bool {
	quoted, err := jsontext.AppendQuote(r.out.AvailableBuffer(), v.String())
	r.out.Write(quoted)
	return err == nil
}

func (r *run) instant(v reflect.Value) bool {
	var t time.Time
	if v.CanAddr() { // to take its value would copy it to the heap
		t = *v.Addr().Interface().(*time.Time)
	} else {
		t = v.Interface().(time.Time)
	}
	r.out.Write(append(wire.AppendTime(append(r.out.AvailableBuffer(), '"'), t), '"'))
	return true
}

func (r *run) number(v reflect.Value) bool {
	r.out.Write(strconv.AppendInt(r.out.AvailableBuffer(), v.Int(), 10))
	return true
}

func (r *run) truth(v reflect.Value) bool {
	r.out.Write(strconv.AppendBool(r.out.AvailableBuffer(), v.Bool()))
	return true
}

func (r *run) by(marshal func(reflect.Value) graphql.Marshaler) put {
	return func(v reflect.Value) bool {
		marshal(v).MarshalGQL(r.out)
		return true
	}
}

func (r *run) json(v reflect.Value) bool {
	if v.Len() == 0 {
		r.out.WriteString("null")
		return true
	}
	r.out.Write(v.Bytes())
	return true
}

func (r *run) metadata(v reflect.Value) bool {
	return wire.EncodeTo(r.out, v.Interface()) == nil
}
