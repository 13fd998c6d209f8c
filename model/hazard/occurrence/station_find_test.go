package occurrence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/modeltest"
)

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
