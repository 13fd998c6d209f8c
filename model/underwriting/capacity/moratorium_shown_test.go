package capacity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
	"parapet/model/underwriting/capacity"
)

func TestQuoteShowsTheMoratoriumThatEndsLast(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for _, days := range []int{2, 9, 5} {
		modeltest.Must(b.Service.Capacity.DeclareMoratorium(t.Context(), b.Operator, capacity.MoratoriumRequest{EndsAt: b.Now().AddDate(0, 0, days).Truncate(time.Second), Reason: "A storm is on its way."}))
	}
	shown := refusal(t, b, "quake-circle", nil)
	require.NotNil(t, shown)
	require.WithinDuration(t, b.Now().AddDate(0, 0, 9), shown.EndsAt, time.Minute)
}
