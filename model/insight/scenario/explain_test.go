package scenario_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims/adjudication"
	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/insight/scenario"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

func sourceEventRef(source, id string) scenario.OccurrenceRef {
	return scenario.OccurrenceRef{SourceEvent: &adjudication.SourceEvent{Source: source, ID: id}}
}

func whatIfEarthquakeRef(q scenario.WhatIfEarthquake) scenario.OccurrenceRef {
	return scenario.OccurrenceRef{WhatIf: &scenario.WhatIf{Earthquake: &q}}
}

func TestExplanationEqualsClaimDetermination(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	modeltest.ObserveQuake(b, "us1", "6.6", trigger.Final)
	claim := b.OnlyClaim(policy)
	byID := scenario.OccurrenceRef{ID: &claim.Occurrence.ID}
	e := modeltest.ExplainPolicy(t, b, policy, byID)
	require.Equal(t, e, modeltest.ExplainPolicy(t, b, policy, sourceEventRef("usgs", "us1")))
	require.True(t, e.Met)
	require.True(t, e.Pays)
	require.Nil(t, e.MissedBy)
	require.Equal(t, claim.Occurrence.OccurredAt, e.OccurredAt)
	require.Equal(t, *claim.Amount, e.Payable)
	require.Equal(t, claim.ID, e.Claim.ID)
	require.Equal(t, claim.Decision.ReasonCodes, e.Reasons)
	said := *claim.Determination
	said.SourceVersion, said.TermsHash, said.ReceiptHash = "", "", ""
	explained := wire.Determination{Index: e.Index, Threshold: e.Threshold, OccurredAt: e.OccurredAt, DistanceKM: e.DistanceKM, Factor: e.Factor, Amount: e.Amount, Stage: e.Stage}
	require.Equal(t, said, explained)
	require.Equal(t, []string{
		"usgs reported us1: magnitude 6.6 mw, 22.01 km from the insured place's centre (final values).",
		"It reaches the threshold of 6.5 mw, which pays a share of 0.5 of the limit of 100,000.00 USD: 50,000.00 USD.",
		"The claim " + claim.ID + " was opened for this occurrence and is approved: 50,000.00 USD is owed.",
	}, e.Sentences)

	waiting := modeltest.ObserveQuake(b, "us2", "7.0", trigger.Preliminary)
	require.Equal(t, []string{"source_preliminary"}, modeltest.ExplainPolicy(t, b, policy, sourceEventRef("usgs", "us2")).Reasons)
	waiting.Stage, waiting.Measures = trigger.Final, map[string]wire.Measure{"magnitude": {Value: "5.9", Unit: "mw"}}
	b.Observe(waiting)
	b.RunJobs()
	declined := modeltest.ExplainPolicy(t, b, policy, sourceEventRef("usgs", "us2"))
	require.False(t, declined.Pays)
	require.Equal(t, []string{"threshold_not_met"}, declined.Reasons)
	require.Equal(t, wire.Measure{Value: "0.1", Unit: "mw"}, *declined.MissedBy)
}

func TestExplanationOfUnmetTrigger(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	before, after := policy.EffectiveAt.Add(-time.Second), policy.ExpiresAt
	far := modeltest.Epicentre
	far.Latitude = 25
	for name, tc := range map[string]struct {
		quake   scenario.WhatIfEarthquake
		reasons []string
		says    string
	}{
		"too weak": {
			scenario.WhatIfEarthquake{Location: modeltest.Epicentre, Magnitude: "5.7"},
			[]string{"threshold_not_met"},
			"The trigger is not met: the index 5.7 mw misses the threshold 6.0 mw by 0.3.",
		},
		"too far": {
			scenario.WhatIfEarthquake{Location: far, Magnitude: "8"},
			[]string{"outside_place"},
			"It happened 63.50 km outside the insured circle of 50 km.",
		},
		"too deep": {
			scenario.WhatIfEarthquake{Location: modeltest.Epicentre, Magnitude: "8", DepthKM: new("300")},
			[]string{"outside_place"},
			"It was 300 km deep; the policy covers earthquakes down to " + policy.Cover.Trigger.MaximumDepthKM.String() + " km.",
		},
		"before cover": {
			scenario.WhatIfEarthquake{Location: modeltest.Epicentre, Magnitude: "8", At: &before},
			[]string{"outside_period"},
			"It happened outside the period of cover, from ",
		},
		"after cover": {
			scenario.WhatIfEarthquake{Location: modeltest.Epicentre, Magnitude: "8", At: &after},
			[]string{"outside_period"},
			"It happened outside the period of cover, from ",
		},
	} {
		e := modeltest.ExplainPolicy(t, b, policy, whatIfEarthquakeRef(tc.quake))
		require.False(t, e.Met, name)
		require.False(t, e.Pays, name)
		require.Zero(t, e.Payable.Amount, name)
		require.Equal(t, tc.reasons, e.Reasons, name)
		require.Contains(t, strings.Join(e.Sentences, " "), tc.says, name)
		require.Equal(t, "Nothing is paid.", e.Sentences[2], name)
	}
	cyclone := scenario.OccurrenceRef{WhatIf: &scenario.WhatIf{Storm: &scenario.WhatIfStorm{Fixes: []scenario.WhatIfFix{{Location: modeltest.Epicentre, WindKN: new("140")}}}}}
	require.Equal(t, []string{"outside_place"}, modeltest.ExplainPolicy(t, b, policy, cyclone).Reasons, "another peril")
}

