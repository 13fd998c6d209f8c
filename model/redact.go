package model

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// redactionRule says what stands at a place of a record afterwards, and whether anything
// is to be put there.
type redactionRule func(at jsontext.Pointer) (value string, personal bool)

// newRedactionRule is what is personal in a record of a kind. Of a quote it is also what its
// context has beyond the schema: nobody knows what that is, and no price needs it.
func newRedactionRule(kind string, ignored []string) redactionRule {
	return func(at jsontext.Pointer) (string, bool) {
		if value, found := personalMembers[kind][string(at)]; found {
			return value, true
		}
		beyond, inside := strings.CutPrefix(string(at), "/context")
		return "null", inside && slices.Contains(ignored, strings.Join(slices.Collect(jsontext.Pointer(beyond).Tokens()), "."))
	}
}

// redactJSON writes JSON again with other values at some places below one; null stays
// null, what is not there stays away, and all else keeps its place and spelling.
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

// redactValue writes another value behind a name that was just read.
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
