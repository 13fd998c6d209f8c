package claims_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
)

// A payout that paid, or may have paid, counts before one that can be held.
func TestPayoutThatPaidFirstIsCorrect(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	row := func(status claims.PayoutStatus, reason claims.BlockedReason, releasedAt *time.Time) *claims.PayoutRow {
		return &claims.PayoutRow{Status: status, BlockedReason: &reason, ReleasedAt: releasedAt}
	}
	ranks := [][]*claims.PayoutRow{
		{row(claims.PayoutReleased, "", &at), row(claims.PayoutReconciled, "", &at), row(claims.PayoutCancelled, "", nil)}, // settled externally
		{row(claims.PayoutReleasing, "", nil), row(claims.PayoutReconciling, "", nil), row(claims.PayoutBlocked, claims.BlockedRailMismatch, nil)},
		{row(claims.PayoutPending, "", nil), row(claims.PayoutBlocked, claims.BlockedCompliance, nil)},
	}
	for i, rank := range ranks {
		for j, others := range ranks {
			for _, r := range rank {
				for _, other := range others {
					require.Equal(t, i < j, r.IsPaidBefore(other), "%s, %s", r.Status, other.Status)
				}
			}
		}
	}
	later := row(claims.PayoutReleased, "", new(at.Add(time.Second)))
	require.True(t, ranks[0][0].IsPaidBefore(later))
	require.False(t, later.IsPaidBefore(ranks[0][0]))
}
