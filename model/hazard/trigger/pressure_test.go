package trigger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
)

// pressureCover pays for a low central pressure near 18.11 N 77.3 W in Jamaica.
func pressureCover(radius float64) Cover {
	c := stormCover()
	c.Place = Place{Kind: Circle, Latitude: 18.11, Longitude: -77.3, RadiusKM: radius}
	c.Trigger.Index, c.Trigger.Unit, c.Trigger.Direction, c.Trigger.Wind = CentralPressure, "mb", AtMost, ""
	c.Payout.Steps = stepRungs("932", "0.5", "920", "1")
	return c
}

// shippedMelissa returns the track of Hurricane Melissa of 2025.
func shippedMelissa(t *testing.T) hazard.Storm {
	t.Helper()
	for _, storm := range hazard.Shipped().Storms() {
		if storm.ID == "AL132025" {
			return storm
		}
	}
	t.Fatal("AL132025 is not in the shipped tracks")
	return hazard.Storm{}
}

func TestMelissaPressureOverJamaica(t *testing.T) {
	t.Parallel()
	year := Period{utcDate(2025, 1, 1), utcDate(2026, 1, 1)}
	for index, place := range map[string]Place{
		"892": {Kind: Circle, Latitude: 18.11, Longitude: -77.3, RadiusKM: 120}, // touched on the way from the fix south of Jamaica to the landfall
		"897": {Kind: Circle, Latitude: 18.4, Longitude: -77.9, RadiusKM: 30},   // touched on the way from the landfall on
	} {
		storm, cover := shippedMelissa(t), pressureCover(120)
		cover.Place = place
		d := Evaluate(cover, year, year.From, Occurrence{Storm: &storm, Stage: Final})
		require.True(t, d.Met)
		require.Equal(t, index, d.Index.String())
		require.Equal(t, "1", d.Factor.String())
		require.Equal(t, time.October, d.OccurredAt.Month())
	}
}

func TestLowerPressureTakesPrecedence(t *testing.T) {
	t.Parallel()
	at := func(hour int) time.Time { return utcDate(2018, 10, 10).Add(time.Duration(hour) * time.Hour) }
	where := hazard.Point{Latitude: 18.11, Longitude: -77.3}
	storm := hazard.Storm{ID: "x", Fixes: []hazard.Fix{
		{At: at(0), Where: where, PressureHPA: decimalPtr(mustDecimal("931"))},
		{At: at(6), Where: where, PressureHPA: decimalPtr(mustDecimal("925")), WindKN: decimalPtr(mustDecimal("150"))},
		{At: at(24), Where: where},
	}}
	d := evaluateStormAt(pressureCover(50), storm)
	require.Equal(t, "925", d.Index.String(), "both pay half")
	require.Equal(t, "0.5", d.Factor.String())
	storm.Fixes = storm.Fixes[2:]
	require.Equal(t, OutsidePlace, evaluateStormAt(pressureCover(50), storm).Reason, "without a pressure nothing is measured")
}

func TestPressureNeedsItsMembers(t *testing.T) {
	t.Parallel()
	require.NoError(t, pressureCover(50).Validate())
	cover := pressureCover(50)
	cover.Trigger.Wind = LargerOfEnds
	require.ErrorContains(t, cover.Validate(), "wind is for sustained_wind")
	cover = pressureCover(50)
	cover.Trigger.Direction, cover.Payout.Steps = AtLeast, stepRungs("920", "0.5")
	require.ErrorContains(t, cover.Validate(), "direction is at_most")
}
