// Package scalar writes and reads the scalars and enums of the schema. Nothing
// gets past it that the database cannot keep, so no resolver has to think of NUL
// or of half a character.
package scalar

import (
	"context"
	stdjson "encoding/json" //nolint:depguard // the type in which gqlgen hands over a variable's number
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/shopspring/decimal"

	"parapet/model/wire"
)

// writeQuoted writes a string that needs no escape.
func writeQuoted(s string) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) { _, _ = io.WriteString(w, `"`+s+`"`) })
}

// MarshalString writes text.
func MarshalString(s string) graphql.Marshaler { return graphql.MarshalString(s) }

// UnmarshalString reads text of valid UTF-8 without NUL. Null, which the library
// hands over wherever Go has no pointer, is none.
func UnmarshalString(v any) (string, error) {
	s, is := v.(string)
	if !is && v != nil {
		return "", invalid("type", "Give a string.")
	}
	return s, checkText(s)
}

func checkText(s string) error {
	if strings.ContainsRune(s, 0) || !utf8.ValidString(s) {
		return invalid("value", "Text must be valid UTF-8 without NUL.")
	}
	return nil
}

// MarshalBoolean writes true or false.
func MarshalBoolean(b bool) graphql.Marshaler { return graphql.MarshalBoolean(b) }

// UnmarshalBoolean reads true or false. Null is neither: the library would take it
// for false, and what was to be tried dry be done. Where null may stand, it is not
// asked.
func UnmarshalBoolean(v any) (bool, error) {
	b, is := v.(bool)
	if !is {
		return false, invalid("type", "Give true or false.")
	}
	return b, nil
}

// MarshalID writes an id, which is the id of REST.
func MarshalID(s string) graphql.Marshaler { return graphql.MarshalString(s) }

// UnmarshalID reads an id; whether there is such a record, the domain knows. Null
// is no id, as it is no text: the library would read the word null.
func UnmarshalID(v any) (string, error) {
	if v == nil {
		return "", nil
	}
	s, err := graphql.UnmarshalID(v)
	if err != nil {
		return "", invalid("type", "Give an id.")
	}
	if checkText(s) != nil {
		return "", nil //nolint:nilerr // no record has this id, and that is all there is to say
	}
	return s, nil
}

// MarshalDateTime writes RFC 3339 in UTC with microseconds, as REST does.
func MarshalDateTime(t time.Time) graphql.ContextMarshaler { return quoteText(wire.FormatTime(t), `"`) }

// UnmarshalDateTime reads RFC 3339 with a zone, of a year that the database knows.
func UnmarshalDateTime(ctx context.Context, v any) (time.Time, error) {
	s, _ := v.(string)
	at, ok := wire.ParseTime(s)
	if !ok {
		return time.Time{}, addError(ctx, "format", "Give an RFC 3339 time with its zone, such as 2018-02-06T15:50:42Z.")
	}
	return at, nil
}

// MarshalLong writes a whole number.
func MarshalLong(n int64) graphql.ContextMarshaler { return quoteText(strconv.FormatInt(n, 10), "") }

// UnmarshalLong reads a whole number of 64 bits, also from text, because JavaScript
// loses digits of large ones. It has no fraction and no exponent.
func UnmarshalLong(ctx context.Context, v any) (int64, error) {
	if v == nil {
		return 0, nil
	}
	var n int64
	var err error
	switch v := v.(type) {
	case int64:
		n = v
	case int:
		n = int64(v)
	case stdjson.Number:
		n, err = strconv.ParseInt(v.String(), 10, 64)
	case string:
		n, err = strconv.ParseInt(v, 10, 64)
	default:
		err = strconv.ErrSyntax
	}
	if err != nil {
		return 0, addError(ctx, "type", "Give a whole number of at most 64 bits; money is in minor units: 1250 for 12.50 USD.")
	}
	return n, nil
}

// MarshalCount writes a Long that counts.
func MarshalCount(n int) graphql.ContextMarshaler { return MarshalLong(int64(n)) }

// UnmarshalCount reads a Long that counts.
func UnmarshalCount(ctx context.Context, v any) (int, error) {
	n, err := UnmarshalLong(ctx, v)
	return int(n), err
}

// MarshalDecimal writes a decimal with the digits it has, as text.
func MarshalDecimal(d decimal.Decimal) graphql.Marshaler { return writeQuoted(d.String()) }

// UnmarshalDecimal reads a decimal from text.
func UnmarshalDecimal(v any) (decimal.Decimal, error) {
	s, _ := v.(string)
	if len(s) > 64 || strings.ContainsAny(s, "eE") {
		return decimal.Decimal{}, invalid("format", `Give a decimal as text, such as "6.4".`)
	}
	d, err := decimal.NewFromString(s)
	if err != nil {
		return decimal.Decimal{}, invalid("format", `Give a decimal as text, such as "6.4".`)
	}
	return d, nil
}

// MarshalDecimalText writes a decimal that Go keeps as it was written.
func MarshalDecimalText(s string) graphql.Marshaler { return writeQuoted(s) }

// UnmarshalDecimalText reads text that the domain judges; what is no text is no
// decimal, which the domain says of an empty one too.
func UnmarshalDecimalText(v any) (string, error) {
	s, _ := v.(string)
	return s, checkText(s)
}
