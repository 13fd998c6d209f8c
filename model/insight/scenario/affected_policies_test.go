package scenario_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// affectedPolicies lists all policies that an occurrence affected, one per page.
func affectedPolicies(t *testing.T, b *modeltest.Bundle, who actor.Actor, occurrence string, nearMisses bool) (all []wire.Explanation) {
	t.Helper()
	page := store.PageRequest{Limit: 1}
	for {
		lists, err := b.Service.Scenarios.AffectedPolicies(t.Context(), who, []string{occurrence}, nearMisses, page)
		require.NoError(t, err)
		list := lists[occurrence]
		all = append(all, list.Data...)
		if !list.HasMore {
			return all
		}
		page.Cursor = *list.NextCursor
	}
}

func policyIDsOf(list []wire.Explanation) []string {
	ids := make([]string, 0, len(list))
	for _, e := range list {
		ids = append(ids, e.PolicyID)
	}
	return ids
}

func TestAffectedPoliciesOfOccurrence(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	paid := b.QuoteAndBind("quake-circle", nil)
	missed := b.QuoteAndBind("quake-circle", modeltest.Context{"steps": []map[string]string{{"threshold": "8.0", "factor": "1"}}})
	away := b.QuoteAndBind("quake-circle", modeltest.Context{"location": map[string]float64{"latitude": 35.7, "longitude": 139.7}})
	theirs := b.ActingAs(b.Globex).QuoteAndBind("quake-circle", nil)
	b.QuoteAndBind("cyclone-circle", nil)
	modeltest.ObserveQuake(b, "us1", "6.6", trigger.Final)
	claim := b.OnlyClaim(paid)
	id := claim.Occurrence.ID

	require.Equal(t, []string{theirs.ID, missed.ID, paid.ID}, policyIDsOf(affectedPolicies(t, b, b.Operator, id, true)), "newest first")
	own := affectedPolicies(t, b, b.Acme, id, true)
	require.Equal(t, []string{missed.ID, paid.ID}, policyIDsOf(own))
	require.Equal(t, []string{paid.ID}, policyIDsOf(affectedPolicies(t, b, b.Acme, id, false)))
	require.Equal(t, []string{theirs.ID}, policyIDsOf(affectedPolicies(t, b, b.Globex, id, true)))
	require.Equal(t, "1.4", own[0].MissedBy.Value)
	require.Equal(t, claim.ID, own[1].Claim.ID)
	require.Equal(t, *claim.Amount, own[1].Payable)
	require.NotContains(t, policyIDsOf(own), away.ID)

	b.AdvanceClock(3 * 365 * modeltest.Day)
	b.Sweep()
	b.Sweep()
	require.Contains(t, policyIDsOf(affectedPolicies(t, b, b.Acme, id, true)), paid.ID, "a policy with a claim stays affected")
}

func TestAffectedPoliciesOfMergedOccurrence(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	first := modeltest.ObserveQuake(b, "us1", "6.6", trigger.Final)
	b.Observe(modeltest.Quake("us2", first.OccurredAt, modeltest.Hualien, "6.6"))
	first.Aliases = []string{"us2"}
	b.Observe(first)
	b.RunJobs()
	list, err := b.Service.Occurrences.List(t.Context(), b.Acme, occurrence.HazardFilter{}, store.PageRequest{})
	require.NoError(t, err)
	require.Len(t, list.Data, 1)
	require.Equal(t, []string{policy.ID}, policyIDsOf(affectedPolicies(t, b, b.Acme, list.Data[0].ID, true)))
}

// occurrenceIDs lists the ids of all occurrences that are not merged into others.
func occurrenceIDs(t *testing.T, b *modeltest.Bundle) (ids []string) {
	t.Helper()
	list, err := b.Service.Occurrences.List(t.Context(), b.Operator, occurrence.HazardFilter{}, store.PageRequest{Limit: store.MaxPageSize})
	require.NoError(t, err)
	for _, o := range list.Data {
		ids = append(ids, o.ID)
	}
	return ids
}

