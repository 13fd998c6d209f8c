package pricing_test

import (
	"fmt"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/quoting/pricing"
)

// refusedCovers returns covers of each peril with each of its payout shapes.
func refusedCovers(t *testing.T) map[string]trigger.Cover {
	t.Helper()
	rungs := []trigger.Rung{{Threshold: mustDecimal("5"), Factor: mustDecimal("0.3333")}, {Threshold: mustDecimal("4"), Factor: mustDecimal("1")}}
	covers := map[string]trigger.Cover{}
	for _, key := range []string{"quake-circle", "cyclone-circle", "rain-excess", "rain-deficit", "dekads"} {
		product, calendar := key, trigger.Calendar("")
		if key == "dekads" {
			product, calendar = "rain-deficit", trigger.Dekad
		}
		base, _ := isOffered(t, product)
		if calendar != "" {
			base.Trigger.Calendar = calendar
		}
		mild, severe := rungs[0], rungs[1]
		if base.Trigger.Direction == trigger.AtLeast {
			mild.Threshold, severe.Threshold = mustDecimal("5.5"), mustDecimal("7")
		}
		if product == "rain-excess" {
			mild.Threshold, severe.Threshold = mustDecimal("120"), mustDecimal("240")
		}
		threshold, exhaust, unit, share := mild.Threshold, severe.Threshold, mustDecimal("1"), mustDecimal("0.5")
		for name, payout := range map[string]trigger.Payout{
			"lump":   {Shape: trigger.Lump, Threshold: &threshold},
			"step":   {Shape: trigger.Step, Steps: []trigger.Rung{mild, severe}},
			"linear": {Shape: trigger.Linear, Attach: &threshold, Exhaust: &exhaust},
			"tick":   {Shape: trigger.Tick, Attach: &threshold, TickSize: &unit, TickShare: &share},
			"rings":  {Shape: trigger.Step, Rings: []trigger.Ring{{RadiusShare: mustDecimal("1"), Steps: []trigger.Rung{mild, severe}}}},
		} {
			base.Payout = payout
			if base.Validate() == nil {
				covers[key+" "+name] = base
			}
		}
	}
	return covers
}

// TestRefusalOfEveryShapeAndPerilSuggestsSoldCover quotes each shape of payout with
// each peril above the largest rate on line, and then the steps that the refusal
// suggests.
func TestRefusalOfEveryShapeAndPerilSuggestsSoldCover(t *testing.T) {
	t.Parallel()
	covers := refusedCovers(t)
	require.Len(t, covers, 4+1+4+1+3*4, "rings need a circle")
	for name, c := range covers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, par := isOffered(t, "quake-circle")
			par.MinimumPremium, par.MaximumRateOnLine, par.Members = 0, mustDecimal("1000"), []string{"steps"}
			price, _, _, err := pricing.Burn(c, par, hazard.Shipped(), asOf)
			require.NoError(t, err)
			par.MaximumRateOnLine = price.RateOnLine.Mul(mustDecimal("0.4"))
			_, _, _, err = pricing.Burn(c, par, hazard.Shipped(), asOf)
			var dear *pricing.UninsurableError
			require.ErrorAs(t, err, &dear)
			require.NotEmpty(t, dear.Suggestion())
			if len(c.Payout.Steps) == 0 {
				return
			}
			require.NotNil(t, dear.Remedy)
			c.Payout.Steps = dear.Remedy.Steps
			require.Len(t, c.Payout.Steps, 2)
			for _, rung := range c.Payout.Steps {
				require.True(t, rung.Factor.Equal(rung.Factor.Truncate(4)), "a context takes four decimals, not %s", rung.Factor)
			}
			_, _, _, err = pricing.Burn(c, par, hazard.Shipped(), asOf)
			require.NoError(t, err)
			par.Members = nil
			_, _, _, err = pricing.Burn(covers[name], par, hazard.Shipped(), asOf)
			require.ErrorAs(t, err, &dear)
			require.True(t, dear.Remedy == nil || dear.Remedy.Steps == nil, "the product's factors are fixed")
		})
	}
}