// A supposed storm has no ATCF id: where it begins says whether it is of the policy's basin.
func TestSupposedStormBelongsToTheBasinOfItsFirstFix(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("cyclone-circle", nil)
	over := scenario.WhatIfFix{Location: modeltest.Miami, WindKN: new("140")}
	for begins, pays := range map[hazard.Point]bool{modeltest.Miami: true, {Latitude: 15, Longitude: -75}: true, {Latitude: 12, Longitude: -95}: false} {
		fixes := []scenario.WhatIfFix{over}
		if begins != modeltest.Miami {
			fixes = []scenario.WhatIfFix{{Location: begins, WindKN: new("40")}, over}
		}
		what := scenario.WhatIf{Storm: &scenario.WhatIfStorm{Fixes: fixes}}
		e := modeltest.ExplainPolicy(t, b, policy, scenario.OccurrenceRef{WhatIf: &what})
		require.Equal(t, pays, e.Pays, begins)
		_, touched := listAllExposed(t, b, b.Acme, scenario.ExposureRequest{Occurrence: what}, 2)
		require.Equal(t, pays, len(touched) == 1, begins)
		if !pays {
			require.Equal(t, []string{"outside_place"}, e.Reasons)
			require.Contains(t, e.Sentences[1], "The storm began in another basin, at latitude 12 and longitude -95;")
		}
	}
}

func TestExplanationRespectsLimitAndReportingWindow(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	modeltest.ObserveQuake(b, "us1", "6.6", trigger.Final)
	capped := modeltest.ExplainPolicy(t, b, policy, whatIfEarthquakeRef(scenario.WhatIfEarthquake{Location: modeltest.Epicentre, Magnitude: "7.5"}))
	require.Equal(t, *modeltest.NewUSD(10_000_000), capped.Amount)
	require.Equal(t, *modeltest.NewUSD(5_000_000), capped.Payable)
	require.Equal(t, []string{"threshold_met", "limit_exhausted"}, capped.Reasons)

	modeltest.ObserveQuake(b, "us2", "7.5", trigger.Final)
	exhausted := modeltest.ExplainPolicy(t, b, policy, whatIfEarthquakeRef(scenario.WhatIfEarthquake{Location: modeltest.Epicentre, Magnitude: "7.5"}))
	require.True(t, exhausted.Met)
	require.False(t, exhausted.Pays)
	require.Equal(t, []string{"threshold_met", "limit_exhausted"}, exhausted.Reasons)
	require.Equal(t, "Nothing is paid: nothing is left of the policy's limit.", exhausted.Sentences[2])

	late := b.QuoteAndBind("quake-circle", nil)
	at := b.Now()
	b.AdvanceClock(2 * 365 * modeltest.Day)
	over := modeltest.ExplainPolicy(t, b, late, whatIfEarthquakeRef(scenario.WhatIfEarthquake{Location: modeltest.Epicentre, Magnitude: "7.5", At: &at}))
	require.False(t, over.Pays)
	require.Equal(t, []string{"outside_period"}, over.Reasons)
	require.Contains(t, over.Sentences[2], "claims could be reported until")
}

