package model_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/modeltest"
	"parapet/model/trigger"
	"parapet/model/wire"
)

func cancel(policy *wire.Policy) model.CancellationRequest {
	return model.CancellationRequest{PolicyID: policy.ID, Reason: "The premium never came."}
}

func TestACancelledPolicyPaysWhatHappenedBefore(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.Cover("quake-circle", nil)
	before := b.Now()
	waiting := shake(b, "us1", "6.4", trigger.Preliminary)
	cancelled, err := b.Service.CancelPolicy(t.Context(), b.Operator, cancel(policy))
	require.NoError(t, err)
	require.Equal(t, cancelled, b.Policy(policy.ID))
	require.Equal(t, "cancelled", cancelled.Status)
	require.Equal(t, "ended", cancelled.CoverPhase)
	require.WithinRange(t, *cancelled.CancelledAt, waiting.OccurredAt, b.Now())
	require.Equal(t, "policy.cancelled", b.Events()[len(b.Events())-1])

	shake(b, "us2", "7.4", trigger.Final)
	require.Equal(t, "us1", b.OnlyClaim(policy).Occurrence.SourceEventID, "what happens after is not covered")
	finally(b, waiting, "6.4")
	require.Equal(t, *amount(2_000_000), *b.OnlyClaim(policy).Amount)
	b.Observe(modeltest.Quake("us3", before, epicentre, "6.4"))
	b.Work()
	require.Len(t, b.Claims(policy), 2, "reported late, happened in time")

	_, err = b.Service.CancelPolicy(t.Context(), b.Operator, cancel(policy))
	require.Equal(t, model.CodeStateConflict, failure(t, err).Code)
	_, _, err = b.Service.OpenClaim(t.Context(), b.Acme, model.ClaimRequest{PolicyID: policy.ID})
	require.Equal(t, model.CodePolicyNotInForce, failure(t, err).Code)
}

func TestCoverThatNeverBeganCanBeCancelled(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for _, product := range []string{"quake-circle", "rain-excess", "rain-deficit", "cyclone-circle"} {
		policy := b.Cover(product, modeltest.Context{"starts_at": b.Now().AddDate(0, 0, 2).Format(time.RFC3339)})
		cancelled, err := b.Service.CancelPolicy(t.Context(), b.Operator, cancel(policy))
		require.NoError(t, err)
		require.True(t, cancelled.CancelledAt.Before(cancelled.EffectiveAt))
		require.Equal(t, "ended", cancelled.CoverPhase)
	}
	b.After(4 * 24 * time.Hour)
	b.Observe(modeltest.Quake("us1", b.Now(), epicentre, "7.4"), modeltest.Fix("AL01", b.Now(), miami, "140"))
	b.Work()
	require.Zero(t, b.Rows()["claims"])
}

func TestTheDayOfAWaitingClaimIsCovered(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.Cover("rain-excess", modeltest.Context{"days": 1})
	b.After(3 * 24 * time.Hour)
	today := b.Now().Truncate(24 * time.Hour)
	wet := modeltest.StationDay(policy.Cover.Place.Station, today, "180")
	wet.Stage = trigger.Preliminary
	b.Observe(wet)
	b.Work()
	require.Equal(t, "deferred", b.OnlyClaim(policy).Status)
	cancelled, err := b.Service.CancelPolicy(t.Context(), b.Operator, cancel(policy))
	require.NoError(t, err)
	require.Equal(t, today.AddDate(0, 0, 1), *cancelled.CancelledAt, "the day that is claimed counts whole")
	wet.Stage = trigger.Final
	b.Observe(wet, modeltest.StationDay(policy.Cover.Place.Station, today.AddDate(0, 0, -1), "1"))
	b.Work()
	require.Equal(t, "approved", b.OnlyClaim(policy).Status)
}

func TestOnlyWhatIsActiveCanBeCancelled(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	exhausted, over := b.Cover("quake-circle", nil), b.Cover("rain-excess", modeltest.Context{"term": "P30D"})
	shake(b, "us1", "7.4", trigger.Final)
	b.After(31 * 24 * time.Hour)
	for _, policy := range []*wire.Policy{exhausted, over} {
		_, err := b.Service.CancelPolicy(t.Context(), b.Operator, cancel(policy))
		require.Equal(t, model.CodeStateConflict, failure(t, err).Code)
	}
	require.Equal(t, "active", b.Policy(over.ID).Status, "it is over, though nobody swept yet")
	in := cancel(over)
	in.Reason = ""
	_, err := b.Service.CancelPolicy(t.Context(), b.Operator, in)
	require.Equal(t, []string{"/reason"}, pointers(failure(t, err)))
}

func TestCancelAndMatchAtOnce(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithConnections(12))
	policy := b.Cover("quake-circle", nil)
	b.Observe(modeltest.Quake("us1", b.Now(), epicentre, "6.4"))
	job, ok := b.Next().(model.EvaluateOccurrences)
	require.True(t, ok)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := b.Service.Evaluate(t.Context(), job); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			_, err := b.Service.CancelPolicy(t.Context(), b.Operator, cancel(policy))
			if err != nil && model.CodeOf(err) != model.CodeStateConflict {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, "cancelled", b.Policy(policy.ID).Status)
	require.Equal(t, "approved", b.OnlyClaim(policy).Status, "it happened before, whoever was first")
}
