package trigger

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/money"
)

// measuredCover pays 100.00 from magnitude 6 and is decided by usgs.
func measuredCover() Cover {
	threshold := decimal.NewFromInt(6)
	return Cover{
		Limit: money.New(10000, "USD"), Term: "P365D", Place: Place{Kind: Circle, RadiusKM: 50},
		Trigger: Trigger{Kind: Earthquake, Index: "magnitude", Unit: "mw", Direction: AtLeast, DecidesOn: Final}, Payout: Payout{Shape: Lump, Threshold: &threshold},
		Measurement: &Measurement{
			Sources: []MeasurementSource{{"usgs", Preliminary}}, Rule: MeasurementRule{Kind: FirstOf},
			Wait: "P7D", Fallback: FallbackNone, LongStop: "P90D", ChallengeWindow: "P30D",
		},
	}
}

func TestOnlyNamedSourcesMeetTheTrigger(t *testing.T) {
	t.Parallel()
	at := time.Date(2018, 2, 6, 0, 0, 0, 0, time.UTC)
	period := Period{at.AddDate(0, 0, -1), at.AddDate(0, 0, 1)}
	c := measuredCover()
	require.NoError(t, c.Validate())
	quake := Occurrence{Source: "usgs", Stage: Final, Quake: &hazard.Quake{At: at, Magnitude: decimal.NewFromInt(7)}}
	require.True(t, EvaluateReport(c, period, period.From, quake).Met)
	quake.Source = "emsc"
	d := EvaluateReport(c, period, period.From, quake)
	require.False(t, d.Met)
	require.Equal(t, SourceNotNamed, d.Reason)
	require.Zero(t, d.Amount)
	require.True(t, d.Factor.IsZero())
	require.Equal(t, "7", d.Index.String(), "it can be compared")
	require.True(t, Evaluate(c, period, period.From, quake).Met, "the trigger itself knows no sources")
	require.Equal(t, Preliminary, c.DecidingStage())
	c.Measurement = nil
	require.True(t, EvaluateReport(c, period, period.From, quake).Met, "without a measurement every source counts")
	require.Equal(t, Final, c.DecidingStage())
}

func TestCoverRefusesAnInvalidMeasurement(t *testing.T) {
	t.Parallel()
	c := measuredCover()
	c.Measurement.Rule.M = 2
	c.Measurement.Sources = append(c.Measurement.Sources, MeasurementSource{"USGS", Retracted})
	require.ErrorContains(t, c.Validate(), "measurement/rule/m: only m_of_n has m")
	require.ErrorContains(t, c.Validate(), "measurement/sources/1/source: use the name of a registered source")
	require.ErrorContains(t, c.Validate(), "measurement/sources/1/stage: use preliminary or final")
}
