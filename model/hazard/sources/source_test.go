package sources_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/sources"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

var hualien = hazard.Point{Latitude: 23.98, Longitude: 121.61}

func quakeOf(b *modeltest.Bundle, source, id string) wire.ObservationInput {
	in := modeltest.Quake(id, b.Now(), hualien, "6.4")
	in.Source = source
	return in
}

// observe records one observation, which may be rejected.
func observe(t *testing.T, b *modeltest.Bundle, in wire.ObservationInput) wire.ObservationResult {
	t.Helper()
	results, err := b.Service.Occurrences.RecordObservations(t.Context(), b.Source, []wire.ObservationInput{in}, false)
	require.NoError(t, err)
	return results[0]
}

func jmaRequest() sources.Request {
	return sources.Request{Name: "jma-net", Perils: []hazard.Peril{trigger.Earthquake}, Stages: []trigger.Stage{trigger.Preliminary, trigger.Final}, Enabled: new(true)}
}

func TestObservationsOfUnregisteredSourcesAreRefused(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	result := observe(t, b, quakeOf(b, "jma-net", "q1"))
	require.Equal(t, occurrence.ResultRejected, result.Result)
	require.Equal(t, "/source", result.Errors[0].Pointer)
	require.Equal(t, "unknown", result.Errors[0].Code)
	require.Contains(t, result.Errors[0].Detail, "registerSource")

	_, err := b.Service.Sources.Register(t.Context(), b.Operator, jmaRequest())
	require.NoError(t, err)
	require.Equal(t, occurrence.ResultCreated, observe(t, b, quakeOf(b, "jma-net", "q1")).Result)
	for change, faulty := range map[string]func(*sources.Request){
		"/source": func(r *sources.Request) { r.Enabled = new(false) },
		"/kind":   func(r *sources.Request) { r.Perils = []hazard.Peril{trigger.Rainfall, trigger.Temperature} },
		"/stage":  func(r *sources.Request) { r.Stages = []trigger.Stage{trigger.Preliminary} },
	} {
		in := jmaRequest()
		faulty(&in)
		_, err := b.Service.Sources.Register(t.Context(), b.Operator, in)
		require.NoError(t, err)
		result := observe(t, b, quakeOf(b, "jma-net", "q2"))
		require.Equal(t, occurrence.ResultRejected, result.Result, change)
		require.Equal(t, change, result.Errors[0].Pointer)
	}
}

func TestProductionKnowsRegisteredSourcesOnly(t *testing.T) {
	t.Parallel()
	for name, accepted := range map[string]map[bool]bool{"jma": {true: true, false: false}, "usgs": {true: true, false: true}} {
		for development, want := range accepted {
			var with []modeltest.Option
			if !development {
				with = append(with, modeltest.InProduction())
			}
			b := modeltest.New(t, with...)
			require.Equal(t, want, observe(t, b, quakeOf(b, name, "q1")).Result == occurrence.ResultCreated, "%s %t", name, development)
		}
	}
}

func TestTokenOfARegisteredSubjectMayReport(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.InProduction())
	in := jmaRequest()
	in.TokenSubjects = []string{"jma-feed"}
	_, err := b.Service.Sources.Register(t.Context(), b.Operator, in)
	require.NoError(t, err)
	for subject, want := range map[string]string{"jma-feed": occurrence.ResultCreated, "other": occurrence.ResultRejected} {
		caller := b.Source
		caller.AnySource, caller.Sources, caller.Subject = false, []string{"jma-net", "unregistered"}, subject
		got, err := b.Service.Occurrences.RecordObservations(t.Context(), caller, []wire.ObservationInput{quakeOf(b, "jma-net", "q1"), quakeOf(b, "unregistered", "q1")}, false)
		require.NoError(t, err)
		require.Equal(t, want, got[0].Result, subject)
		require.Equal(t, "unknown", got[1].Errors[0].Code, "a claim of a token does not register a source")
	}
}

