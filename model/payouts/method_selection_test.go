package payouts

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestReplacedMethodIsNotSelected(t *testing.T) {
	t.Parallel()
	claim := uuid.New()
	for status, selected := range map[MethodStatus]bool{MethodVerified: true, MethodPending: true, MethodReplaced: false, MethodRejected: false} {
		require.Equal(t, selected, SelectMethod([]*PayoutMethodRow{{Status: status}}, claim) != nil, status)
	}
}
