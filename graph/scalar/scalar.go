// Package scalar writes and reads the scalars and enums of the schema. It rejects text
// that the database cannot store (NUL, partial characters), so that no resolver has to
// check it.
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

// writeQuoted writes a string that needs no escaping.
func writeQuoted(s string) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) { _, _ = io.WriteString(w, `"`+s+`"`) })
}

// MarshalString writes text.
func MarshalString(s string) graphql.Marshaler { return graphql.MarshalString(s) }

// UnmarshalString reads valid UTF-8 text without NUL. Null, which gqlgen passes for Go
// types without a pointer, gives the empty string.
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

// UnmarshalBoolean reads true or false. It rejects null, which gqlgen would read as
// false: a dry run would then be executed. For nullable arguments gqlgen does not call it
// with null.
func UnmarshalBoolean(v any) (bool, error) {
	b, is := v.(bool)
	if !is {
		return false, invalid("type", "Give true or false.")
	}
	return b, nil
}

// MarshalID writes an id, the same as in REST.
func MarshalID(s string) graphql.Marshaler { return graphql.MarshalString(s) }

// UnmarshalID reads an id; the domain decides whether the record exists. Null gives the
// empty id, where gqlgen would read the text "null".
func UnmarshalID(v any) (string, error) {
	if v == nil {
		return "", nil
	}
	s, err := graphql.UnmarshalID(v)
	if err != nil {
		return "", invalid("type", "Give an id.")
	}
	if checkText(s) != nil {
		return "", nil //nolint:nilerr // no record has this id, so not_found follows
	}
	return s, nil
}

// MarshalDateTime writes RFC 3339 in UTC with microseconds, as REST does.
func MarshalDateTime(t time.Time) graphql.ContextMarshaler { return quoteText(wire.FormatTime(t), `"`) }

// UnmarshalDateTime reads RFC 3339 with a zone, within the years that the database
// supports.
func UnmarshalDateTime(ctx context.Context, v any) (time.Time, error) {
	s, _ := v.(string)
	at, ok := wire.ParseTime(s)
	if !ok {
		return time.Time{}, addError(ctx, "format", "Give an RFC 3339 time with its zone, such as 2018-02-06T15:50:42Z.")
	}
	return at, nil
}

// MarshalLong writes an integer.
func MarshalLong(n int64) graphql.ContextMarshaler { return quoteText(strconv.FormatInt(n, 10), "") }

// UnmarshalLong reads a 64-bit integer, also from text because JavaScript loses digits of
// large numbers. A fraction or an exponent is rejected.
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

// MarshalCount writes a count as a Long.
func MarshalCount(n int) graphql.ContextMarshaler { return MarshalLong(int64(n)) }

// UnmarshalCount reads a count from a Long.
func UnmarshalCount(ctx context.Context, v any) (int, error) {
	n, err := UnmarshalLong(ctx, v)
	return int(n), err
}

// MarshalDecimal writes a decimal with its digits, as text.
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

// MarshalDecimalText writes a decimal that Go keeps as text.
func MarshalDecimalText(s string) graphql.Marshaler { return writeQuoted(s) }

// UnmarshalDecimalText reads text that the domain validates. Other types give the empty
// string, which the domain rejects as a decimal.
func UnmarshalDecimalText(v any) (string, error) {
	s, _ := v.(string)
	return s, checkText(s)
}
