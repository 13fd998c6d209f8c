package model

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// redact writes JSON again with other values at some pointers below one; null stays
// null, what is not there stays away, and all else keeps its place and spelling.
func redact(text []byte, below string, values map[string]string) ([]byte, error) {
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
			done, err = replaced(in, to, below, values)
			changed = changed || done
		}
		if err != nil {
			return nil, fmt.Errorf("redact: %w", err)
		}
	}
}

// replaced writes another value behind a name that was just read.
func replaced(in *jsontext.Decoder, to *jsontext.Encoder, below string, values map[string]string) (bool, error) {
	kind, read := in.StackIndex(in.StackDepth())
	if kind != '{' || read%2 == 0 {
		return false, nil
	}
	for at, value := range values {
		if in.StackPointer() != jsontext.Pointer(below+at) || in.PeekKind() == 'n' {
			continue
		}
		was, err := in.ReadValue()
		if err != nil {
			return false, err
		}
		same := string(was) == value
		return !same, to.WriteValue(jsontext.Value(value))
	}
	return false, nil
}
