package model_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/hazard"
	"parapet/model/modeltest"
	"parapet/model/trigger"
	"parapet/model/wire"
)

// atSea is far from Miami.
var atSea = hazard.Point{Latitude: 20, Longitude: -60}

// preliminaryStorm is a policy with a claim that waits for a storm whose one
// preliminary fix near Miami pays and whose other one does not.
func preliminaryStorm(t *testing.T, b *modeltest.Bundle) (policy *wire.Policy, near, far wire.ObservationInput) {
	t.Helper()
	policy = b.Cover("cyclone-circle", nil)
	at := b.Now()
	b.After(betweenFixes)
	near, far = modeltest.Fix("AL01", at, miami, "140"), modeltest.Fix("AL01", at.Add(time.Hour), atSea, "40")
	near.Stage, far.Stage = trigger.Preliminary, trigger.Preliminary
	b.Observe(near, far)
	b.Work()
	require.Equal(t, "deferred", b.OnlyClaim(policy).Status)
	return policy, near, far
}

// finalTrack reports all fixes of a storm.
func finalTrack(t *testing.T, b *modeltest.Bundle, fixes ...wire.ObservationInput) []wire.ObservationResult {
	t.Helper()
	for i := range fixes {
		fixes[i].Stage = trigger.Final
	}
	results, err := b.Service.RecordFinalTrack(t.Context(), b.Source, fixes, false)
	require.NoError(t, err)
	return results
}

func TestAFinalTrackRetractsTheFixesThatItLacks(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, _, far := preliminaryStorm(t, b)
	finalTrack(t, b, far)
	b.Work()
	claim := b.OnlyClaim(policy)
	require.Equal(t, "declined", claim.Status)
	require.Equal(t, []string{"source_retracted"}, claim.Decision.ReasonCodes)
	require.Equal(t, "final", occurrenceStage(t, b, "AL01"))
	before := b.Rows()
	require.Equal(t, model.ResultUnchanged, finalTrack(t, b, far)[0].Result)
	b.Work()
	require.Equal(t, before, b.Rows())
}

func TestAFinalTrackDecidesAStormAtOnce(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	paid, near, far := preliminaryStorm(t, b)
	missed := b.Cover("cyclone-circle", nil)
	late := modeltest.Fix("AL01", b.Now(), miami, "70")
	late.Stage = trigger.Preliminary
	b.Observe(late)
	b.Work()
	require.Equal(t, "deferred", b.OnlyClaim(missed).Status)
	late.Measures = map[string]wire.Measure{"wind": {Value: "20", Unit: "kn"}}
	finalTrack(t, b, near, far, late)
	b.Work()
	require.Equal(t, "approved", b.OnlyClaim(paid).Status)
	require.Equal(t, "declined", b.OnlyClaim(missed).Status, "no fix is to come that could meet the trigger")
	require.Equal(t, []string{"threshold_not_met"}, b.OnlyClaim(missed).Decision.ReasonCodes)
}

func TestFixesReportedOneByOneAreATrackOnceItIsDeclaredFinal(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, _, far := preliminaryStorm(t, b)
	far.Stage = trigger.Final
	b.Observe(far)
	b.Work()
	require.Equal(t, "deferred", b.OnlyClaim(policy).Status)
	require.Equal(t, model.ResultUnchanged, finalTrack(t, b, far)[0].Result)
	b.Work()
	require.Equal(t, "declined", b.OnlyClaim(policy).Status)
}

func TestAnIncompleteTrackChangesNothing(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, near, far := preliminaryStorm(t, b)
	before := b.Rows()
	near.Measures = map[string]wire.Measure{"wind": {Value: "999", Unit: "kn"}}
	results := finalTrack(t, b, near, far)
	require.Equal(t, "/measures/wind/value", results[0].Errors[0].Pointer)
	require.Equal(t, model.ResultRejected, results[1].Result)
	require.Equal(t, model.TrackIncomplete, results[1].Errors[0].Code)
	b.Work()
	require.Equal(t, before, b.Rows())
	require.Equal(t, "preliminary", occurrenceStage(t, b, "AL01"))
	require.Equal(t, "deferred", b.OnlyClaim(policy).Status)
}

