package occurrence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

func TestRehearsedDayOfAStationComesBeforeTheReportedOne(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	day := b.Now().Truncate(24*time.Hour).AddDate(0, 0, -3)
	b.Observe(modeltest.StationDay("Seattle", day, "5"))
	find := func(partner, source, name string, on time.Time) (occurrence.Station, error) {
		policy := &underwriting.PolicyRow{}
		policy.Partner = partner
		return occurrence.FindStation(t.Context(), b.DB.Bun, policy, source, name, on)
	}
	reported := occurrence.Station{Source: "ghcn", Name: "Seattle"}
	require.Equal(t, reported, modeltest.Must(find("acme", "ghcn", "Seattle", day)))
	_, _, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Acme, modeltest.StationDay("Seattle", day, "50"), true)
	require.NoError(t, err)
	require.Equal(t, occurrence.Station{Scope: "acme", Source: "ghcn", Name: "Seattle"}, modeltest.Must(find("acme", "ghcn", "Seattle", day)))
	require.Equal(t, reported, modeltest.Must(find("globex", "ghcn", "Seattle", day)))
	for name, err := range map[string]error{
		"another day":     second(find("acme", "ghcn", "Seattle", day.AddDate(0, 0, 1))),
		"another station": second(find("acme", "ghcn", "Merced", day)),
		"another source":  second(find("acme", "noaa", "Seattle", day)),
	} {
		require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code, name)
	}
}

func second[A any](_ A, err error) error { return err }

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
		row, recorded, err := s.FindOccurrenceOn(t.Context(), b.DB.Bun, policy, first.AddDate(0, 0, day))
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
	_, recorded := find(at, 0)
	require.False(t, recorded, "a retracted occurrence is none")
}

func TestMeasuredDaysHaveTheValueThatADefinitionCounts(t *testing.T) {
	t.Parallel()
	definition, ok := trigger.ParseDefinition("spell/1/3")
	require.True(t, ok)
	at := func(day int, stage trigger.Stage, given ...string) occurrence.ObservationRow {
		in := modeltest.StationDay("Seattle", checkedAt.AddDate(0, 0, day).Truncate(24*time.Hour), "0")
		in.Stage, in.Measures = stage, measures(given...)
		return row(t, in, 0)
	}
	days := occurrence.StationDays{
		at(0, trigger.Final, "precipitation", "5", "mm", "wind", "3", "m/s"), at(1, trigger.Preliminary, "precipitation", "6", "mm"),
		at(2, trigger.Final, "temperature_max", "30", "degC"), at(3, trigger.Retracted, "precipitation", "7", "mm"),
	}
	var values []string
	for _, day := range days.MeasuredDays(definition, false) {
		values = append(values, day.PrecipitationMM.String())
	}
	require.Equal(t, []string{"5", "6"}, values)
	all := days.MeasuredDays(definition, true)
	require.Len(t, all, 3)
	require.Equal(t, []bool{false, true, false}, []bool{all[0].Preliminary, all[1].Preliminary, all[2].Preliminary})
	require.Equal(t, "3", all[0].WindMS.String())
}

func TestStationOfAnOccurrenceNeedsADefinition(t *testing.T) {
	t.Parallel()
	row := occurrence.OccurrenceRow{Scope: "acme", Source: "ghcn"}
	_, _, ok := row.StationAndDefinition()
	require.False(t, ok, "an earthquake")
	row.Station = new("Seattle")
	_, _, ok = row.StationAndDefinition()
	require.False(t, ok, "a window of days")
	row.Definition = new("fortnight")
	_, _, ok = row.StationAndDefinition()
	require.False(t, ok)
	row.Definition = new("month")
	at, definition, ok := row.StationAndDefinition()
	require.True(t, ok)
	require.Equal(t, occurrence.Station{Scope: "acme", Source: "ghcn", Name: "Seattle"}, at)
	require.Equal(t, "month", definition.String())
}
