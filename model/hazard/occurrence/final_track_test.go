package occurrence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// atSea is a point far from Miami.
var atSea = hazard.Point{Latitude: 20, Longitude: -60}

// preliminaryStorm returns a policy with a claim that waits for a storm of two
// preliminary fixes: one near Miami that pays, and one that does not.
func preliminaryStorm(t *testing.T, b *modeltest.Bundle) (policy *wire.Policy, near, far wire.ObservationInput) {
	t.Helper()
	policy = b.QuoteAndBind("cyclone-circle", nil)
	at := b.Now()
	b.AdvanceClock(modeltest.FixInterval)
	near, far = modeltest.Fix("AL01", at, modeltest.Miami, "140"), modeltest.Fix("AL01", at.Add(time.Hour), atSea, "40")
	near.Stage, far.Stage = trigger.Preliminary, trigger.Preliminary
	b.Observe(near, far)
	b.RunJobs()
	require.Equal(t, "deferred", b.OnlyClaim(policy).Status)
	return policy, near, far
}

func TestFinalTrackRetractsMissingFixes(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, _, far := preliminaryStorm(t, b)
	modeltest.RecordFinalTrack(t, b, far)
	b.RunJobs()
	claim := b.OnlyClaim(policy)
	require.Equal(t, "declined", claim.Status)
	require.Equal(t, []string{"source_retracted"}, claim.Decision.ReasonCodes)
	require.Equal(t, "final", modeltest.OccurrenceStage(t, b, "AL01"))
	before := b.CountRows()
	require.Equal(t, occurrence.ResultUnchanged, modeltest.RecordFinalTrack(t, b, far)[0].Result)
	b.RunJobs()
	require.Equal(t, before, b.CountRows())
}

func TestFinalTrackDecidesDeferredClaims(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	paid, near, far := preliminaryStorm(t, b)
	missed := b.QuoteAndBind("cyclone-circle", nil)
	late := modeltest.Fix("AL01", b.Now(), modeltest.Miami, "70")
	late.Stage = trigger.Preliminary
	b.Observe(late)
	b.RunJobs()
	require.Equal(t, "deferred", b.OnlyClaim(missed).Status)
	late.Measures = map[string]wire.Measure{"wind": {Value: "20", Unit: "kn"}}
	modeltest.RecordFinalTrack(t, b, near, far, late)
	b.RunJobs()
	require.Equal(t, "approved", b.OnlyClaim(paid).Status)
	require.Equal(t, "declined", b.OnlyClaim(missed).Status, "no further fix can meet the trigger")
	require.Equal(t, []string{"threshold_not_met"}, b.OnlyClaim(missed).Decision.ReasonCodes)
}

func TestFinalTrackAcceptsAlreadyReportedFixes(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, _, far := preliminaryStorm(t, b)
	far.Stage = trigger.Final
	b.Observe(far)
	b.RunJobs()
	require.Equal(t, "deferred", b.OnlyClaim(policy).Status)
	require.Equal(t, occurrence.ResultUnchanged, modeltest.RecordFinalTrack(t, b, far)[0].Result)
	b.RunJobs()
	require.Equal(t, "declined", b.OnlyClaim(policy).Status)
}

func TestFinalTrackWithInvalidFixChangesNothing(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, near, far := preliminaryStorm(t, b)
	before := b.CountRows()
	near.Measures = map[string]wire.Measure{"wind": {Value: "999", Unit: "kn"}}
	results := modeltest.RecordFinalTrack(t, b, near, far)
	require.Equal(t, "/measures/wind/value", results[0].Errors[0].Pointer)
	require.Equal(t, occurrence.ResultRejected, results[1].Result)
	require.Equal(t, occurrence.TrackIncomplete, results[1].Errors[0].Code)
	b.RunJobs()
	require.Equal(t, before, b.CountRows())
	require.Equal(t, "preliminary", modeltest.OccurrenceStage(t, b, "AL01"))
	require.Equal(t, "deferred", b.OnlyClaim(policy).Status)
}

func TestFinalTrackTakesFinalFixesOfOneStorm(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	at := b.Now()
	one, other, preliminary := modeltest.Fix("AL01", at, modeltest.Miami, "140"), modeltest.Fix("AL02", at, modeltest.Miami, "140"), modeltest.Fix("AL01", at.Add(-time.Hour), modeltest.Miami, "140")
	preliminary.Stage = trigger.Preliminary
	for name, fixes := range map[string][]wire.ObservationInput{
		"two storms": {one, other}, "preliminary": {one, preliminary}, "a quake": {modeltest.Quake("us1", at, modeltest.Epicentre, "6.4")},
	} {
		_, err := b.Service.Occurrences.RecordFinalTrack(t.Context(), b.Source, fixes, false)
		require.Equal(t, []string{"/final_track"}, modeltest.FieldPointers(modeltest.DomainError(t, err)), name)
	}
	results, err := b.Service.Occurrences.RecordFinalTracks(t.Context(), b.Source, []wire.ObservationInput{one, other})
	require.NoError(t, err)
	require.Equal(t, occurrence.ResultCreated, results[1].Result, "a feed records several complete storms")
}

