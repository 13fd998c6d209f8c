package adjudication_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/modeltest"
)

func TestDeferredClaimIsNotWrittenWithoutNews(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	before := b.OnlyClaim(policy)
	require.Equal(t, "deferred", before.Status)
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), occurrence.EvaluateOccurrences{Occurrences: []string{before.Occurrence.ID}}))
	b.RunJobs()
	require.Equal(t, before, b.OnlyClaim(policy))
}

// TestDecisionIsNotDatedBeforeTheClaimsLastEntry has a last timeline entry from a server
// whose clock is ahead.
func TestDecisionIsNotDatedBeforeTheClaimsLastEntry(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	waiting := modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	var ahead time.Time
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "update claims set timeline_updated_at = timeline_updated_at + interval '1 minute' returning timeline_updated_at").Scan(&ahead))
	waiting.Stage = trigger.Final
	b.Observe(waiting)
	b.RunJobs()
	claim := b.OnlyClaim(policy)
	require.Equal(t, "approved", claim.Status)
	require.False(t, claim.UpdatedAt.Before(ahead), "decided at %s, the last entry is of %s", claim.UpdatedAt, ahead)
}
