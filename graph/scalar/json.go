package scalar

import (
	stdjson "encoding/json" //nolint:depguard // the type in which gqlgen hands over a variable's number
	"io"

	"github.com/99designs/gqlgen/graphql"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parapet/model/wire"
)

// MarshalJSON writes JSON as it is.
func MarshalJSON(v jsontext.Value) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) {
		if len(v) == 0 {
			v = jsontext.Value("null")
		}
		_, _ = w.Write(v)
	})
}

// numbers keeps the digits of a variable's number as they were written.
var numbers = json.WithMarshalers(json.MarshalToFunc(func(enc *jsontext.Encoder, n stdjson.Number) error {
	return enc.WriteValue(jsontext.Value(n))
}))

// UnmarshalJSON reads any JSON value, from a variable or written into the document.
func UnmarshalJSON(v any) (jsontext.Value, error) {
	value, err := json.Marshal(v, json.Deterministic(true), numbers)
	if err != nil {
		return nil, unfit("value", "Text must be valid UTF-8.")
	}
	return value, within(v)
}

// within looks for text that cannot be kept, however deep.
func within(v any) error {
	switch v := v.(type) {
	case string:
		return clean(v)
	case []any:
		for _, element := range v {
			if err := within(element); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, member := range v {
			if err := clean(name); err != nil {
				return err
			}
			if err := within(member); err != nil {
				return err
			}
		}
	}
	return nil
}

// MarshalMetadata writes an object of text.
func MarshalMetadata(m map[string]string) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) {
		written, _ := wire.Encode(m) // text is always written
		_, _ = w.Write(written)
	})
}

// UnmarshalMetadata reads an object whose values are text.
func UnmarshalMetadata(v any) (map[string]string, error) {
	object, ok := v.(map[string]any)
	if !ok {
		return nil, unfit("type", "Metadata is an object whose values are strings.")
	}
	m := make(map[string]string, len(object))
	for name, value := range object {
		member, ok := value.(string)
		if !ok {
			return nil, unfit("type", "Metadata is an object whose values are strings.")
		}
		m[name] = member
	}
	return m, within(object)
}
