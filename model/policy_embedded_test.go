package model_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/trigger"
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
	observeQuake(b, "us1", "6.4", trigger.Final)
	events := eventsOf(t, b, policy.ID)
	require.Equal(t, "policy.updated", events[len(events)-1].Type)
	inEvent := eventObject[wire.Policy](t, events[len(events)-1])
	require.Len(t, inEvent.Claims, store.MaxEmbedded)
	require.EqualValues(t, store.MaxEmbedded+1, inEvent.ClaimsCount)
	require.Equal(t, "approved", inEvent.Claims[store.MaxEmbedded-1].Status)
}

// TestSandboxSpellAffectsPoliciesOfItsPartnerOnly rehearses rain at a station at which two
// partners have policies.
func TestSandboxSpellAffectsPoliciesOfItsPartnerOnly(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("rain-excess", modeltest.Context{"days": 2})
	b.ActingAs(b.Globex).QuoteAndBind("rain-excess", modeltest.Context{"days": 2})
	b.AdvanceClock(12 * day)
	_, err := b.Service.RecordObservations(t.Context(), b.Acme, spell(policy, policy.EffectiveAt.Truncate(day).AddDate(0, 0, 1), "100", "90"), true)
	require.NoError(t, err)
	b.RunJobs()
	occurrence := b.OnlyClaim(policy).Occurrence.ID
	for _, who := range []actor.Actor{b.Acme, b.Operator} {
		require.Equal(t, []string{policy.ID}, policyIDsOf(affectedPolicies(t, b, who, occurrence, true)))
	}
}
