package graph

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLRUStaysWithinMaxWeight(t *testing.T) {
	t.Parallel()
	c := newLRUCache[int](160)
	c.add("heavy", 0, 11)
	_, found := c.get("heavy")
	require.False(t, found, "more than a sixteenth")
	for i := range 100 {
		c.add(strconv.Itoa(i), i, 10)
		_, found := c.get("0")
		require.True(t, found, "what is used stays")
	}
	require.Equal(t, 160, c.weight)
	require.Equal(t, 16, c.entries.Len())
	_, found = c.get("50")
	require.False(t, found)
	value, found := c.get("99")
	require.True(t, found)
	require.Equal(t, 99, value)
	c.add("99", 100, 4)
	require.Equal(t, 154, c.weight, "a replaced entry no longer counts")
}