// createManyOccurrences creates occurrences for policies of two partners: earthquakes, of
// which one is too weak, one far away, one in the sandbox and one merged into another;
// two storms; three wet spells.
func createManyOccurrences(t *testing.T, b *modeltest.Bundle) (occurrences []string) {
	t.Helper()
	station := b.QuoteAndBind("rain-excess", modeltest.Context{"days": 2}).Cover.Place.Station
	for _, of := range []*modeltest.Bundle{b, b.ActingAs(b.Globex)} {
		of.QuoteAndBind("quake-circle", nil)
		of.QuoteAndBind("quake-circle", modeltest.Context{"steps": []map[string]string{{"threshold": "8.0", "factor": "1"}}})
		of.QuoteAndBind("cyclone-circle", nil)
		of.QuoteAndBind("rain-excess", modeltest.Context{"days": 1})
		of.QuoteAndBind("rain-excess", modeltest.Context{"days": 3})
	}
	b.AdvanceClock(20 * modeltest.Day)
	at := b.Now().Add(-3 * modeltest.Day)
	first := modeltest.Quake("us1", at, modeltest.Hualien, "7")
	b.Observe(first, modeltest.Quake("us2", at, modeltest.Hualien, "7"), modeltest.Quake("us3", at, modeltest.Hualien, "5"), modeltest.Quake("us4", at, modeltest.Miami, "7"))
	b.RunJobs()
	occurrences = occurrenceIDs(t, b)
	first.Aliases = []string{"us2"}
	b.Observe(first)
	for i := range 3 {
		fixed := at.Add(time.Duration(i) * modeltest.FixInterval)
		b.Observe(modeltest.Fix("AL01", fixed, modeltest.Miami, "140"), modeltest.Fix("AL02", fixed, modeltest.Miami, "30"))
	}
	for i := range 12 {
		b.Observe(modeltest.StationDay(station, b.Now().Truncate(modeltest.Day).AddDate(0, 0, i-13), []string{"200", "0", "0", "0", "100", "0", "0", "0", "250", "0", "0", "0"}[i]))
	}
	_, _, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Acme, modeltest.Quake("us5", at, modeltest.Hualien, "7"), true)
	require.NoError(t, err)
	b.RunJobs()
	occurrences = append(occurrences, occurrenceIDs(t, b)...)
	slices.Sort(occurrences)
	return slices.Compact(occurrences)
}

// The affected policies are the same for one query and for one query per occurrence, and
// for any page size.
func TestAffectedPoliciesOfManyOccurrencesEqualSingleQueries(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	occurrences := createManyOccurrences(t, b)
	require.Greater(t, len(occurrences), 8)
	touching, near := map[string]int{}, 0
	for _, who := range []actor.Actor{b.Acme, b.Globex, b.Operator} {
		for _, nearMisses := range []bool{true, false} {
			together, err := b.Service.Scenarios.AffectedPolicies(t.Context(), who, append(occurrences, "occ_"), nearMisses, store.PageRequest{})
			require.NoError(t, err)
			require.Empty(t, together["occ_"].Data)
			for _, id := range occurrences {
				alone := affectedPolicies(t, b, who, id, nearMisses)
				require.Equal(t, policyIDsOf(alone), policyIDsOf(together[id].Data))
				require.ElementsMatch(t, alone, together[id].Data, id)
				total, more, err := together[id].Total(t.Context())
				require.NoError(t, err)
				require.Equal(t, len(alone), total)
				require.False(t, more)
				record, err := b.Service.Occurrences.Get(t.Context(), b.Operator, id)
				require.NoError(t, err)
				touching[record.Kind] += min(1, len(alone))
				near += len(slices.DeleteFunc(alone, func(e wire.Explanation) bool { return e.Met }))
			}
		}
	}
	for kind, least := range map[string]int{"earthquake": 10, "storm_fix": 6, "station_day": 10} {
		require.GreaterOrEqual(t, touching[kind], least, kind)
	}
	require.Greater(t, near, 10)
}

