package rest

import (
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parapet/internal/strictjson"
	"parapet/internal/upload"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/apperr"
	"parapet/model/money"
	"parapet/model/wire"
)

// decoder fills a request from JSON and collects all faults instead of stopping at the
// first. Its methods return only syntax errors, after which decoding stops.
type decoder struct {
	*jsontext.Decoder

	uploaded       *upload.Body // the body whose copy is read; nil without content
	unknownMembers []apperr.FieldError
	faults         []apperr.FieldError
	earlierFaults  int // number of faults that belong to earlier elements of a list
}

var (
	moneyType    = reflect.TypeFor[money.Money]()
	timeType     = reflect.TypeFor[time.Time]()
	freeformType = reflect.TypeFor[jsontext.Value]()
	base64Type   = reflect.TypeFor[base64Content]()
)

// decodeValue reads the next value into v, whose type determines the expected JSON.
func (d *decoder) decodeValue(v reflect.Value) error {
	if d.PeekKind() == 'n' && isNullable(v.Type()) {
		v.Set(reflect.New(v.Type().Elem()))
		return d.SkipValue()
	}
	if d.PeekKind() == 'n' {
		return d.typeMismatch(v.Type(), "null", "It must not be null: ")
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		return d.decodeValue(v.Elem())
	}
	if kind := d.PeekKind(); kind != jsonKind(v.Type()) && (kind != 'f' || v.Kind() != reflect.Bool) {
		return d.typeMismatch(v.Type(), "type", "")
	}
	switch {
	case v.Type() == freeformType:
		raw, err := d.ReadValue()
		v.SetBytes(raw.Clone())
		return err
	case v.Type() == timeType, v.Type() == base64Type:
		return d.decodeText(v)
	case v.Kind() == reflect.Struct:
		return d.decodeObject(v)
	case v.Kind() == reflect.Map:
		return d.decodeMap(v)
	case v.Kind() == reflect.Slice:
		return d.decodeArray(v)
	default:
		return d.decodeScalar(v)
	}
}

// jsonKind returns the kind of JSON token with which a type begins.
func jsonKind(t reflect.Type) jsontext.Kind {
	switch {
	case t == timeType, t == base64Type, t.Kind() == reflect.String:
		return '"'
	case t == freeformType, t.Kind() == reflect.Struct, t.Kind() == reflect.Map:
		return '{'
	case t.Kind() == reflect.Slice:
		return '['
	case t.Kind() == reflect.Bool:
		return 't'
	default:
		return '0'
	}
}

// expectedValue describes the valid values of a type.
func expectedValue(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return expectedValue(t.Elem())
	case t == moneyType:
		return money.ObjectForm
	case t == timeType:
		return "an RFC 3339 time with its zone, such as 2018-02-06T15:50:42Z"
	case t == base64Type:
		return "the bytes in base64 (RFC 4648 section 4, padded)"
	}
	switch jsonKind(t) {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't':
		return "true or false"
	default:
		if t.Kind() == reflect.Int64 {
			return "a whole number of at most 64 bits"
		}
		return "a number"
	}
}

// addFault records a fault, up to one more than a response lists, which shows that there
// are more. Elements of a list count separately, so that no faulty element passes as
// valid.
func (d *decoder) addFault(place func() string, code, detail string) {
	if len(d.faults)-d.earlierFaults <= apperr.MaxFieldErrors {
		d.faults = append(d.faults, apperr.FieldError{Pointer: apperr.BoundPointer(place()), Code: code, Detail: detail})
	}
}

// currentPointer returns the pointer of the value read last.
func (d *decoder) currentPointer() string { return string(d.StackPointer()) }

// typeMismatch skips a value that is not of type t and records a fault.
func (d *decoder) typeMismatch(t reflect.Type, code, prefix string) error {
	if err := d.SkipValue(); err != nil {
		return err
	}
	d.addFault(d.currentPointer, code, faultText(prefix, t))
	return nil
}

