package model_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

// TestReleaseIsNotDatedBeforeTheClaimsLastEntry lets the last timeline entry be of a
// server whose clock is ahead.
func TestReleaseIsNotDatedBeforeTheClaimsLastEntry(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	owedToTwo(t, b, 1, 0)
	var ahead time.Time
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "update claims set timeline_updated_at = timeline_updated_at + interval '1 minute' returning timeline_updated_at").Scan(&ahead))
	require.Equal(t, map[string]int{"acme": 1}, releasedBySlice(t, b, 1))
	var released time.Time
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select updated_at from payouts where status = 'released'").Scan(&released))
	require.False(t, released.Before(ahead), "released at %s, the last entry is of %s", released, ahead)
}