func TestOccurrencesAndObservationsAreListed(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	at := b.Now().Add(-10 * modeltest.Day)
	station := b.QuoteAndBind("rain-excess", modeltest.Context{"days": 1}).Cover.Place.Station
	b.AdvanceClock(5 * modeltest.Day)
	wet := b.Now().Truncate(modeltest.Day).AddDate(0, 0, -2)
	b.Observe(
		modeltest.Quake("us1", at, modeltest.Epicentre, "6.6"), modeltest.Quake("us2", at.Add(modeltest.Day), modeltest.Epicentre, "5"),
		modeltest.Fix("AL01", at, hazard.Point{Latitude: 30}, "50"), modeltest.Fix("AL01", at.Add(modeltest.FixInterval), hazard.Point{Latitude: 31}, "50"),
		modeltest.StationDay(station, wet, "300"),
	)
	b.RunJobs()
	names := func(who actor.Actor, f occurrence.HazardFilter) (names []string) {
		page := store.PageRequest{Limit: 1}
		for {
			list, err := b.Service.Occurrences.List(t.Context(), who, f, page)
			require.NoError(t, err)
			for _, o := range list.Data {
				names = append(names, o.SourceEventID)
				one, err := b.Service.Occurrences.Get(t.Context(), who, o.ID)
				require.NoError(t, err)
				require.Equal(t, o, *one)
			}
			if !list.HasMore {
				return names
			}
			page.Cursor = *list.NextCursor
		}
	}
	until := at.Add(modeltest.Day)
	require.Len(t, names(b.Acme, occurrence.HazardFilter{}), 4)
	require.Equal(t, []string{"us2", "us1"}, names(b.Acme, occurrence.HazardFilter{Source: "usgs"}))
	require.Equal(t, []string{"us1"}, names(b.Acme, occurrence.HazardFilter{Kind: "earthquake", To: &until}))
	require.Equal(t, []string{"us2"}, names(b.Acme, occurrence.HazardFilter{Kind: "earthquake", From: &until}))
	require.Equal(t, []string{"AL01"}, names(b.Acme, occurrence.HazardFilter{Kind: "storm_fix"}))
	_, err := b.Service.Occurrences.List(t.Context(), b.Acme, occurrence.HazardFilter{Kind: "plague"}, store.PageRequest{})
	require.Equal(t, apperr.CodeParameterInvalid, modeltest.DomainError(t, err).Code)

	for kind, observed := range map[string]int{"storm_fix": 2, "station_day": 1, "earthquake": 1} {
		list, err := b.Service.Occurrences.List(t.Context(), b.Acme, occurrence.HazardFilter{Kind: kind}, store.PageRequest{Limit: 1})
		require.NoError(t, err)
		of, err := b.Service.Occurrences.ListObservations(t.Context(), b.Acme, occurrence.HazardFilter{OccurrenceID: list.Data[0].ID}, store.PageRequest{})
		require.NoError(t, err)
		require.Len(t, of.Data, observed, kind)
		one, err := b.Service.Occurrences.GetObservation(t.Context(), b.Acme, of.Data[0].ID)
		require.NoError(t, err)
		require.Equal(t, of.Data[0], *one)
	}
}

func TestSandboxOccurrenceIsVisibleToItsPartnerOnly(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	b.ActingAs(b.Globex).QuoteAndBind("quake-circle", nil)
	record, _, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Acme, modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "7"), true)
	require.NoError(t, err)
	b.RunJobs()
	occurrenceID := *record.OccurrenceID
	for _, who := range []actor.Actor{b.Acme, b.Operator} {
		one, err := b.Service.Occurrences.Get(t.Context(), who, occurrenceID)
		require.NoError(t, err)
		require.True(t, one.Sandbox)
		_, err = b.Service.Occurrences.GetObservation(t.Context(), who, record.ID)
		require.NoError(t, err)
		require.Equal(t, []string{policy.ID}, policyIDsOf(affectedPolicies(t, b, who, occurrenceID, true)))
	}
	unknown := func(err error) { require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code) }
	_, err = b.Service.Occurrences.Get(t.Context(), b.Globex, occurrenceID)
	unknown(err)
	_, err = b.Service.Occurrences.GetObservation(t.Context(), b.Globex, record.ID)
	unknown(err)
	require.Empty(t, affectedPolicies(t, b, b.Globex, occurrenceID, true))
	_, err = b.Service.Occurrences.ListObservations(t.Context(), b.Globex, occurrence.HazardFilter{OccurrenceID: occurrenceID}, store.PageRequest{})
	unknown(err)
	list, err := b.Service.Occurrences.List(t.Context(), b.Globex, occurrence.HazardFilter{}, store.PageRequest{})
	require.NoError(t, err)
	require.Empty(t, list.Data)
}
