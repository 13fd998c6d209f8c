package apperr_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
)

func TestReferencesHaveTheBoundsOfTheContract(t *testing.T) {
	t.Parallel()
	keys := func(n int) map[string]string {
		metadata := map[string]string{}
		for i := range n {
			metadata[fmt.Sprint("key-", i)] = "value"
		}
		return metadata
	}
	for name, tc := range map[string]struct {
		reference *string
		metadata  map[string]string
		pointers  []string
	}{
		"none":                {nil, nil, nil},
		"longest reference":   {new(strings.Repeat("é", 128)), nil, nil},
		"too long reference":  {new(strings.Repeat("a", 129)), nil, []string{"/partner_reference"}},
		"empty reference":     {new(""), nil, []string{"/partner_reference"}},
		"blank reference":     {new(" \u00a0"), nil, []string{"/partner_reference"}},
		"control character":   {new("a\tb"), nil, []string{"/partner_reference"}},
		"fifty keys":          {nil, keys(50), nil},
		"fifty-one keys":      {nil, keys(51), []string{"/metadata"}},
		"longest key, value":  {nil, map[string]string{strings.Repeat("é", 40): strings.Repeat("é", 500)}, nil},
		"too long key":        {nil, map[string]string{strings.Repeat("k", 41): ""}, []string{"/metadata/" + strings.Repeat("k", 41)}},
		"empty key":           {nil, map[string]string{"": "value"}, []string{"/metadata/"}},
		"too long value":      {nil, map[string]string{"a/b": strings.Repeat("v", 501)}, []string{"/metadata/a~1b"}},
		"empty value, a line": {nil, map[string]string{"a": "", "b": "one\ntwo"}, nil},
	} {
		v := apperr.Validator{}
		v.RequireReferences(tc.reference, tc.metadata)
		var pointers []string
		for _, fault := range v.FieldErrors {
			pointers = append(pointers, fault.Pointer)
		}
		require.Equal(t, tc.pointers, pointers, name)
	}
}
