package graph

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKeptStaysWithinItsWeight(t *testing.T) {
	t.Parallel()
	k := keep[int](160)
	k.add("heavy", 0, 11)
	_, found := k.get("heavy")
	require.False(t, found, "more than a sixteenth")
	for i := range 100 {
		k.add(strconv.Itoa(i), i, 10)
		_, found := k.get("0")
		require.True(t, found, "what is used stays")
	}
	require.Equal(t, 160, k.weight)
	require.Len(t, k.places, 16)
	require.Equal(t, 16, k.order.Len())
	_, found = k.get("50")
	require.False(t, found)
	value, found := k.get("99")
	require.True(t, found)
	require.Equal(t, 99, value)
}
