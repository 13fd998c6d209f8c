package scalar

import (
	"context"
	stdjson "encoding/json" //nolint:depguard // the type in which gqlgen hands over a variable's number
	"io"
	"maps"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parapet/model/wire"
)

// MarshalJSON writes JSON unchanged.
func MarshalJSON(v jsontext.Value) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) {
		if len(v) == 0 {
			v = jsontext.Value("null")
		}
		_, _ = w.Write(v)
	})
}

// numberMarshalers keeps the digits of a variable's number as written.
var numberMarshalers = json.WithMarshalers(json.MarshalToFunc(func(enc *jsontext.Encoder, n stdjson.Number) error {
	return enc.WriteValue(jsontext.Value(n))
}))

// UnmarshalJSON reads any JSON value, from a variable or from the document.
func UnmarshalJSON(v any) (jsontext.Value, error) {
	value, err := json.Marshal(v, json.Deterministic(true), numberMarshalers)
	if err != nil {
		return nil, invalid("value", "Text must be valid UTF-8.")
	}
	return value, checkNestedText(v)
}

// checkNestedText finds text that the database cannot store, at any depth.
func checkNestedText(v any) error {
	switch v := v.(type) {
	case string:
		return checkText(v)
	case []any:
		for _, element := range v {
			if err := checkNestedText(element); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, member := range v {
			if err := checkText(name); err != nil {
				return err
			}
			if err := checkNestedText(member); err != nil {
				return err
			}
		}
	}
	return nil
}

// MarshalMetadata writes an object of text values.
func MarshalMetadata(m map[string]string) graphql.ContextMarshaler {
	text, _ := wire.Encode(m) // text always encodes
	return quoteText(string(text), "")
}

// UnmarshalMetadata reads an object of text values.
func UnmarshalMetadata(ctx context.Context, v any) (map[string]string, error) {
	m := map[string]string{}
	return m, readMetadata(ctx, v, func(name string, value *string) bool {
		if value != nil {
			m[name] = *value
		}
		return value != nil
	})
}

// MarshalMetadataChange writes what UnmarshalMetadataChange reads.
func MarshalMetadataChange(m map[string]*string) graphql.ContextMarshaler {
	text, _ := wire.Encode(m) // text always encodes
	return quoteText(string(text), "")
}

// UnmarshalMetadataChange reads an object of text values, or null for keys to remove.
func UnmarshalMetadataChange(ctx context.Context, v any) (map[string]*string, error) {
	m := map[string]*string{}
	return m, readMetadata(ctx, v, func(name string, value *string) bool {
		m[name] = value
		return true
	})
}

// readMetadata passes the members of an object, sorted by name, to take. Members other
// than text or null, and those that take rejects, are errors.
func readMetadata(ctx context.Context, v any, take func(string, *string) bool) error {
	object, ok := v.(map[string]any)
	if !ok {
		return addError(ctx, "type", "Give an object.")
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		var err error
		switch text, is := object[name].(string); {
		case is:
			take(name, &text)
		case object[name] != nil:
			err = addError(ctx, "type", "Give a string.", name)
		case !take(name, nil):
			err = addError(ctx, "null", "It must not be null: give a string.", name)
		}
		if err != nil {
			return err
		}
	}
	return checkNestedText(object)
}