func TestExplanationOfRainfall(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("rain-excess", modeltest.Context{"days": 2})
	station, first := policy.Cover.Place.Station, policy.EffectiveAt.Truncate(modeltest.Day).AddDate(0, 0, 1)
	b.AdvanceClock(12 * modeltest.Day)
	modeltest.ObserveRain(b, policy, first, "5", "100", "90", "40", "1", "0", "0", "0", "90")
	claim := b.OnlyClaim(policy)
	on := func(i int) *wire.Explanation {
		return modeltest.ExplainPolicy(t, b, policy, sourceEventRef("ghcn", station+"/"+first.AddDate(0, 0, i).Format(time.DateOnly)))
	}
	paid := on(2)
	require.True(t, paid.Pays)
	require.Equal(t, claim.ID, paid.Claim.ID)
	require.Equal(t, claim.Determination.Index, paid.Index)
	require.Equal(t, paid, modeltest.ExplainPolicy(t, b, policy, scenario.OccurrenceRef{ID: &claim.Occurrence.ID}))
	require.Equal(t, paid, on(4), "any day names the spell")
	require.Equal(t, fmt.Sprintf("ghcn measured 190 mm of rain at the station from %s to %s.", first.AddDate(0, 0, 1).Format(time.DateOnly), first.AddDate(0, 0, 2).Format(time.DateOnly)), paid.Sentences[0])
	require.Equal(t, []string{"threshold_not_met"}, on(6).Reasons, "a dry day belongs to no spell")
	require.Equal(t, "0", on(6).Index.Value)
	running := on(8)
	require.Equal(t, "90", running.Index.Value)
	require.Equal(t, "30", running.MissedBy.Value)

	renamed := modeltest.StationDay(station, first.AddDate(0, 0, 2), "90")
	renamed.SourceEventID = station + "-day-2"
	b.Observe(renamed)
	b.RunJobs()
	require.Equal(t, claim.ID, modeltest.ExplainPolicy(t, b, policy, sourceEventRef("ghcn", renamed.SourceEventID)).Claim.ID, "so does the id of a day")
}

func TestExplanationIsScopedToPartner(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, theirs := b.QuoteAndBind("quake-circle", nil), b.ActingAs(b.Globex).QuoteAndBind("quake-circle", nil)
	rehearsed := modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "7")
	_, _, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Acme, rehearsed, true)
	require.NoError(t, err)
	b.RunJobs()
	occurrence := b.OnlyClaim(policy).Occurrence.ID
	for name, ask := range map[string]struct {
		who    actor.Actor
		policy string
		ref    scenario.OccurrenceRef
	}{
		"another partner's policy":                              {b.Acme, theirs.ID, whatIfEarthquakeRef(scenario.WhatIfEarthquake{Location: modeltest.Epicentre, Magnitude: "7"})},
		"another partner's sandbox occurrence":                  {b.Globex, theirs.ID, scenario.OccurrenceRef{ID: &occurrence}},
		"another partner's sandbox occurrence by its source id": {b.Globex, theirs.ID, sourceEventRef("usgs", "us1")},
		"a sandbox occurrence for an operator":                  {b.Operator, theirs.ID, scenario.OccurrenceRef{ID: &occurrence}},
		"no occurrence":                                         {b.Acme, policy.ID, scenario.OccurrenceRef{ID: new("occ_nonsense")}},
		"no event":                                              {b.Acme, policy.ID, sourceEventRef("usgs", "us2")},
		"no policy":                                             {b.Acme, "pol_nonsense", sourceEventRef("usgs", "us1")},
	} {
		_, err := b.Service.Scenarios.Explain(t.Context(), ask.who, ask.policy, ask.ref)
		require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code, name)
	}
	_, err = b.Service.Scenarios.Explain(t.Context(), b.Operator, policy.ID, scenario.OccurrenceRef{ID: &occurrence})
	require.NoError(t, err)
	for _, ref := range []scenario.OccurrenceRef{{}, {ID: &occurrence, SourceEvent: &adjudication.SourceEvent{}}} {
		_, err := b.Service.Scenarios.Explain(t.Context(), b.Acme, policy.ID, ref)
		require.Equal(t, []apperr.FieldError{{Code: "required", Detail: "Give exactly one of occurrence_id, source_event and what_if."}}, modeltest.DomainError(t, err).Fields)
	}
}
