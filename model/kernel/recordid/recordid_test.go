package recordid_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"parapet/model/kernel/recordid"
)

// Records sort by id as by created_at, and within a transaction in order of creation.
func TestRecordIDsSortByTimeAndOrdinal(t *testing.T) {
	t.Parallel()
	type created struct {
		micros  int64
		ordinal uint16
	}
	draw := rapid.Custom(func(t *rapid.T) created {
		return created{rapid.Int64Range(0, 4e15).Draw(t, "µs"), rapid.Uint16Max(1<<14-1).Draw(t, "ordinal")}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw.Draw(t, "a"), draw.Draw(t, "b")
		if rapid.Bool().Draw(t, "same instant") {
			b.micros = a.micros
		}
		idA, idB := recordid.At(time.UnixMicro(a.micros), a.ordinal), recordid.At(time.UnixMicro(b.micros), b.ordinal)
		require.Equal(t, uuid.Version(7), idA.Version())
		require.Equal(t, uuid.RFC4122, idA.Variant())
		if a != b {
			earlier := a.micros < b.micros || a.micros == b.micros && a.ordinal < b.ordinal
			require.Equal(t, earlier, bytes.Compare(idA[:], idB[:]) < 0)
		}
		lowest := recordid.LowestAt(time.UnixMicro(b.micros))
		require.Equal(t, a.micros >= b.micros, bytes.Compare(idA[:], lowest[:]) >= 0, "a period of time is a range of ids")
	})
	first, second := recordid.At(time.Unix(1, 0), 1), recordid.At(time.Unix(1, 0), 1)
	require.NotEqual(t, first, second, "of two transactions at one instant")
	require.Equal(t, recordid.LowestAt(time.Unix(0, 0)), recordid.LowestAt(time.Unix(-1, 0)), "ids begin in 1970")
}
