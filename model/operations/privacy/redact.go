package privacy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// redactionRule returns the replacement for the value at a position of a record, and
// whether that value is personal.
type redactionRule func(at jsontext.Pointer) (value string, personal bool)

// newRedactionRule returns the rule for a kind of record. In a quote it also redacts
// the context members outside the schema: their content is unknown and does not affect
// the price.
func newRedactionRule(kind string, ignored []string) redactionRule {
	return func(at jsontext.Pointer) (string, bool) {
		if value, found := personalMembers[kind][string(at)]; found {
			return value, true
		}
		beyond, inside := strings.CutPrefix(string(at), "/context")
		return "null", inside && slices.Contains(ignored, strings.Join(slices.Collect(jsontext.Pointer(beyond).Tokens()), "."))
	}
}

// redactJSON rewrites JSON with other values at some positions below one. It keeps
// null, adds nothing that is missing, and keeps the order and spelling of all other
// text.
func redactJSON(text []byte, below string, values redactionRule) ([]byte, error) {
	var out bytes.Buffer
	in, to := jsontext.NewDecoder(bytes.NewReader(text)), jsontext.NewEncoder(&out, jsontext.PreserveRawStrings(true), jsontext.CanonicalizeRawInts(false))
	changed := false
	for {
		token, err := in.ReadToken()
		if errors.Is(err, io.EOF) {
			if !changed {
				return text, nil
			}
			return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
		}
		if err == nil {
			err = to.WriteToken(token)
		}
		if err == nil {
			var done bool
			done, err = redactValue(in, to, below, values)
			changed = changed || done
		}
		if err != nil {
			return nil, fmt.Errorf("redact: %w", err)
		}
	}
}

// redactValue writes the replacement of the value of the name that was just read.
func redactValue(in *jsontext.Decoder, to *jsontext.Encoder, below string, values redactionRule) (bool, error) {
	kind, read := in.StackIndex(in.StackDepth())
	if kind != '{' || read%2 == 0 {
		return false, nil
	}
	at, inside := strings.CutPrefix(string(in.StackPointer()), below)
	value, personal := values(jsontext.Pointer(at))
	if !inside || !personal || in.PeekKind() == 'n' {
		return false, nil
	}
	was, err := in.ReadValue()
	if err != nil {
		return false, err
	}
	return string(was) != value, to.WriteValue(jsontext.Value(value))
}
