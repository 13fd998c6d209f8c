package adjudication_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/insight/scenario"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// dryAfter are the dry days that end a spell, as settled as its last day.
func dryAfter(last wire.ObservationInput) (in []wire.ObservationInput) {
	for i := range 3 {
		day := modeltest.StationDay(last.Station, last.OccurredAt.AddDate(0, 0, i+1), "0")
		day.Stage = last.Stage
		in = append(in, day)
	}
	return in
}

// flooded is a cover of the three wettest days of a spell, and its first whole day. The
// clock is 60 days later.
func flooded(b *modeltest.Bundle) (policy *wire.Policy, first time.Time) {
	policy = b.QuoteAndBind("rain-excess", modeltest.Context{"days": 3})
	b.AdvanceClock(60 * 24 * time.Hour)
	return policy, modeltest.FirstWholeDay(policy.EffectiveAt)
}

// parched is a cover of calendar months, and the first day of its first whole month.
func parched(b *modeltest.Bundle) (policy *wire.Policy, first time.Time) {
	policy = b.QuoteAndBind("rain-deficit", nil)
	b.AdvanceClock(100 * 24 * time.Hour)
	return policy, trigger.Month.FirstFrom(policy.EffectiveAt)
}

// month are the values of all days of a month, dry but for the first.
func month(first time.Time, value string) []string {
	return append([]string{value}, slices.Repeat([]string{"0"}, int(first.AddDate(0, 1, 0).Sub(first)/(24*time.Hour))-1)...)
}

func summaries(b *modeltest.Bundle, claim string) (sentences []string) {
	for _, entry := range b.Timeline(claim) {
		sentences = append(sentences, entry.Summary)
	}
	return sentences
}

func claimIDs(b *modeltest.Bundle, policy *wire.Policy) (ids []string) {
	for _, c := range b.Claims(policy) {
		ids = append(ids, c.ID)
	}
	return ids
}

func TestSpellIsPaidOnceWhenItsDryDaysHavePassed(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, first := flooded(b)
	modeltest.ObserveRain(b, policy, first.AddDate(0, 0, -1), "500", "10", "60", "50", "40", "0", "0")
	require.Empty(t, b.Claims(policy), "one drier day more may not come")
	modeltest.ObserveRain(b, policy, first.AddDate(0, 0, 6), "0")
	claim := b.OnlyClaim(policy)
	require.Equal(t, "approved", claim.Status)
	require.Equal(t, first.AddDate(0, 0, 1).Format(time.DateOnly), *claim.Determination.FirstDay)
	require.Equal(t, first.AddDate(0, 0, 3).Format(time.DateOnly), *claim.Determination.LastDay)
	require.Equal(t, "150", claim.Determination.Index.Value, "the day of binding is not wholly covered")
	require.Equal(t, int64(2_500_000), claim.Amount.Amount)
	require.Equal(t, first.AddDate(0, 0, 3), claim.Determination.OccurredAt, "the last of the three days")
	occurrence, err := b.Service.Occurrences.Get(t.Context(), b.Acme, claim.Occurrence.ID)
	require.NoError(t, err)
	require.Equal(t, first.AddDate(0, 0, -1), occurrence.OccurredAt)
	require.Equal(t, occurrence.OccurredAt, claim.Occurrence.OccurredAt)
	require.Equal(t, first.AddDate(0, 0, 3), occurrence.LastAt)
	require.Equal(t, "spell/1/3", *occurrence.Definition)
	require.Equal(t, policy.Cover.Place.Station, *occurrence.Station)
	require.Equal(t, "final", occurrence.Stage)
	modeltest.ObserveRain(b, policy, first.AddDate(0, 0, 7), "0", "200", "0", "0", "0")
	require.Len(t, b.Claims(policy), 2, "another spell pays again")
}

func TestSpellIsSharedByAllPoliciesAtTheStation(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	one := b.QuoteAndBind("rain-excess", modeltest.Context{"days": 1})
	policy, first := flooded(b)
	modeltest.ObserveRain(b, policy, first, "130", "10", "20", "0", "0", "0")
	require.Equal(t, b.OnlyClaim(one).Occurrence.ID, b.OnlyClaim(policy).Occurrence.ID)
	require.Equal(t, "130", b.OnlyClaim(one).Determination.Index.Value)
	require.Equal(t, "160", b.OnlyClaim(policy).Determination.Index.Value)
}

