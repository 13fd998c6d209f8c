package adjudication_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims/adjudication"
	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/optional"
	"parapet/model/modeltest"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

func TestClaimNamesADayByTheIDUnderWhichItWasRecorded(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]func(station string, day int) string{
		"an id of each day":       func(station string, day int) string { return fmt.Sprintf("%s-%d", station, day) },
		"one id for all its days": func(station string, _ int) string { return station },
	} {
		for _, sandbox := range []bool{false, true} {
			b := modeltest.New(t)
			policy, first := flooded(b)
			days := modeltest.RainSpell(policy, first, "60", "50", "40")
			for i := range days {
				days[i].SourceEventID = id(policy.Cover.Place.Station, i)
			}
			by := b.Source
			if sandbox {
				by = b.Acme
			}
			_, err := b.Service.Occurrences.RecordObservations(t.Context(), by, days, sandbox)
			require.NoError(t, err)
			b.RunJobs()
			claim := b.OnlyClaim(policy)
			for i := range 3 {
				have, created, err := b.Service.Adjudication.Open(t.Context(), b.Acme, modeltest.NewSourceEventClaim(policy, "ghcn", days[i].SourceEventID))
				require.NoError(t, err, "%s, sandbox %v, day %d", name, sandbox, i)
				require.False(t, created)
				require.Equal(t, claim.ID, have.ID)
			}
			theirs := b.ActingAs(b.Globex).QuoteAndBind("rain-excess", modeltest.Context{"station": policy.Cover.Place.Station})
			_, _, err = b.Service.Adjudication.Open(t.Context(), b.Globex, modeltest.NewSourceEventClaim(theirs, "ghcn", days[0].SourceEventID))
			want := apperr.CodeTriggerNotMet // it was bound after the spell
			if sandbox {
				want = apperr.CodeNotFound
			}
			require.Equal(t, want, modeltest.DomainError(t, err).Code)
		}
	}
}

func TestRehearsedDayOfAStationComesBeforeTheReportedOne(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	day := b.Now().Truncate(24*time.Hour).AddDate(0, 0, -3)
	b.Observe(modeltest.StationDay("Seattle", day, "5"))
	reported := occurrence.Station{Source: "ghcn", Name: "Seattle"}
	find := findDayAt(t, b, "Seattle")
	require.Equal(t, reported, find("acme", "ghcn", "Seattle", day).StationOfDay())
	_, _, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Acme, modeltest.StationDay("Seattle", day, "50"), true)
	require.NoError(t, err)
	require.Equal(t, occurrence.Station{Scope: "acme", Source: "ghcn", Name: "Seattle"}, find("acme", "ghcn", "Seattle", day).StationOfDay())
	require.Equal(t, reported, find("globex", "ghcn", "Seattle", day).StationOfDay())
	require.Equal(t, reported, findDayAt(t, b, "Merced")("globex", "ghcn", "Seattle", day).StationOfDay(), "a day at another station than the policy's")
	require.Nil(t, find("acme", "ghcn", "Seattle", day.AddDate(0, 0, 1)))
	require.Nil(t, find("acme", "ghcn", "Merced", day))
	require.Nil(t, find("acme", "noaa", "Seattle", day))
}

// findDayAt returns a function that finds <name>/<day> for a partner's policy at a
// station, nil if no such day was reported.
func findDayAt(t *testing.T, b *modeltest.Bundle, station string) func(partner, source, name string, on time.Time) *occurrence.ObservationRow {
	t.Helper()
	return func(partner, source, name string, on time.Time) *occurrence.ObservationRow {
		return findDay(t, b, partner, station, source, name+"/"+on.Format(time.DateOnly))
	}
}

func findDay(t *testing.T, b *modeltest.Bundle, partner, station, source, id string) *occurrence.ObservationRow {
	t.Helper()
	policy := &underwriting.PolicyRow{Cover: trigger.Cover{Trigger: trigger.Trigger{Kind: trigger.Rainfall, Calendar: trigger.Month}}}
	policy.Partner, policy.Station = partner, optional.NonZero(station)
	row, found, err := adjudication.FindStationDay(t.Context(), b.DB.Bun, policy, adjudication.SourceEvent{Source: source, ID: id})
	require.NoError(t, err)
	if !found {
		return nil
	}
	return row
}

