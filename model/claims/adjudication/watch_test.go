package adjudication_test

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/model/events"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// watches returns the number of covers that each watch of a partner announced.
func watches(t *testing.T, b *modeltest.Bundle, who actor.Actor) (covers []int64) {
	t.Helper()
	b.Relay()
	page, err := b.Service.Events.List(t.Context(), who, events.Filter{Types: []event.Type{event.OccurrenceWatch}}, store.PageRequest{Limit: 100})
	require.NoError(t, err)
	for _, e := range page.Data {
		var data wire.OccurrenceWatch
		require.NoError(t, json.Unmarshal(e.Data, &data))
		require.Equal(t, "occurrence", e.Subject.Type)
		require.Equal(t, data.Object.ID, e.Subject.ID)
		require.Equal(t, data.Object.Version, e.Subject.Version)
		covers = append(covers, data.Covers)
	}
	return covers
}

// bindAt binds policies at places and returns when the last one began.
func bindAt(b *modeltest.Bundle, latitudes ...float64) {
	for _, latitude := range latitudes {
		b.QuoteAndBind("quake-circle", modeltest.Context{"location": map[string]any{"latitude": latitude, "longitude": modeltest.Epicentre.Longitude}})
	}
}

// A partner hears once of an occurrence that comes within reach of its covers, and again
// when their number has doubled.
func TestWatchIsSentOnceAndWhenCoversDouble(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.Service.Adjudication.SetSliceSize(2)
	at := modeltest.Epicentre.Latitude
	bindAt(b, at, at, at, at+0.5, at+0.5, at+2)
	report := modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "5.9") // nearly meets the threshold 6
	report.Stage = trigger.Preliminary
	observe := func(magnitude string, latitude float64) {
		report.Measures["magnitude"] = wire.Measure{Value: magnitude, Unit: "mw"}
		report.Location.Latitude = latitude
		b.AdvanceClock(time.Minute)
		report.OccurredAt = b.Now()
		b.Observe(report)
		b.RunJobs()
	}
	observe("5.4", at)
	require.Empty(t, watches(t, b, b.Acme), "0.6 below the threshold")
	observe("5.5", at)
	require.Equal(t, []int64{3}, watches(t, b, b.Acme))
	bindAt(b, at)
	observe("6.6", at)
	require.Equal(t, []int64{3}, watches(t, b, b.Acme), "four covers are not twice as many")
	observe("6.6", at+0.25)
	require.Equal(t, []int64{3, 6}, watches(t, b, b.Acme))
	observe("6.7", at+0.25)
	require.Equal(t, []int64{3, 6}, watches(t, b, b.Acme))
	require.Empty(t, watches(t, b, b.Globex))
}

// Final values decide: there is nothing to watch.
func TestFinalReadingsAreNotWatched(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	modeltest.ObserveQuake(b, "us1", "6.6", trigger.Final)
	require.Equal(t, "approved", b.OnlyClaim(policy).Status)
	require.Empty(t, watches(t, b, b.Acme))
}

// A source that the terms do not name puts no cover within reach.
func TestUnnamedSourceIsNotWatched(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.PublishMeasured("quake-circle", modeltest.OneSource("usgs", "final"), 9)
	b.QuoteAndBind("quake-circle", nil)
	for _, source := range []string{"emsc", "usgs"} {
		require.Empty(t, watches(t, b, b.Acme))
		report := quakeFrom(source, source+"-1", b.Now())
		report.Stage = trigger.Preliminary
		b.Observe(report)
		b.RunJobs()
	}
	require.Equal(t, []int64{1}, watches(t, b, b.Acme))
}