func TestSpellIsPaidWhenCoverHasEnded(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("rain-excess", modeltest.Context{"days": 3, "term": "P20D"})
	longer := b.QuoteAndBind("rain-excess", modeltest.Context{"days": 3, "term": "P40D"})
	b.AdvanceClock(30 * 24 * time.Hour)
	last := policy.ExpiresAt.Truncate(24*time.Hour).AddDate(0, 0, -1)
	modeltest.ObserveRain(b, policy, last.AddDate(0, 0, -2), "50", "60")
	require.Empty(t, b.Claims(policy), "a day of the cover is still to come")
	modeltest.ObserveRain(b, policy, last, "70")
	require.Equal(t, "180", b.OnlyClaim(policy).Determination.Index.Value)
	require.Equal(t, "approved", b.OnlyClaim(policy).Status)
	require.Empty(t, b.Claims(longer))
	modeltest.ObserveRain(b, policy, last.AddDate(0, 0, 1), "90", "0", "0", "0")
	require.Len(t, b.Claims(policy), 1)
	require.Equal(t, "220", b.OnlyClaim(longer).Determination.Index.Value)
}

func TestSpellOfPreliminaryDaysWaitsForFinalOnes(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, first := flooded(b)
	in := modeltest.RainSpell(policy, first, "50", "60", "70")
	in[4].Stage = trigger.Preliminary // a drier day
	b.Observe(in...)
	b.RunJobs()
	claim := b.OnlyClaim(policy)
	require.Equal(t, "deferred", claim.Status)
	require.Equal(t, []string{string(claims.ReasonSourcePreliminary)}, claim.Decision.ReasonCodes)
	in[4].Stage = trigger.Final
	b.Observe(in[4])
	b.RunJobs()
	require.Equal(t, "approved", b.OnlyClaim(policy).Status)
}

func TestRunningSpellIsClaimedByAnyOfItsDays(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, first := flooded(b)
	modeltest.ObserveRain(b, policy, first, "50", "0", "0", "180", "2")
	require.Empty(t, b.Claims(policy))
	var id string
	for i := range 5 {
		name := policy.Cover.Place.Station + "/" + first.AddDate(0, 0, i).Format(time.DateOnly)
		claim, created, err := b.Service.Adjudication.Open(t.Context(), b.Acme, modeltest.NewSourceEventClaim(policy, "ghcn", name))
		require.NoError(t, err)
		require.Equal(t, i == 0, created)
		require.Equal(t, "deferred", claim.Status)
		id = claim.ID
	}
	modeltest.ObserveRain(b, policy, first.AddDate(0, 0, 5), "100", "0", "0", "0")
	claim := b.OnlyClaim(policy)
	require.Equal(t, id, claim.ID)
	require.Equal(t, "282", claim.Determination.Index.Value)
	require.Equal(t, "approved", claim.Status)
	dry := policy.Cover.Place.Station + "/" + first.AddDate(0, 0, 7).Format(time.DateOnly)
	_, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, modeltest.NewSourceEventClaim(policy, "ghcn", dry))
	e := modeltest.DomainError(t, err)
	require.Equal(t, apperr.CodeTriggerNotMet, e.Code, "a dry day lies in no spell")
	require.Equal(t, "0", e.Extra["index"].(*wire.Measure).Value)
	_, _, err = b.Service.Adjudication.Open(t.Context(), b.Acme, modeltest.NewSourceEventClaim(policy, "ghcn", policy.Cover.Place.Station+"/2001-01-01"))
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code, "that day was not reported")
}

func TestMissingDayEndsASpell(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, first := flooded(b)
	modeltest.ObserveRain(b, policy, first, "100", "-", "100", "0", "0")
	require.Empty(t, b.Claims(policy), "neither spell reaches the attachment")
	modeltest.ObserveRain(b, policy, first.AddDate(0, 0, 1), "30")
	require.Empty(t, b.Claims(policy), "the joined spell is not over")
	modeltest.ObserveRain(b, policy, first.AddDate(0, 0, 5), "0")
	require.Equal(t, "230", b.OnlyClaim(policy).Determination.Index.Value, "the late day joins them")
	require.Equal(t, policy.Cover.Place.Station+"/"+first.Format(time.DateOnly), b.OnlyClaim(policy).Occurrence.SourceEventID)
}

func TestSpellBeforeAMissingDayIsPaidWhenTheSourceWentOn(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, first := flooded(b)
	modeltest.ObserveRain(b, policy, first, "100", "80", "-", "20", "0")
	require.Empty(t, b.Claims(policy))
	modeltest.ObserveRain(b, policy, first.AddDate(0, 0, 5), "20")
	require.Equal(t, "180", b.OnlyClaim(policy).Determination.Index.Value)
	require.Equal(t, "approved", b.OnlyClaim(policy).Status)
}