func faultText(prefix string, t reflect.Type) string {
	if prefix == "" {
		return "Give " + expectedValue(t) + "."
	}
	return prefix + "give " + expectedValue(t) + "."
}

// decodeText reads a string that represents a time or bytes.
func (d *decoder) decodeText(v reflect.Value) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	ok := false
	switch into := v.Addr().Interface().(type) {
	case *time.Time:
		*into, ok = wire.ParseTime(token.String())
	case *base64Content:
		into.Content = d.uploaded.ContentAt(d.InputOffset())
		ok = into.Content != nil && !into.NotBase64
	}
	if !ok {
		v.SetZero()
		d.addFault(d.currentPointer, "format", faultText("", v.Type()))
	}
	return nil
}

func (d *decoder) decodeScalar(v reflect.Value) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	text := token.String()
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(text == "true")
	case reflect.String:
		v.SetString(text)
	case reflect.Int64:
		var number int64
		number, err = money.ParseWhole(text)
		v.SetInt(number)
	case reflect.Float64:
		var number float64
		number, err = strconv.ParseFloat(text, 64)
		v.SetFloat(number)
	default:
		panic("a request has a member of type " + v.Type().String())
	}
	if err != nil {
		v.SetZero()
		detail := faultText("", v.Type())
		if here := d.currentPointer(); v.Kind() == reflect.Int64 && (strings.HasSuffix(here, "/amount") || strings.HasSuffix(here, "_amount")) {
			detail = strictjson.MoneyFormatHint
		}
		d.addFault(d.currentPointer, "type", detail)
	}
	return nil
}

func (d *decoder) decodeObject(v reflect.Value) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	at := d.currentPointer()
	shape := loadStructSchema(v.Type())
	seen := make([]bool, len(shape.members))
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		member, known := shape.byName[name.String()]
		if !known {
			err = d.unknownField(shape)
		} else {
			seen[member] = true
			err = d.decodeValue(v.FieldByIndex(shape.members[member].index))
		}
		if err != nil {
			return err
		}
	}
	for i, member := range shape.members {
		if member.required && !seen[i] {
			d.addFault(func() string { return at + "/" + member.name }, "required", faultText("It is missing: ", member.goType))
		}
	}
	_, err := d.ReadToken()
	return err
}

// unknownField records an unknown member and skips it.
func (d *decoder) unknownField(shape *structSchema) error {
	if len(d.unknownMembers) <= apperr.MaxFieldErrors {
		d.unknownMembers = append(d.unknownMembers, apperr.FieldError{
			Pointer: apperr.BoundPointer(d.currentPointer()), Code: string(apperr.CodeUnknownField), Detail: "It does not exist; " + shape.memberNames + ".",
		})
	}
	return d.SkipValue()
}

func (d *decoder) decodeMap(v reflect.Value) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	v.Set(reflect.MakeMap(v.Type()))
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		key := reflect.ValueOf(name.String()).Convert(v.Type().Key())
		element := reflect.New(v.Type().Elem()).Elem()
		if element.Kind() == reflect.Pointer && d.PeekKind() == 'n' { // removes the key
			err = d.SkipValue()
		} else {
			err = d.decodeValue(element)
		}
		if err != nil {
			return err
		}
		v.SetMapIndex(key, element)
	}
	_, err := d.ReadToken()
	return err
}

// decodeArray reads at most one element more than the longest list that any request may
// have; the extra element shows that the list is too long.
func (d *decoder) decodeArray(v reflect.Value) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	defer func(before int) { d.earlierFaults = before }(d.earlierFaults)
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for d.PeekKind() != ']' {
		if v.Len() > occurrence.MaxObservations {
			if err := d.SkipValue(); err != nil {
				return err
			}
			continue
		}
		if v.Type().Elem().Kind() == reflect.Struct {
			d.earlierFaults = len(d.faults)
		}
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		if err := d.decodeValue(v.Index(v.Len() - 1)); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}
