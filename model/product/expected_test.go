package product_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/pricing"
)

// TestPricesAreOfTheExpectedOrder holds the rate on line of the default covers, to a
// tenth of a percentage point, against figures that were computed elsewhere.
func TestPricesAreOfTheExpectedOrder(t *testing.T) {
	t.Parallel()
	quake := func(latitude, longitude float64, more string) string {
		return fmt.Sprintf(`{"partner":"acme","location":{"latitude":%g,"longitude":%g}%s}`, latitude, longitude, more)
	}
	for name, test := range map[string]struct {
		product, context string
		percent          float64
	}{
		"Hualien":             {"quake-circle", quake(23.98, 121.61, ""), 14.5},
		"Santiago":            {"quake-circle", quake(-33.45, -70.67, ""), 3.7},
		"Santiago, any depth": {"quake-circle", quake(-33.45, -70.67, `,"maximum_depth_km":800`), 3.9},
		"Tokyo":               {"quake-circle", quake(35.68, 139.69, ""), 2.9},
		"Mexico City":         {"quake-circle", quake(19.43, -99.13, ""), 1.0},
		"Berlin":              {"quake-circle", quake(52.52, 13.40, ""), 0.6},
		"Miami":               {"cyclone-circle", `{"partner":"acme"}`, 7.5},
		"Milwaukee, excess":   {"rain-excess", `{"partner":"acme"}`, 14.8},
		"Merced, excess":      {"rain-excess", `{"partner":"acme","station":"Merced"}`, 2.9},
		"Milwaukee, deficit":  {"rain-deficit", `{"partner":"acme"}`, 20.1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q, err := shipped(t, test.product).Price([]byte(test.context), asOf, hazard.Shipped())
			require.NoError(t, err)
			require.InDelta(t, test.percent, 100*q.Price.RateOnLine.InexactFloat64(), 0.1)
		})
	}
}

// TestOneMoreRungNeverCostsLess is what a partner found: the mean severity of the old formula
// fell with every small payout.
func TestOneMoreRungNeverCostsLess(t *testing.T) {
	t.Parallel()
	price := func(steps string) int64 {
		q, err := shipped(t, "quake-circle").Price([]byte(`{"partner":"acme","location":{"latitude":37.77,"longitude":-122.42},"steps":`+steps+`}`), asOf, hazard.Shipped())
		require.NoError(t, err)
		return q.Price.Premium.Amount
	}
	one := price(`[{"threshold":"6.5","factor":"1"}]`)
	two := price(`[{"threshold":"5.5","factor":"0.01"},{"threshold":"6.5","factor":"1"}]`)
	require.Greater(t, two, one)
	require.Less(t, two, one+one/10)
}

// TestUninsurableNamesCoverThatWouldDo prices what a refusal suggests.
func TestUninsurableNamesCoverThatWouldDo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ product, context string }{
		"quakes":      {"quake-circle", `{"partner":"acme","location":{"latitude":-15,"longitude":167.5},"radius_km":200%s}`},
		"a dry place": {"rain-deficit", `{"partner":"acme","station":"Merced"%s}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := shipped(t, test.product)
			_, err := p.Price(fmt.Appendf(nil, test.context, ""), asOf, hazard.Shipped())
			var dear *pricing.Uninsurable
			require.ErrorAs(t, err, &dear)
			require.NotNil(t, dear.Remedy)
			require.NotEmpty(t, dear.Remedy.Term)
			more := `,"term":"` + dear.Remedy.Term + `"`
			if dear.Remedy.StartsAt != nil {
				more += `,"starts_at":"` + dear.Remedy.StartsAt.Format(time.RFC3339) + `"`
			}
			_, err = p.Price(fmt.Appendf(nil, test.context, more), asOf, hazard.Shipped())
			require.NoError(t, err, more)
			if test.product != "quake-circle" {
				require.Nil(t, dear.Remedy.Factor)
				return
			}
			steps := ""
			for _, rung := range p.Document().Payout.Steps {
				steps += fmt.Sprintf(`,{"threshold":%q,"factor":%q}`, rung.Threshold, rung.Factor.Mul(*dear.Remedy.Factor))
			}
			_, err = p.Price(fmt.Appendf(nil, test.context, `,"steps":[`+steps[1:]+`]`), asOf, hazard.Shipped())
			require.NoError(t, err, steps)
			require.ErrorContains(t, dear, "every factor multiplied by "+dear.Remedy.Factor.String()+" would do")
			require.True(t, dear.Remedy.Factor.LessThan(decimal.NewFromInt(1)))
		})
	}
}