func TestLateDayJoinsSpellsThatWerePaid(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, first := flooded(b)
	modeltest.ObserveRain(b, policy, first, "150", "-", "150", "0", "0", "0")
	paid := b.Claims(policy)
	require.Len(t, paid, 2)
	modeltest.ObserveRain(b, policy, first.AddDate(0, 0, 1), "200")
	after := b.Claims(policy)
	require.Equal(t, []string{paid[0].ID, paid[1].ID}, claimIDs(b, policy), "a joined spell was paid by its parts")
	for i := range after {
		require.Equal(t, paid[i].Amount, after[i].Amount)
	}
	occurrence, err := b.Service.Occurrences.Get(t.Context(), b.Acme, paid[1].Occurrence.ID)
	require.NoError(t, err)
	require.Equal(t, paid[0].Occurrence.ID, *occurrence.MergedInto, "into the oldest")
	require.Zero(t, b.CountRows()["reconciliation_exceptions"], "no day was paid twice")
}

func TestSplitSpellPaysNoDayTwice(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, first := flooded(b)
	modeltest.ObserveRain(b, policy, first, "10", "5", "5", "5", "90", "60", "90", "20", "30", "40", "0", "0", "0")
	claim := b.OnlyClaim(policy)
	require.Equal(t, "240", claim.Determination.Index.Value)
	require.Equal(t, int64(10_000_000), claim.Amount.Amount, "days five to seven")
	// Days two to four turn out to be dry: the spell was two.
	modeltest.ObserveRain(b, policy, first.AddDate(0, 0, 1), "0", "0", "0")
	require.Len(t, b.Claims(policy), 1, "the second spell's best days were paid; the others make 90 mm")
	require.Equal(t, claim.Amount, b.OnlyClaim(policy).Amount)
	list, err := b.Service.Occurrences.List(t.Context(), b.Acme, occurrence.HazardFilter{Kind: "station_day"}, store.PageRequest{})
	require.NoError(t, err)
	require.Len(t, list.Data, 2)
	require.Equal(t, claim.Occurrence.ID, list.Data[1].ID)
	require.Equal(t, first, list.Data[1].LastAt, "the part with the day that names it goes on")
	e := modeltest.ExplainPolicy(t, b, policy, scenario.OccurrenceRef{ID: &list.Data[0].ID})
	require.Equal(t, "90", e.Index.Value)
	require.False(t, e.Pays)
}

func TestRejoinedSpellIsTheOneItWas(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, first := flooded(b)
	modeltest.ObserveRain(b, policy, first, "20", "-", "20", "0", "0", "0")
	standing := func() (ids []string) {
		list, err := b.Service.Occurrences.List(t.Context(), b.Acme, occurrence.HazardFilter{Kind: "station_day"}, store.PageRequest{})
		require.NoError(t, err)
		for _, o := range list.Data {
			ids = append(ids, o.ID)
		}
		return ids
	}
	apart := standing()
	require.Len(t, apart, 2)
	modeltest.ObserveRain(b, policy, first.AddDate(0, 0, 1), "20")
	require.Equal(t, apart[1:], standing(), "the oldest stands")
	gone := modeltest.StationDay(policy.Cover.Place.Station, first.AddDate(0, 0, 1), "20")
	gone.Stage = trigger.Retracted
	b.Observe(gone)
	b.RunJobs()
	require.Equal(t, apart, standing(), "split again, both are what they were")
}

func TestRevisedAwaySpellDeclinesItsWaitingClaim(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, first := flooded(b)
	in := modeltest.RainSpell(policy, first, "180")
	in[0].Stage = trigger.Preliminary
	b.Observe(in...)
	b.RunJobs()
	require.Equal(t, "deferred", b.OnlyClaim(policy).Status)
	modeltest.ObserveRain(b, policy, first, "0.5")
	claim := b.OnlyClaim(policy)
	require.Equal(t, []string{"threshold_not_met"}, claim.Decision.ReasonCodes)
	require.Equal(t, "0", claim.Determination.Index.Value)
}

func TestReadingOutsideRainEventsEnqueuesNothing(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, first := flooded(b)
	modeltest.ObserveRain(b, policy, first, "180", "0", "0", "0")
	claim := b.OnlyClaim(policy)
	b.Observe(modeltest.StationDays(policy, first.AddDate(0, 0, 4), "0")...)
	require.Nil(t, b.TakeJobIfAny(), "a further dry day changes no occurrence")
	b.Observe(modeltest.StationDays(policy, first.AddDate(0, 0, 1), "0")...)
	require.Nil(t, b.TakeJobIfAny(), "nor does a repetition")
	require.Equal(t, claim, b.OnlyClaim(policy))
}

