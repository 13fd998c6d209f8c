package trigger

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func newRing(share string, pairs ...string) Ring {
	return Ring{RadiusShare: mustDecimal(share), Steps: stepRungs(pairs...)}
}

func TestPayoutValidate(t *testing.T) {
	t.Parallel()
	one := decimalPtr(mustDecimal("1"))
	tests := []struct {
		name      string
		payout    Payout
		direction Direction
		want      string
	}{
		{"rings", Payout{Shape: Step, Rings: []Ring{newRing("0.5", "64", "1"), newRing("1", "64", "0.5")}}, AtLeast, ""},
		{"no direction", lumpPayout, "", `direction "" is neither`},
		{"no shape", Payout{}, AtLeast, `shape "" is none of`},
		{"lump without threshold", Payout{Shape: Lump}, AtLeast, "shape lump needs threshold"},
		{"lump with steps", Payout{Shape: Lump, Threshold: one, Steps: stepRungs("1", "1")}, AtLeast, "has no use for steps"},
		{"step without steps", Payout{Shape: Step}, AtLeast, "shape step needs steps"},
		{"steps and rings", Payout{Shape: Step, Steps: stepRungs("1", "1"), Rings: []Ring{newRing("1", "1", "1")}}, AtLeast, "no use for steps here"},
		{"equal thresholds", Payout{Shape: Step, Steps: stepRungs("1", "0.5", "1.0", "1")}, AtLeast, "threshold 1.0 is not beyond"},
		{"excess descends", Payout{Shape: Step, Steps: stepRungs("2", "0.5", "1", "1")}, AtLeast, "threshold 1 is not beyond the one before it, 2"},
		{"deficit ascends", Payout{Shape: Step, Steps: stepRungs("1", "0.5", "2", "1")}, AtMost, "threshold 2 is not beyond"},
		{"factor of nothing", Payout{Shape: Step, Steps: stepRungs("1", "0")}, AtLeast, "factor 0 is not above 0"},
		{"factor above all", Payout{Shape: Step, Steps: stepRungs("1", "1.01")}, AtLeast, "factor 1.01 is not above 0 and at most 1"},
		{"factor falls", Payout{Shape: Step, Steps: stepRungs("1", "0.5", "2", "0.4")}, AtLeast, "factor 0.4 is below that of a milder"},
		{"ring without steps", Payout{Shape: Step, Rings: []Ring{newRing("1")}}, AtLeast, "a ring needs steps"},
		{"ring of nothing", Payout{Shape: Step, Rings: []Ring{newRing("0", "1", "1"), newRing("1", "1", "1")}}, AtLeast, "radius_share 0 is not above 0"},
		{"rings inside out", Payout{Shape: Step, Rings: []Ring{newRing("1", "1", "1"), newRing("0.5", "1", "1")}}, AtLeast, "radius_share 0.5 does not ascend"},
		{"rings end early", Payout{Shape: Step, Rings: []Ring{newRing("0.9", "1", "1")}}, AtLeast, "the outermost radius_share is 0.9, not 1"},
		{"rings of a deficit", Payout{Shape: Step, Rings: []Ring{newRing("1", "1", "1")}}, AtMost, "rings are for direction at_least"},
		{"linear without room", Payout{Shape: Linear, Attach: one, Exhaust: one}, AtLeast, "exhaust 1 is not beyond attach 1"},
		{"linear the wrong way", linearPayout, AtMost, "exhaust 250 is not beyond attach 100"},
		{"linear without exhaust", Payout{Shape: Linear, Attach: one}, AtLeast, "shape linear needs exhaust"},
		{"tick of no size", Payout{Shape: Tick, Attach: one, TickSize: decimalPtr(mustDecimal("0")), TickShare: one}, AtLeast, "tick_size 0 is not above 0"},
		{"tick above all", Payout{Shape: Tick, Attach: one, TickSize: one, TickShare: decimalPtr(mustDecimal("2"))}, AtLeast, "tick_share 2 is not above 0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := test.payout.Validate(test.direction)
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestLowestThreshold(t *testing.T) {
	t.Parallel()
	rings := Payout{Shape: Step, Rings: []Ring{newRing("0.5", "96", "1"), newRing("1", "64", "0.2", "113", "0.6")}}
	for name, test := range map[string]struct {
		payout            Payout
		threshold, factor string
	}{
		"lump":   {lumpPayout, "6.5", "1"},
		"step":   {stepPayout, "6", "1"},
		"rings":  {rings, "64", "1"},
		"linear": {linearPayout, "100", "1"},
		"tick":   {tickPayout, "50", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.factor, test.payout.LargestFactor().String())
			require.True(t, mustDecimal(test.threshold).Equal(test.payout.LowestThreshold()))
		})
	}
}

func TestCoverValidate(t *testing.T) {
	t.Parallel()
	for _, cover := range []Cover{quakeCover(), stormCover(), rainCover(AtMost, droughtPayout)} {
		require.NoError(t, cover.Validate())
	}
	tests := map[string]struct {
		change func(*Cover)
		want   string
	}{
		"no limit":                {func(c *Cover) { c.Limit.Amount = 0 }, "the limit is not above 0"},
		"no term":                 {func(c *Cover) { c.Term = "" }, `term: "" is not an ISO 8601 duration`},
		"waiting":                 {func(c *Cover) { c.WaitingPeriod = "3 days" }, "waiting_period"},
		"reporting":               {func(c *Cover) { c.ReportingWindow = "P" }, "reporting_window"},
		"latitude":                {func(c *Cover) { c.Place.Latitude = 90.1 }, "latitude 90.1"},
		"longitude":               {func(c *Cover) { c.Place.Longitude = -181 }, "longitude -181"},
		"radius":                  {func(c *Cover) { c.Place.RadiusKM = 0 }, "radius 0 km"},
		"place":                   {func(c *Cover) { c.Place.Kind = "square" }, `place "square"`},
		"station":                 {func(c *Cover) { c.Place = Place{Kind: AtStation} }, "the place needs a station"},
		"quake in a box":          {func(c *Cover) { c.Place = Place{Kind: InBox, Borders: Borders{-79, 17, -76, 19}} }, "a box is for the index central_pressure"},
		"quake at a station":      {func(c *Cover) { c.Place = Place{Kind: AtStation, Station: "x"} }, "cannot happen at a station"},
		"kind":                    {func(c *Cover) { c.Trigger.Kind = "flood" }, `trigger "flood"`},
		"storm without rule":      {func(c *Cover) { c.Trigger.Kind = Windstorm }, `wind ""`},
		"excess without wet_mm":   {func(c *Cover) { *c = rainCover(AtLeast, linearPayout); c.Trigger.WetMM = nil }, "needs wet_mm, above 0"},
		"excess with wet_mm 0":    {func(c *Cover) { *c = rainCover(AtLeast, linearPayout); c.Trigger.WetMM = new(mustDecimal("0")) }, "needs wet_mm, above 0"},
		"excess without dry_days": {func(c *Cover) { *c = rainCover(AtLeast, linearPayout); c.Trigger.DryDays = 0 }, "needs dry_days, at least 1"},
		"excess without days":     {func(c *Cover) { *c = rainCover(AtLeast, linearPayout); c.Trigger.Days = 0 }, "needs days, at least 1"},
		"excess by the month":     {func(c *Cover) { *c = rainCover(AtLeast, linearPayout); c.Trigger.Calendar = Month }, "calendar is for a deficit"},
		"deficit of a week":       {func(c *Cover) { *c = rainCover(AtMost, droughtPayout); c.Trigger.Calendar = "week" }, `calendar "week" is neither`},
		"deficit of spells":       {func(c *Cover) { *c = rainCover(AtMost, droughtPayout); c.Trigger.Days = 3 }, "has a calendar instead"},
		"rings at a station": {func(c *Cover) {
			*c = rainCover(AtLeast, linearPayout)
			c.Payout = Payout{Shape: Step, Rings: []Ring{newRing("1", "64", "0.2")}}
		}, "only a circle has rings"},
		"payout of no use": {func(c *Cover) { c.Payout = Payout{} }, `shape ""`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cover := quakeCover()
			test.change(&cover)
			require.ErrorContains(t, cover.Validate(), test.want)
		})
	}
}
