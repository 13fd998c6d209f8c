package scenario_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/modeltest"
)

// TestSandboxSpellAffectsPoliciesOfItsPartnerOnly rehearses rain at a station at which two
// partners have policies.
func TestSandboxSpellAffectsPoliciesOfItsPartnerOnly(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	b := modeltest.New(t)
	policy := b.QuoteAndBind("rain-excess", modeltest.Context{"days": 2})
	b.ActingAs(b.Globex).QuoteAndBind("rain-excess", modeltest.Context{"days": 2})
	b.AdvanceClock(12 * day)
	_, err := b.Service.Occurrences.RecordObservations(t.Context(), b.Acme, modeltest.RainSpell(policy, policy.EffectiveAt.Truncate(day).AddDate(0, 0, 1), "100", "90"), true)
	require.NoError(t, err)
	b.RunJobs()
	occurrence := b.OnlyClaim(policy).Occurrence.ID
	for _, who := range []actor.Actor{b.Acme, b.Operator} {
		require.Equal(t, []string{policy.ID}, policyIDsOf(affectedPolicies(t, b, who, occurrence, true)))
	}
}
