package occurrence_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

func TestAWrongObservationIsRejectedAloneWithEveryReason(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	now := b.Now()
	for name, tc := range map[string]struct {
		spoil    func(*wire.ObservationInput)
		pointers []string
	}{
		"future":          {func(in *wire.ObservationInput) { in.OccurredAt = now.Add(time.Hour) }, []string{"/occurred_at"}},
		"no time":         {func(in *wire.ObservationInput) { in.OccurredAt = time.Time{} }, []string{"/occurred_at"}},
		"unknown measure": {func(in *wire.ObservationInput) { in.Measures["colour"] = wire.Measure{Value: "1", Unit: "km"} }, []string{"/measures/colour"}},
		"wrong unit":      {func(in *wire.ObservationInput) { in.Measures["depth"] = wire.Measure{Value: "1", Unit: "miles"} }, []string{"/measures/depth/unit"}},
		"unknown scale": {func(in *wire.ObservationInput) {
			in.Measures["magnitude"] = wire.Measure{Value: "6.4", Unit: "richter"}
		}, []string{"/measures/magnitude/unit"}},
		"no number":            {func(in *wire.ObservationInput) { in.Measures["depth"] = wire.Measure{Value: "1e3", Unit: "km"} }, []string{"/measures/depth/value"}},
		"impossible magnitude": {func(in *wire.ObservationInput) { in.Measures["magnitude"] = wire.Measure{Value: "12", Unit: "mw"} }, []string{"/measures/magnitude/value"}},
		"no magnitude":         {func(in *wire.ObservationInput) { delete(in.Measures, "magnitude") }, []string{"/measures/magnitude"}},
		"no location":          {func(in *wire.ObservationInput) { in.Location = nil }, []string{"/location"}},
		"beyond the pole":      {func(in *wire.ObservationInput) { in.Location = &hazard.Point{Latitude: 91, Longitude: -181} }, []string{"/location/latitude", "/location/longitude"}},
		"a quake's station":    {func(in *wire.ObservationInput) { in.Station = "Seattle" }, []string{"/station"}},
		"no names":             {func(in *wire.ObservationInput) { in.Source, in.SourceEventID = "USGS!", "" }, []string{"/source", "/source_event_id"}},
		"long alias":           {func(in *wire.ObservationInput) { in.Aliases = []string{"x", strings.Repeat("x", 129)} }, []string{"/aliases/1"}},
		"kind and stage":       {func(in *wire.ObservationInput) { in.Kind, in.Stage = "flood", "rumour" }, []string{"/kind", "/stage"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spoiled := modeltest.Quake("us1", now, modeltest.Epicentre, "6.4")
			tc.spoil(&spoiled)
			results, err := b.Service.Occurrences.RecordObservations(t.Context(), b.Source, []wire.ObservationInput{spoiled, modeltest.Quake("ok", now, modeltest.Hualien, "5")}, false)
			require.NoError(t, err)
			require.Equal(t, occurrence.ResultRejected, results[0].Result)
			require.Nil(t, results[0].ID)
			require.NotEqual(t, occurrence.ResultRejected, results[1].Result)
			require.ElementsMatch(t, tc.pointers, modeltest.FieldPointers(&apperr.Error{Fields: results[0].Errors}))
		})
	}
}

func TestWhoMayObserve(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	in := modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4")
	observe := func(actor actor.Actor) error {
		_, _, err := b.Service.Occurrences.RecordObservation(t.Context(), actor, in, false)
		return err
	}
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, observe(b.Acme)).Code)
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, observe(b.Operator)).Code)
	noaa := b.Source
	noaa.AnySource, noaa.Sources = false, []string{"nhc"}
	refusal := modeltest.DomainError(t, observe(noaa))
	require.Equal(t, apperr.CodeInsufficientScope, refusal.Code)
	require.Equal(t, []string{"nhc"}, refusal.Extra["sources"])
	results, err := b.Service.Occurrences.RecordObservations(t.Context(), noaa, []wire.ObservationInput{in}, false)
	require.NoError(t, err)
	require.Equal(t, []string{"/source"}, modeltest.FieldPointers(&apperr.Error{Fields: results[0].Errors}))
	noaa.Sources = nil
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, observe(noaa)).Code)
	noaa.Sources = []string{"usgs"}
	require.NoError(t, observe(noaa))
}

// A magnitude counts in the scale that its source prefers, and the determination names
// that scale; the threshold keeps the policy's scale.
func TestADeterminationNamesTheScaleThatWasMeasured(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for _, tc := range []struct{ magnitude, code string }{{"6.4", ""}, {"5.9", string(apperr.CodeTriggerNotMet)}} {
		policy := b.QuoteAndBind("quake-circle", nil)
		quake := modeltest.Quake("us"+tc.magnitude, b.Now(), modeltest.Epicentre, tc.magnitude)
		quake.Measures["magnitude"] = wire.Measure{Value: tc.magnitude, Unit: "mb"}
		b.Observe(quake)
		claim, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, modeltest.NewSourceEventClaim(policy, "usgs", quake.SourceEventID))
		if tc.code == "" {
			require.NoError(t, err)
			require.Equal(t, wire.Measure{Value: "6.4", Unit: "mb"}, *claim.Determination.Index)
			require.Equal(t, "mw", claim.Determination.Threshold.Unit)
			continue
		}
		refusal := modeltest.DomainError(t, err)
		require.Equal(t, tc.code, string(refusal.Code))
		require.Equal(t, &wire.Measure{Value: "5.9", Unit: "mb"}, refusal.Extra["index"])
		require.Contains(t, refusal.Detail, "the index 5.9 mb misses the threshold 6.0 mw by 0.1")
	}
}

func TestFutureObservationIsRejected(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	at := b.Now().Add(time.Minute)
	for _, stage := range []trigger.Stage{trigger.Preliminary, trigger.Final} {
		report := modeltest.Quake("us1", at, modeltest.Epicentre, "6.4")
		report.Stage = stage
		_, _, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Source, report, false)
		fields := modeltest.DomainError(t, err).Fields
		require.Len(t, fields, 1)
		require.Equal(t, "/occurred_at", fields[0].Pointer)
		require.Equal(t, "future", fields[0].Code)
	}
	b.AdvanceClock(time.Minute)
	b.Observe(modeltest.Quake("us1", at, modeltest.Epicentre, "6.4"))
}
