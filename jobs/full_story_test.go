package jobs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/jobs/feed"
	"parapet/model/modeltest"
	"parapet/model/money"
	"parapet/model/wire"
)

// TestFullStoryOfHualienQuake runs the main scenario through queue, workers and rail: the
// real week of February 2018 is replayed now, a claim is decided and paid, and replaying
// it again changes nothing.
func TestFullStoryOfHualienQuake(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.startWorkers()
	policy := s.QuoteAndBind("quake-circle", nil)
	seen := s.replayHistory()
	require.Positive(t, seen.Created)
	require.Positive(t, seen.FutureRows)
	require.Zero(t, seen.Rejected+seen.Revised+seen.Unchanged)
	s.requireEventually(func() bool { return len(s.Policy(policy.ID).Claims) == 1 }, "the claim opens by itself")

	claim := s.OnlyClaim(policy)
	require.Equal(t, "approved", claim.Status)
	require.Equal(t, "us1000chhc", claim.Occurrence.SourceEventID)
	require.Equal(t, wire.Measure{Value: "6.4", Unit: "mw"}, *claim.Determination.Index)
	require.InDelta(t, 22, *claim.Determination.DistanceKM, 0.5)
	require.Equal(t, money.New(2_000_000, "USD"), *claim.Amount)

	s.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	payout := s.waitForPayoutStatus(claim.ID, "released")
	require.Equal(t, *claim.Amount, payout.Amount)
	s.settled(payout, behaviourCase{})
	s.waitUntilIdle()
	for i, entry := range s.Timeline(claim.ID) {
		require.EqualValues(t, i+1, entry.Sequence)
	}
	require.Equal(t, []string{
		"trigger.observed", "claim.opened", "claim.approved", "payout.created", "payout.blocked",
		"payout_method.recorded", "payout.updated", "payout_method.verified", "payout.unblocked", "payout.releasing", "payout.released",
	}, s.TimelineKinds(claim.ID))

	// River's tables are in a schema of their own and are not counted, because the sweep
	// inserts and deletes rows there. Rows that are written with a delay are written
	// before.
	s.requireEventually(func() bool { return s.countRows("event_outbox") == 0 }, "every event is numbered")
	s.Sweep()
	before := s.CountRows()
	for range 2 {
		again := s.replayHistory()
		require.Equal(t, seen.Created, again.Unchanged)
		require.Equal(t, seen.FutureRows, again.FutureRows)
		s.waitUntilIdle()
	}
	require.Equal(t, before, s.CountRows())
	require.Contains(t, before, "observations")
	require.NotContains(t, s.log.String(), "job failed")
}

func (s *fixture) replayHistory() IngestResult {
	s.t.Helper()
	seen, err := ReplayFile(s.t.Context(), s.Service, feed.SourceUSGS, feed.SampleUSGSWeek(), "us1000chhc")
	require.NoError(s.t, err)
	require.Empty(s.t, seen.Problems)
	return seen
}

// History re-dated into a production database would pay real money.
func TestReplayIsForDevelopment(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.InProduction())
	_, err := ReplayFile(t.Context(), b.Service, feed.SourceUSGS, feed.SampleUSGSWeek(), "us1000chhc")
	require.ErrorContains(t, err, "development")
	_, err = ReplayFile(t.Context(), b.Service, feed.SourceUSGS, []byte("{}"), "")
	require.Error(t, err)
	require.Zero(t, b.CountRows()["observations"])
}