func TestDayOfAStationIsFoundByItsRecordedID(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	day := b.Now().Truncate(24*time.Hour).AddDate(0, 0, -3)
	named := func(id, station string, day time.Time) wire.ObservationInput {
		in := modeltest.StationDay(station, day, "5")
		in.SourceEventID = id
		return in
	}
	b.Observe(named("Seattle-1", "Seattle", day), named("batch/2026-01-01", "Seattle", day.AddDate(0, 0, 1)), named("Merced-1", "Merced", day))
	_, _, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Acme, named("Seattle-2", "Seattle", day.AddDate(0, 0, 2)), true)
	require.NoError(t, err)
	for _, test := range []struct {
		partner, station, source, id string
		want                         int // days after the first; -1: not found
	}{
		{"acme", "Seattle", "ghcn", "Seattle-1", 0},
		{"globex", "Seattle", "ghcn", "Seattle-1", 0},
		{"acme", "Seattle", "ghcn", "batch/2026-01-01", 1},
		{"acme", "Seattle", "ghcn", "Seattle-2", 2},
		{"globex", "Seattle", "ghcn", "Seattle-2", -1}, // another partner's sandbox
		{"acme", "Seattle", "noaa", "Seattle-1", -1},
		{"acme", "Seattle", "ghcn", "Seattle-3", -1},
		{"acme", "Seattle", "ghcn", "Merced-1", -1}, // at another station than the policy's
		{"acme", "", "ghcn", "Seattle-1", -1},
	} {
		row := findDay(t, b, test.partner, test.station, test.source, test.id)
		if test.want < 0 {
			require.Nil(t, row, "%+v", test)
			continue
		}
		require.NotNil(t, row, "%+v", test)
		require.Equal(t, day.AddDate(0, 0, test.want), row.Day.UTC(), "%+v", test)
	}
}

func TestOccurrenceOfADayHasThePolicysDefinition(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	spell := b.QuoteAndBind("rain-excess", nil)
	station := spell.Cover.Place.Station
	b.QuoteAndBind("rain-deficit", modeltest.Context{"station": station})
	b.AdvanceClock(80 * 24 * time.Hour)
	first := b.Now().Truncate(24*time.Hour).AddDate(0, 0, -60)
	for i, rain := range []string{"50", "60", "0", "0", "0", "0"} {
		b.Observe(modeltest.StationDay(station, first.AddDate(0, 0, i), rain))
	}
	policy := &underwriting.PolicyRow{Cover: spell.Cover}
	at := occurrence.Station{Source: "ghcn", Name: station}
	find := func(s occurrence.Station, day int) (*occurrence.OccurrenceRow, bool) {
		row, recorded, err := adjudication.FindOccurrenceOn(t.Context(), b.DB.Bun, policy, s, first.AddDate(0, 0, day))
		require.NoError(t, err)
		require.Equal(t, []string{station, spell.Cover.Trigger.Definition().String()}, []string{*row.Station, *row.Definition})
		return row, recorded
	}
	for _, day := range []int{0, 1} {
		row, recorded := find(at, day)
		require.True(t, recorded)
		require.Equal(t, trigger.DayRun{First: first, Last: first.AddDate(0, 0, 1)}, row.DayRun())
	}
	for _, of := range []occurrence.Station{at, {Source: "noaa", Name: station}, {Scope: "acme", Source: "ghcn", Name: station}} {
		day := 0
		if of == at {
			day = 2
		}
		row, recorded := find(of, day)
		require.False(t, recorded, "too dry, or of another source or scope")
		require.Equal(t, station+"/"+first.AddDate(0, 0, day).Format(time.DateOnly), row.SourceEventID)
		require.Equal(t, trigger.DayRun{First: first.AddDate(0, 0, day), Last: first.AddDate(0, 0, day)}, row.DayRun())
		require.Equal(t, []string{of.Scope, of.Source, "preliminary", string(hazard.StationDay)}, []string{row.Scope, row.Source, string(row.Stage), string(row.Kind)})
	}
	for i := range 2 {
		b.Observe(wire.ObservationInput{Source: "ghcn", SourceEventID: station + "/" + first.AddDate(0, 0, i).Format(time.DateOnly), Kind: hazard.StationDay, Stage: trigger.Retracted})
	}
	_, recorded := find(at, 1)
	require.False(t, recorded, "a retracted occurrence is none")
}