func TestRegistrationIsRepeatable(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	in := jmaRequest()
	first, err := b.Service.Sources.Register(t.Context(), b.Operator, in)
	require.NoError(t, err)
	again, err := b.Service.Sources.Register(t.Context(), b.Operator, in)
	require.NoError(t, err)
	require.Equal(t, first, again)
	in.Enabled = new(false)
	changed, err := b.Service.Sources.Register(t.Context(), b.Operator, in)
	require.NoError(t, err)
	require.Equal(t, int64(2), changed.Version)
	require.False(t, changed.Enabled)

	for _, caller := range []actor.Actor{b.Acme, b.Source} {
		_, err := b.Service.Sources.Register(t.Context(), caller, in)
		require.Equal(t, apperr.CodeInsufficientScope, apperr.CodeOf(err))
	}
	_, err = b.Service.Sources.Register(t.Context(), b.Operator, sources.Request{Name: "A", Stages: []trigger.Stage{trigger.Retracted}, Perils: []hazard.Peril{"flood"}, TokenSubjects: []string{""}})
	require.Equal(t, []string{"/name", "/perils/0", "/stages/0", "/token_subjects/0"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
}

func TestMembersThatAreNotGivenKeepTheirValues(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	register := func(in sources.Request) *wire.Source {
		in.Name = "jma-net"
		source, err := b.Service.Sources.Register(t.Context(), b.Operator, in)
		require.NoError(t, err)
		return source
	}
	quakes := []hazard.Peril{trigger.Earthquake}
	first := register(sources.Request{Perils: quakes})
	require.Equal(t, []string{"preliminary", "final"}, first.Stages)
	require.Empty(t, first.TokenSubjects)
	require.True(t, first.Enabled)
	register(sources.Request{Perils: quakes, Stages: []trigger.Stage{trigger.Final}, TokenSubjects: []string{"jma-feed"}, Enabled: new(false)})
	kept := register(sources.Request{Perils: append(quakes, trigger.Windstorm)})
	require.Equal(t, []string{"earthquake", "windstorm"}, kept.Perils)
	require.Equal(t, []string{"final"}, kept.Stages)
	require.Equal(t, []string{"jma-feed"}, kept.TokenSubjects)
	require.False(t, kept.Enabled)
	require.Equal(t, int64(3), kept.Version)
	require.Equal(t, kept, register(sources.Request{Perils: append(quakes, trigger.Windstorm)}), "the same again")
	opened := register(sources.Request{Perils: quakes, TokenSubjects: []string{}, Enabled: new(true)})
	require.Empty(t, opened.TokenSubjects)
	require.True(t, opened.Enabled)
	require.Equal(t, []string{"final"}, opened.Stages)
	_, err := b.Service.Sources.Register(t.Context(), b.Operator, sources.Request{Name: "jma-net", Perils: quakes, Stages: []trigger.Stage{}})
	require.Equal(t, []string{"/stages"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
}

func TestHealthShowsReadingsOutagesAndWaitingPolicies(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	get := func(caller actor.Actor, name string) *wire.Source {
		source, err := b.Service.Sources.Get(t.Context(), caller, name)
		require.NoError(t, err)
		return source
	}
	require.Nil(t, get(b.Acme, "usgs").LastReadingAt)
	policy := b.QuoteAndBind("quake-circle", nil)
	b.AdvanceClock(time.Minute)
	modeltest.ObserveQuake(b, "q1", "6.6", trigger.Preliminary)
	require.Len(t, b.Claims(policy), 1)
	b.AdvanceClock(time.Hour)
	seen := get(b.Acme, "usgs")
	require.NotNil(t, seen.LastReadingAt)
	require.InDelta(t, 3600, *seen.AgeSeconds, 60)
	require.Equal(t, int64(1), seen.PoliciesWaiting)
	require.Zero(t, get(b.Globex, "usgs").PoliciesWaiting, "other partners' policies are not counted")
	require.Equal(t, int64(1), get(b.Operator, "usgs").PoliciesWaiting)

	poll := occurrence.FeedPoll{Source: "usgs", URL: "https://feeds.test/quakes", Failures: 1}
	failing := b.Now()
	require.NoError(t, b.Service.Occurrences.SavePoll(t.Context(), poll, time.Minute))
	b.AdvanceClock(time.Hour)
	poll.Failures = 2
	require.NoError(t, b.Service.Occurrences.SavePoll(t.Context(), poll, time.Minute))
	require.WithinDuration(t, failing, *get(b.Acme, "usgs").OutageSince, time.Minute)
	poll.Failures = 0
	require.NoError(t, b.Service.Occurrences.SavePoll(t.Context(), poll, time.Minute))
	require.Nil(t, get(b.Acme, "usgs").OutageSince)
}

func TestOutagesOfTheCurrentFeedsOnly(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	outage := func() *time.Time {
		source, err := b.Service.Sources.Get(t.Context(), b.Acme, "usgs")
		require.NoError(t, err)
		return source.OutageSince
	}
	poll := occurrence.FeedPoll{Source: "usgs", URL: "https://feeds.test/quakes", Failures: 1}
	require.NoError(t, b.Service.Occurrences.SavePoll(t.Context(), poll, time.Minute))
	require.NotNil(t, outage())
	_, err := b.DB.Pool.Exec(t.Context(), "update feed_polls set failures = 0") // as an older release does after a success
	require.NoError(t, err)
	require.Nil(t, outage(), "the poll succeeded")
	b.AdvanceClock(time.Hour)
	require.NoError(t, b.Service.Occurrences.SavePoll(t.Context(), poll, time.Minute))
	require.WithinDuration(t, b.Now(), *outage(), time.Minute, "a new outage")
	b.AdvanceClock(time.Hour)
	require.NotNil(t, outage())
	b.AdvanceClock(2 * time.Minute)
	require.Nil(t, outage(), "the address is not polled any more")
}

func TestMonthsWithMissingDaysWaitForTheirSource(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	waiting := func(caller actor.Actor) int64 {
		source, err := b.Service.Sources.Get(t.Context(), caller, "ghcn")
		require.NoError(t, err)
		return source.PoliciesWaiting
	}
	require.Zero(t, waiting(b.Acme))
	policy := b.QuoteAndBind("rain-deficit", nil)
	b.AdvanceClock(100 * 24 * time.Hour)
	first := trigger.Month.FirstFrom(policy.EffectiveAt)
	values := slices.Repeat([]string{"0"}, int(first.AddDate(0, 1, 0).Sub(first)/(24*time.Hour))+1) // and the day after the month
	values[0], values[9] = "5", "-"
	modeltest.ObserveRain(b, policy, first, values...)
	require.Equal(t, []string{"evidence_needed"}, b.OnlyClaim(policy).Decision.ReasonCodes)
	require.Zero(t, waiting(b.Globex))
	require.Equal(t, int64(1), waiting(b.Acme))
	require.Equal(t, int64(1), waiting(b.Operator))
	modeltest.ObserveRain(b, policy, first.AddDate(0, 0, 9), "2")
	require.Equal(t, "approved", b.OnlyClaim(policy).Status)
	b.AdvanceClock(10 * time.Second)
	require.Zero(t, waiting(b.Acme))
}

func TestOnlyOperatorsSeeTokenSubjects(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	in := jmaRequest()
	in.TokenSubjects = []string{"b", "a", "b"}
	_, err := b.Service.Sources.Register(t.Context(), b.Operator, in)
	require.NoError(t, err)
	for caller, want := range map[*actor.Actor][]string{&b.Operator: {"a", "b"}, &b.Acme: {}} {
		page, err := b.Service.Sources.List(t.Context(), *caller, store.PageRequest{})
		require.NoError(t, err)
		require.Len(t, page.Data, 5)
		require.Equal(t, want, page.Data[2].TokenSubjects, page.Data[2].Name)
	}
	for _, name := range []string{"nosuch", "\xff", ""} {
		_, err := b.Service.Sources.Get(t.Context(), b.Acme, name)
		require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(err))
	}
}