func TestMonthIsJudgedWhenEveryDayIsFinal(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, first := parched(b)
	values := month(first, "5")
	modeltest.ObserveRain(b, policy, first.AddDate(0, 0, -10), slices.Repeat([]string{"0"}, 10)...)
	modeltest.ObserveRain(b, policy, first, values[:len(values)-1]...)
	require.Empty(t, b.Claims(policy), "the month in which cover began, and a month that is not over")
	in := modeltest.StationDays(policy, first.AddDate(0, 0, len(values)-1), "0")
	in[0].Stage = trigger.Preliminary
	b.Observe(in...)
	b.RunJobs()
	require.Empty(t, b.Claims(policy), "a day is preliminary")
	_, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, modeltest.NewSourceEventClaim(policy, "ghcn", in[0].SourceEventID))
	require.Equal(t, string(claims.ReasonSourcePreliminary), modeltest.DomainError(t, err).Extra["reason"])
	in[0].Stage = trigger.Final
	b.Observe(in...)
	b.RunJobs()
	claim := b.OnlyClaim(policy)
	require.Equal(t, "approved", claim.Status)
	require.Equal(t, "5", claim.Determination.Index.Value)
	require.Equal(t, int64(5_000_000), claim.Amount.Amount)
	require.Equal(t, policy.Cover.Place.Station+"/"+first.Format(time.DateOnly), claim.Occurrence.SourceEventID)
	require.Equal(t, first, claim.Occurrence.OccurredAt)
	require.Equal(t, first.AddDate(0, 0, len(values)-1), claim.Determination.OccurredAt)
	require.Contains(t, string(b.Timeline(claim.ID)[0].Data), `"occurred_at":"`+first.Format(trigger.TimeFormat)+`"`)
}

func TestMonthWithAMissingDayWaitsForIt(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{"2": "approved", "7": "declined"} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			policy, first := parched(b)
			values := append(month(first, "5"), "0")
			values[9] = "-"
			modeltest.ObserveRain(b, policy, first, values[:len(values)-1]...)
			require.Empty(t, b.Claims(policy), "the source has not gone on")
			modeltest.ObserveRain(b, policy, first.AddDate(0, 0, len(values)-1), "0")
			claim := b.OnlyClaim(policy)
			require.Equal(t, "deferred", claim.Status)
			require.Equal(t, []string{"evidence_needed"}, claim.Decision.ReasonCodes)
			e := modeltest.ExplainPolicy(t, b, policy, scenario.OccurrenceRef{ID: &claim.Occurrence.ID})
			require.Contains(t, e.Sentences[1], "missing days")
			require.Equal(t, []string{
				fmt.Sprintf("ghcn reported %s: 5 mm of rain so far (1 day of %s is missing).", claim.Occurrence.SourceEventID, first.Format("January 2006")),
				fmt.Sprintf("A claim was opened: the rain known so far would pay, but 1 day of %s is missing.", first.Format("January 2006")),
				fmt.Sprintf("The claim waits: 1 day of %s is missing.", first.Format("January 2006")),
			}, summaries(b, claim.ID))
			modeltest.ObserveRain(b, policy, first.AddDate(0, 0, 9), value)
			decided := b.OnlyClaim(policy)
			require.Equal(t, claim.ID, decided.ID)
			require.Equal(t, want, decided.Status)
			require.Equal(t, first, decided.Occurrence.OccurredAt)
			if e = modeltest.ExplainPolicy(t, b, policy, scenario.OccurrenceRef{ID: &claim.Occurrence.ID}); want == "approved" {
				require.Contains(t, e.Sentences[1], "7 mm is below the attachment of 10 mm, which pays a share of 0.3 of the limit")
			}
		})
	}
}

func TestWetMonthWithAMissingDayOpensNothing(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, first := parched(b)
	values := append(month(first, "10.1"), "0")
	values[9] = "-"
	modeltest.ObserveRain(b, policy, first, values...)
	require.Empty(t, b.Claims(policy), "whatever the day was, it rained enough")
}

func TestDayNamesTheOccurrenceOfThePolicysOwnDefinition(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	dry, _ := parched(b)
	wet := b.QuoteAndBind("rain-excess", modeltest.Context{"days": 1, "station": dry.Cover.Place.Station})
	b.AdvanceClock(100 * 24 * time.Hour)
	first := trigger.Month.FirstFrom(wet.EffectiveAt)
	modeltest.ObserveRain(b, dry, first, append(month(first, "8"), "0", "0", "0")...)
	name := dry.Cover.Place.Station + "/" + first.Format(time.DateOnly)
	claim, created, err := b.Service.Adjudication.Open(t.Context(), b.Acme, modeltest.NewSourceEventClaim(dry, "ghcn", name))
	require.NoError(t, err)
	require.False(t, created)
	occurrence, err := b.Service.Occurrences.Get(t.Context(), b.Acme, claim.Occurrence.ID)
	require.NoError(t, err)
	require.Equal(t, "month", *occurrence.Definition)
	_, _, err = b.Service.Adjudication.Open(t.Context(), b.Acme, modeltest.NewSourceEventClaim(wet, "ghcn", name))
	require.Equal(t, "112", modeltest.DomainError(t, err).Extra["missed_by"].(*wire.Measure).Value, "the wet spell of that day")
	require.Equal(t, "8", modeltest.DomainError(t, err).Extra["index"].(*wire.Measure).Value)
}
