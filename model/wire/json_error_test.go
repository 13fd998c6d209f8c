package wire_test

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/model/wire"
)

func TestJSONErrorsNameNoTypesOfGo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"name": "x"`:              "the JSON ends too early",
		``:                          "the JSON ends too early",
		`{"name": "x", "name": ""}`: "the member /name is there twice",
		`<html>`:                    "it is not JSON in UTF-8 from byte 1 on",
		`{"name": "x", "age": 3}`:   "there is no member /age",
		`[]`:                        "it is not a JSON object",
		`{"name": 3}`:               "the member /name has a value of another type",
	} {
		var into struct {
			Name string `json:"name"`
		}
		err := json.Unmarshal([]byte(text), &into, json.RejectUnknownMembers(true))
		require.EqualError(t, wire.JSONError(err), want, text)
	}
	other := errors.New("the disk is full")
	require.Equal(t, other, wire.JSONError(other))
	require.NoError(t, wire.JSONError(nil))
}