func TestFixAfterFinalTrackMustBeFinal(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	_, near, far := preliminaryStorm(t, b)
	modeltest.RecordFinalTrack(t, b, far)
	near.Stage, near.Revision = trigger.Preliminary, new(int64(9))
	results, err := b.Service.Occurrences.RecordObservations(t.Context(), b.Source, []wire.ObservationInput{near}, false)
	require.NoError(t, err)
	require.Equal(t, "superseded", results[0].Errors[0].Code)
	near.Stage = trigger.Final
	require.Equal(t, occurrence.ResultRevised, b.Observe(near)[0].Result, "a correction is recorded")
	other := modeltest.Fix("AL02", b.Now(), modeltest.Miami, "70")
	other.Stage = trigger.Preliminary
	require.Equal(t, occurrence.ResultCreated, b.Observe(other)[0].Result)
}

func TestFinalTrackKeepsFixesOfOtherStorms(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	_, near, far := preliminaryStorm(t, b)
	stands := modeltest.Fix("AL01", near.OccurredAt.Add(time.Minute), modeltest.Miami, "70")
	other := modeltest.Fix("AL02", near.OccurredAt, modeltest.Miami, "70")
	other.Stage = trigger.Preliminary
	b.Observe(stands, other)
	_, _, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Acme, near, true)
	require.NoError(t, err)
	modeltest.RecordFinalTrack(t, b, far)
	var retracted int
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select count(*) from observations where stage = 'retracted'").Scan(&retracted))
	require.Equal(t, 1, retracted, "final fixes, other storms and sandbox fixes stay")
}

func TestFinalTrackReplacesNewerPreliminaryRevisions(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("cyclone-circle", nil)
	fix := modeltest.Fix("AL01", b.Now(), modeltest.Miami, "140")
	b.AdvanceClock(modeltest.FixInterval)
	fix.Stage, fix.Revision = trigger.Preliminary, new(int64(5))
	b.Observe(fix)
	b.RunJobs()
	require.Equal(t, "deferred", b.OnlyClaim(policy).Status)
	fix.Revision = new(int64(3))
	require.Equal(t, occurrence.ResultRevised, modeltest.RecordFinalTrack(t, b, fix)[0].Result)
	b.RunJobs()
	require.Equal(t, "final", modeltest.OccurrenceStage(t, b, "AL01"))
	require.Equal(t, "approved", b.OnlyClaim(policy).Status)
}

func TestFinalTrackRestoresRetractedFix(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("cyclone-circle", nil)
	at := b.Now()
	b.AdvanceClock(modeltest.FixInterval)
	near, far := modeltest.Fix("AL01", at, modeltest.Miami, "140"), modeltest.Fix("AL01", at.Add(time.Hour), atSea, "40")
	near.Stage, near.Revision, far.Stage = trigger.Preliminary, new(int64(5)), trigger.Preliminary
	b.Observe(near, far)
	modeltest.RecordFinalTrack(t, b, far)
	b.RunJobs()
	require.Empty(t, b.Claims(policy))
	require.Equal(t, occurrence.ResultRevised, modeltest.RecordFinalTrack(t, b, near, far)[0].Result)
	b.RunJobs()
	require.Equal(t, "approved", b.OnlyClaim(policy).Status)

	near.Stage, near.Revision = trigger.Retracted, new(int64(9))
	b.Observe(near)
	near.Revision = new(int64(5))
	require.Equal(t, occurrence.ResultUnchanged, modeltest.RecordFinalTrack(t, b, near, far)[0].Result, "it was retracted later")
}

func TestOlderFinalTrackKeepsNewerFinalFixes(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	fix := modeltest.Fix("AL01", b.Now(), modeltest.Miami, "140")
	fix.Revision = new(int64(5))
	modeltest.RecordFinalTrack(t, b, fix)
	fix.Revision, fix.Measures = new(int64(3)), map[string]wire.Measure{"wind": {Value: "20", Unit: "kn"}}
	require.Equal(t, occurrence.ResultUnchanged, modeltest.RecordFinalTrack(t, b, fix)[0].Result)
}
