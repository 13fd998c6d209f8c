package product

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// errNotObject is returned for a JSON value that is not an object.
var errNotObject = errors.New("not an object")

// member is a name and its unparsed value.
type member struct {
	name  string
	value jsontext.Value
}

// splitMembers splits an object into its members in order.
func splitMembers(value jsontext.Value) ([]member, error) {
	decoder := jsontext.NewDecoder(bytes.NewReader(value))
	if token, err := decoder.ReadToken(); err != nil || token.Kind() != '{' {
		return nil, errNotObject
	}
	var members []member
	for decoder.PeekKind() == '"' {
		name, err := decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		text := name.String() // valid until the next read
		content, err := decoder.ReadValue()
		if err != nil {
			return nil, err
		}
		members = append(members, member{text, content.Clone()})
	}
	_, err := decoder.ReadToken()
	return members, err
}

// objectWriter writes members one after another; its zero value is {}.
type objectWriter struct{ text []byte }

func (o *objectWriter) addMember(name string, value jsontext.Value) {
	separator := byte(',')
	if len(o.text) == 0 {
		separator = '{'
	}
	o.text = append(o.text, separator)
	o.text, _ = jsontext.AppendQuote(o.text, name) // only invalid UTF-8 fails, and the decoder has refused it
	o.text = append(o.text, ':')
	o.text = append(o.text, value...)
}

func (o *objectWriter) toJSON() jsontext.Value {
	if len(o.text) == 0 {
		return jsontext.Value("{}")
	}
	return append(o.text, '}')
}