// TestRefusalNamesWhatLowersThePrice checks the words for each peril and direction.
func TestRefusalNamesWhatLowersThePrice(t *testing.T) {
	t.Parallel()
	for key, test := range map[string]struct {
		members  []string
		calendar trigger.Calendar
		want     string
	}{
		"quake-circle":   {[]string{"location", "radius_km", "steps", "term"}, "", "another location or a smaller radius_km or higher thresholds"},
		"cyclone-circle": {[]string{"location", "radius_km"}, "", "another location or a smaller radius_km"},
		"rain-excess":    {[]string{"station", "days", "attach", "exhaust"}, "", "another station or a higher attach or a higher exhaust or fewer days"},
		"rain-deficit":   {[]string{"station", "calendar", "attach", "exhaust"}, trigger.Dekad, "another station or a lower attach or months instead of dekads"},
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			c, par := isOffered(t, key)
			if test.calendar != "" {
				c.Trigger.Calendar = test.calendar
			}
			par.MaximumRateOnLine, par.Members = decimal.New(1, -9), test.members
			_, _, _, err := pricing.Burn(c, par, hazard.Shipped(), asOf)
			var dear *pricing.UninsurableError
			require.ErrorAs(t, err, &dear)
			require.Nil(t, dear.Remedy)
			require.Equal(t, "to lower the price, choose "+test.want, dear.Suggestion())
			par.Members = nil
			_, _, _, err = pricing.Burn(c, par, hazard.Shipped(), asOf)
			require.ErrorAs(t, err, &dear)
			require.Equal(t, "this product has no cheaper cover there", dear.Suggestion())

			dear.Remedy, dear.Cheaper = &pricing.Remedy{Term: "P30D"}, []string{"a lower attach"}
			require.Equal(t, "a term of P30D would do; to lower the price otherwise, choose a lower attach", dear.Suggestion())
			require.Contains(t, fmt.Sprint(dear), dear.Suggestion())
		})
	}
}

// TestRefusalNamesNothingThatIsAtItsBound refuses covers that cannot take some of the ways.
func TestRefusalNamesNothingThatIsAtItsBound(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		product string
		members []string
		change  func(*trigger.Cover)
		want    string
	}{
		"one day":         {"rain-excess", []string{"station", "days"}, func(c *trigger.Cover) { c.Trigger.Days = 1 }, "another station"},
		"two days":        {"rain-excess", []string{"station", "days"}, func(c *trigger.Cover) { c.Trigger.Days = 2 }, "another station or fewer days"},
		"no rain":         {"rain-deficit", []string{"station", "exhaust"}, func(c *trigger.Cover) { c.Payout.Exhaust = new(decimal.Zero) }, "another station"},
		"some rain":       {"rain-deficit", []string{"station", "exhaust"}, func(c *trigger.Cover) { c.Payout.Exhaust = new(decimal.NewFromInt(1)) }, "another station or a lower exhaust"},
		"no whole month":  {"rain-deficit", []string{"station", "calendar"}, func(c *trigger.Cover) { c.Trigger.Calendar, c.Term = trigger.Dekad, "P27D" }, "another station"},
		"one whole month": {"rain-deficit", []string{"station", "calendar"}, func(c *trigger.Cover) { c.Trigger.Calendar, c.Term = trigger.Dekad, "P70D" }, "another station or months instead of dekads"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, par := isOffered(t, test.product)
			test.change(&c)
			par.MaximumRateOnLine, par.Members = decimal.New(1, -9), test.members
			_, _, _, err := pricing.Burn(c, par, hazard.Shipped(), asOf)
			var dear *pricing.UninsurableError
			require.ErrorAs(t, err, &dear)
			require.Equal(t, "to lower the price, choose "+test.want, dear.Suggestion())
		})
	}
}
