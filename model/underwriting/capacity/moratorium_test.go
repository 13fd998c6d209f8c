package capacity_test

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/underwriting"
	"parapet/model/underwriting/capacity"
	"parapet/model/wire"
)

// guarded returns a service with the shipped moratorium rules.
func guarded(t *testing.T, with ...modeltest.Option) *modeltest.Bundle {
	t.Helper()
	b := modeltest.New(t, with...)
	require.NoError(t, b.Service.Capacity.ApplyShippedMoratoriumRules(t.Context(), true))
	return b
}

// refusal returns the moratorium that rejects binding a new quote, nil when it is bound.
// It checks that the quote showed the same moratorium before.
func refusal(t *testing.T, b *modeltest.Bundle, product string, context modeltest.Context) *wire.QuoteMoratorium {
	t.Helper()
	quote := b.Quote(product, context)
	read := modeltest.Must(b.Service.Quotes.Get(t.Context(), b.Acme, quote.ID))
	require.Equal(t, quote.Moratorium, read.Moratorium)
	_, err := b.Service.Policies.Bind(t.Context(), b.Acme, underwriting.BindRequest{QuoteID: quote.ID})
	if quote.Moratorium == nil {
		require.NoError(t, err)
		return nil
	}
	refused := modeltest.DomainError(t, err)
	require.Equal(t, apperr.CodeMoratoriumActive, refused.Code)
	require.Contains(t, refused.Detail, quote.Moratorium.Reason)
	require.Contains(t, refused.Detail, quote.Moratorium.EndsAt.Format(time.RFC3339))
	return quote.Moratorium
}

// north returns the point a number of kilometres north of another: a degree of latitude
// has the same length everywhere on a sphere.
func north(from hazard.Point, km float64) hazard.Point {
	degree := hazard.Distance(hazard.Point{}, hazard.Point{Latitude: 1})
	return hazard.Point{Latitude: from.Latitude + km/degree, Longitude: from.Longitude}
}

// insured returns the place of a product's default cover.
func insured(b *modeltest.Bundle, product string) (hazard.Point, float64) {
	place := b.Quote(product, nil).Cover.Place
	return hazard.Point{Latitude: place.Latitude, Longitude: place.Longitude}, place.RadiusKM
}

func TestQuakeOfMagnitudeSixClosesSalesForThreeDays(t *testing.T) {
	t.Parallel()
	b := guarded(t)
	centre, radius := insured(b, "quake-circle")
	b.Observe(modeltest.Quake("weak", b.Now(), centre, "5.9"))
	require.Nil(t, refusal(t, b, "quake-circle", nil), "just too weak")
	b.Observe(modeltest.Quake("far", b.Now(), north(centre, 300+radius+0.5), "8"))
	require.Nil(t, refusal(t, b, "quake-circle", nil), "just too far")
	b.Observe(modeltest.Quake("old", b.Now().Add(-72*time.Hour), centre, "8"))
	require.Nil(t, refusal(t, b, "quake-circle", nil), "just too old")

	at := b.Now()
	b.Observe(modeltest.Quake("near", at, north(centre, 300+radius-0.5), "6.0"))
	closed := refusal(t, b, "quake-circle", nil)
	require.NotNil(t, closed, "just strong and near enough")
	require.WithinDuration(t, at.Add(72*time.Hour), closed.EndsAt, time.Millisecond)
	require.Contains(t, closed.Reason, "near of usgs")
	require.Nil(t, refusal(t, b, "cyclone-circle", nil), "another peril")

	require.NotNil(t, refusal(t, b, "quake-circle", modeltest.Context{"starts_at": closed.EndsAt.Add(-time.Microsecond)}), "it starts before the end")
	require.Nil(t, refusal(t, b, "quake-circle", modeltest.Context{"starts_at": closed.EndsAt}), "it starts at the end")
	b.AdvanceClock(closed.EndsAt.Sub(b.Now()) - time.Minute)
	require.NotNil(t, refusal(t, b, "quake-circle", nil))
	b.AdvanceClock(time.Minute)
	require.Nil(t, refusal(t, b, "quake-circle", nil))
}

