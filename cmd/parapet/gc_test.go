package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHeapGrowsByTheHeadroomBetweenCollections(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{0: 400, 32 << 20: 400, 64 << 20: 200, 128 << 20: 100, 1 << 30: 25} {
		require.Equal(t, want, gcPercentFor(live), live)
	}
}
