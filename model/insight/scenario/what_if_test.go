package scenario

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
)

func TestOccurrenceReferenceNamesItsMembers(t *testing.T) {
	t.Parallel()
	for pointer, want := range map[string]string{
		"":            "Give exactly one of occurrence_id, source_event and what_if.",
		"/occurrence": "Give exactly one of id, source_event and what_if.",
	} {
		v := apperr.NewValidator(t.Context())
		(&OccurrenceRef{Pointer: pointer}).validate(v)
		var invalid *apperr.Error
		require.ErrorAs(t, v.Err(), &invalid)
		require.Len(t, invalid.Fields, 1)
		require.Equal(t, want, invalid.Fields[0].Detail)
	}
}