func TestAFinalTrackHoldsOneStormsFinalFixes(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	at := b.Now()
	one, other, preliminary := modeltest.Fix("AL01", at, miami, "140"), modeltest.Fix("AL02", at, miami, "140"), modeltest.Fix("AL01", at.Add(-time.Hour), miami, "140")
	preliminary.Stage = trigger.Preliminary
	for name, fixes := range map[string][]wire.ObservationInput{
		"two storms": {one, other}, "preliminary": {one, preliminary}, "a quake": {modeltest.Quake("us1", at, epicentre, "6.4")},
	} {
		_, err := b.Service.RecordFinalTrack(t.Context(), b.Source, fixes, false)
		require.Equal(t, []string{"/final_track"}, pointers(failure(t, err)), name)
	}
	results, err := b.Service.RecordFinalTracks(t.Context(), b.Source, []wire.ObservationInput{one, other})
	require.NoError(t, err)
	require.Equal(t, model.ResultCreated, results[1].Result, "a feed reads several storms, each whole")
}

func TestAFixAfterTheFinalTrack(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	_, near, far := preliminaryStorm(t, b)
	finalTrack(t, b, far)
	near.Stage, near.Revision = trigger.Preliminary, new(int64(9))
	results, err := b.Service.RecordObservations(t.Context(), b.Source, []wire.ObservationInput{near}, false)
	require.NoError(t, err)
	require.Equal(t, "superseded", results[0].Errors[0].Code)
	near.Stage = trigger.Final
	require.Equal(t, model.ResultRevised, b.Observe(near)[0].Result, "a correction is news")
	other := modeltest.Fix("AL02", b.Now(), miami, "70")
	other.Stage = trigger.Preliminary
	require.Equal(t, model.ResultCreated, b.Observe(other)[0].Result)
}

func TestAFinalTrackLeavesOtherFixesAlone(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	_, near, far := preliminaryStorm(t, b)
	stands := modeltest.Fix("AL01", near.OccurredAt.Add(time.Minute), miami, "70")
	other := modeltest.Fix("AL02", near.OccurredAt, miami, "70")
	other.Stage = trigger.Preliminary
	b.Observe(stands, other)
	_, _, err := b.Service.RecordObservation(t.Context(), b.Acme, near, true)
	require.NoError(t, err)
	finalTrack(t, b, far)
	var retracted int
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select count(*) from observations where stage = 'retracted'").Scan(&retracted))
	require.Equal(t, 1, retracted, "final fixes, other storms and rehearsals stay")
}

func TestAFinalTrackReplacesPreliminaryFixesOfNewerRevisions(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.Cover("cyclone-circle", nil)
	fix := modeltest.Fix("AL01", b.Now(), miami, "140")
	b.After(betweenFixes)
	fix.Stage, fix.Revision = trigger.Preliminary, new(int64(5))
	b.Observe(fix)
	b.Work()
	require.Equal(t, "deferred", b.OnlyClaim(policy).Status)
	fix.Revision = new(int64(3))
	require.Equal(t, model.ResultRevised, finalTrack(t, b, fix)[0].Result)
	b.Work()
	require.Equal(t, "final", occurrenceStage(t, b, "AL01"))
	require.Equal(t, "approved", b.OnlyClaim(policy).Status)
}

func TestAFinalTrackBringsBackAFixThatAnotherOneLacked(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.Cover("cyclone-circle", nil)
	at := b.Now()
	b.After(betweenFixes)
	near, far := modeltest.Fix("AL01", at, miami, "140"), modeltest.Fix("AL01", at.Add(time.Hour), atSea, "40")
	near.Stage, near.Revision, far.Stage = trigger.Preliminary, new(int64(5)), trigger.Preliminary
	b.Observe(near, far)
	finalTrack(t, b, far)
	b.Work()
	require.Empty(t, b.Claims(policy))
	require.Equal(t, model.ResultRevised, finalTrack(t, b, near, far)[0].Result)
	b.Work()
	require.Equal(t, "approved", b.OnlyClaim(policy).Status)

	near.Stage, near.Revision = trigger.Retracted, new(int64(9))
	b.Observe(near)
	near.Revision = new(int64(5))
	require.Equal(t, model.ResultUnchanged, finalTrack(t, b, near, far)[0].Result, "it was retracted later")
}

func TestAnEarlierFinalTrackDoesNotReplaceFinalFixes(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	fix := modeltest.Fix("AL01", b.Now(), miami, "140")
	fix.Revision = new(int64(5))
	finalTrack(t, b, fix)
	fix.Revision, fix.Measures = new(int64(3)), map[string]wire.Measure{"wind": {Value: "20", Unit: "kn"}}
	require.Equal(t, model.ResultUnchanged, finalTrack(t, b, fix)[0].Result)
}
