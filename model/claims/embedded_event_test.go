package claims_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard/trigger"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// TestEventOfATriggeredClaimEmbedsNewestTwentyClaims lets the matcher open and approve one
// more claim than a policy's record embeds.
func TestEventOfATriggeredClaimEmbedsNewestTwentyClaims(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	for i := range store.MaxEmbedded {
		if i == store.MaxEmbedded/2 {
			b.AdvanceClock(25 * time.Hour)
		}
		openForApproval(b, policy)
	}
	modeltest.ObserveQuake(b, "us1", "6.4", trigger.Final)
	events := eventsOf(t, b, policy.ID)
	require.Equal(t, "policy.updated", events[len(events)-1].Type)
	inEvent := eventObject[wire.Policy](t, events[len(events)-1])
	require.Len(t, inEvent.Claims, store.MaxEmbedded)
	require.EqualValues(t, store.MaxEmbedded+1, inEvent.ClaimsCount)
	require.Equal(t, "approved", inEvent.Claims[store.MaxEmbedded-1].Status)
}