func TestStormClosesSalesAroundEachFixFor48Hours(t *testing.T) {
	t.Parallel()
	b := guarded(t)
	centre, radius := insured(b, "cyclone-circle")
	at := b.Now()
	breeze := modeltest.Fix("AL01", at, north(centre, 1_000+radius-0.5), "20")
	b.Observe(breeze)
	closed := refusal(t, b, "cyclone-circle", nil)
	require.NotNil(t, closed, "at any wind speed")
	require.WithinDuration(t, at.Add(48*time.Hour), closed.EndsAt, time.Millisecond)
	require.Nil(t, refusal(t, b, "quake-circle", nil), "another peril")

	b.AdvanceClock(12 * time.Hour)
	b.Observe(modeltest.Fix("AL01", b.Now(), north(centre, 1_000+radius+0.5), "120"))
	after := refusal(t, b, "cyclone-circle", nil)
	require.NotNil(t, after, "an older fix still closes the places near it")
	require.WithinDuration(t, closed.EndsAt, after.EndsAt, time.Millisecond, "until its own end")
	b.AdvanceClock(closed.EndsAt.Sub(b.Now()) + time.Second)
	require.Nil(t, refusal(t, b, "cyclone-circle", nil), "the later fix is just too far")
	listed := modeltest.Must(b.Service.Capacity.ListMoratoria(t.Context(), b.Acme, false, store.PageRequest{})).Data
	require.Len(t, listed, 1, "the storm's own moratorium continues elsewhere")

	pressure := modeltest.Fix("AL02", b.Now(), centre, "20")
	pressure.Measures = map[string]wire.Measure{"pressure": {Value: "990", Unit: "hPa"}}
	b.Observe(pressure)
	require.NotNil(t, refusal(t, b, "cyclone-circle", nil), "a fix without wind counts")
}

func TestRevisedReadingOpensSalesAgain(t *testing.T) {
	t.Parallel()
	b := guarded(t)
	centre, _ := insured(b, "quake-circle")
	quake := modeltest.Quake("us1", b.Now(), centre, "6.1")
	b.Observe(quake)
	require.NotNil(t, refusal(t, b, "quake-circle", nil))
	quake.Measures = map[string]wire.Measure{"magnitude": {Value: "5.8", Unit: "mw"}}
	b.Observe(quake)
	require.Nil(t, refusal(t, b, "quake-circle", nil), "it was weaker")
	quake.Measures = map[string]wire.Measure{"magnitude": {Value: "6.3", Unit: "mw"}}
	b.Observe(quake)
	require.NotNil(t, refusal(t, b, "quake-circle", nil), "it was stronger")

	miami, _ := insured(b, "cyclone-circle")
	fix := modeltest.Fix("AL01", b.Now(), miami, "60")
	b.Observe(fix)
	require.NotNil(t, refusal(t, b, "cyclone-circle", nil))
	far := north(miami, 3_000)
	fix.Location = &far
	b.Observe(fix)
	require.Nil(t, refusal(t, b, "cyclone-circle", nil), "it was elsewhere")
}

func TestRetractedReadingOpensSalesAgain(t *testing.T) {
	t.Parallel()
	b := guarded(t)
	centre, _ := insured(b, "quake-circle")
	b.Observe(modeltest.Quake("us1", b.Now(), centre, "6.1"))
	require.NotNil(t, refusal(t, b, "quake-circle", nil))
	b.Observe(modeltest.NewRetraction("us1"))
	require.Nil(t, refusal(t, b, "quake-circle", nil), "there was none")

	miami, _ := insured(b, "cyclone-circle")
	near, far := modeltest.Fix("AL01", b.Now(), miami, "60"), modeltest.Fix("AL01", b.Now().Add(-time.Hour), north(miami, 3_000), "60")
	near.Stage = trigger.Preliminary
	b.Observe(near, far)
	require.NotNil(t, refusal(t, b, "cyclone-circle", nil))
	modeltest.RecordFinalTrack(t, b, far)
	require.Nil(t, refusal(t, b, "cyclone-circle", nil), "the final track has no fix near it")
	near.Measures["wind"] = wire.Measure{Value: "61", Unit: "kn"}
	near.Stage = trigger.Final
	b.Observe(near)
	require.NotNil(t, refusal(t, b, "cyclone-circle", nil), "it was reported again")
}

func TestSandboxObservationsCloseNoSales(t *testing.T) {
	t.Parallel()
	b := guarded(t)
	centre, _ := insured(b, "quake-circle")
	results, err := b.Service.Occurrences.RecordObservations(t.Context(), b.Acme, []wire.ObservationInput{modeltest.Quake("drill", b.Now(), centre, "7")}, true)
	require.NoError(t, err)
	require.Equal(t, occurrence.ResultCreated, results[0].Result)
	require.Nil(t, refusal(t, b, "quake-circle", nil))
	require.Empty(t, modeltest.Must(b.Service.Capacity.ListMoratoria(t.Context(), b.Operator, true, store.PageRequest{})).Data)
}

func TestShippedRulesYieldToOperatorsAndCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	centre, _ := insured(b, "quake-circle")
	b.Observe(modeltest.Quake("us1", b.Now(), centre, "7"))
	require.Nil(t, refusal(t, b, "quake-circle", nil), "no rules by default")
	require.NoError(t, b.Service.Capacity.ApplyShippedMoratoriumRules(t.Context(), true))
	require.NotNil(t, refusal(t, b, "quake-circle", nil), "recent observations count at once")
	rules := modeltest.Must(b.Service.Capacity.ListMoratoriumRules(t.Context(), b.Operator))
	require.Len(t, rules, 2)
	require.Equal(t, "parapet", rules[0].Author)

	require.NoError(t, b.Service.Capacity.ApplyShippedMoratoriumRules(t.Context(), false))
	require.Nil(t, refusal(t, b, "quake-circle", nil))
	require.Empty(t, modeltest.Must(b.Service.Capacity.ListMoratoriumRules(t.Context(), b.Operator)))

	set := func(rule *capacity.MoratoriumRule) {
		_, err := b.Service.Capacity.SetMoratoriumRule(t.Context(), b.Operator, capacity.MoratoriumRuleRequest{Kind: trigger.Earthquake, Rule: rule})
		require.NoError(t, err)
	}
	set(&capacity.MoratoriumRule{Minimum: decimal.NewFromInt(8), RadiusKM: 10, Lasts: "PT1H"})
	require.NoError(t, b.Service.Capacity.ApplyShippedMoratoriumRules(t.Context(), true))
	require.Equal(t, "8", modeltest.Must(b.Service.Capacity.ListMoratoriumRules(t.Context(), b.Operator))[0].Minimum.String(), "an operator's rule stays")
	require.Nil(t, refusal(t, b, "quake-circle", nil))
	set(nil)
	require.NoError(t, b.Service.Capacity.ApplyShippedMoratoriumRules(t.Context(), true))
	rules = modeltest.Must(b.Service.Capacity.ListMoratoriumRules(t.Context(), b.Operator))
	require.Len(t, rules, 1, "a rule that an operator removed stays removed")
	require.Equal(t, "windstorm", rules[0].Kind)
	require.Nil(t, refusal(t, b, "quake-circle", nil))
}

func TestLiftedMoratoriumStaysLifted(t *testing.T) {
	t.Parallel()
	b := guarded(t)
	centre, _ := insured(b, "cyclone-circle")
	b.Observe(modeltest.Fix("AL01", b.Now(), centre, "60"))
	require.NotNil(t, refusal(t, b, "cyclone-circle", nil))
	standing := modeltest.Must(b.Service.Capacity.ListMoratoria(t.Context(), b.Operator, false, store.PageRequest{})).Data
	require.Len(t, standing, 1)
	modeltest.Must(b.Service.Capacity.LiftMoratorium(t.Context(), b.Operator, standing[0].ID))
	require.Nil(t, refusal(t, b, "cyclone-circle", nil))
	b.AdvanceClock(time.Hour)
	b.Observe(modeltest.Fix("AL01", b.Now(), centre, "70"))
	require.Nil(t, refusal(t, b, "cyclone-circle", nil))
}

func TestQuoteShowsTheMoratoriumAsLongAsItCanBeBound(t *testing.T) {
	t.Parallel()
	b := guarded(t)
	quote, other := b.Quote("quake-circle", nil), b.Quote("quake-circle", nil)
	require.Nil(t, quote.Moratorium)
	b.Bind(other)
	centre := hazard.Point{Latitude: quote.Cover.Place.Latitude, Longitude: quote.Cover.Place.Longitude}
	b.Observe(modeltest.Quake("us1", b.Now(), centre, "6.4"))
	read := func(id string) *wire.Quote { return modeltest.Must(b.Service.Quotes.Get(t.Context(), b.Acme, id)) }
	require.NotNil(t, read(quote.ID).Moratorium, "it came after the quote")
	require.Nil(t, read(other.ID).Moratorium, "it is bound")
	listed := modeltest.Must(b.Service.Quotes.List(t.Context(), b.Acme, store.Filter{}, store.PageRequest{})).Data
	require.Len(t, listed, 2)
	for _, q := range listed {
		require.Equal(t, q.ID == quote.ID, q.Moratorium != nil)
	}
	caller := b.Acme
	caller.Precondition = actor.RequireVersion(quote.ID, quote.Version)
	_, err := b.Service.Policies.Bind(t.Context(), caller, underwriting.BindRequest{QuoteID: quote.ID})
	require.Equal(t, apperr.CodeMoratoriumActive, apperr.CodeOf(err))

	b.AdvanceClock(25 * time.Hour)
	b.Sweep()
	require.Equal(t, "expired", read(quote.ID).Status)
	require.Nil(t, read(quote.ID).Moratorium, "it is expired")
}
