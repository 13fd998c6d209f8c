package product_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/quoting/pricing"
)

// expectedRate is a rate on line in percent of the limit: the result of the formula on
// the shipped data, and the results computed before this service priced it, on the data
// to 2022 and on other data to 2016; 0 if not computed.
type expectedRate struct {
	name, product, context string
	percent                float64
	to2022, to2016         float64
}

// expectedRates returns the rates of the default covers.
func expectedRates() []expectedRate {
	quake := func(latitude, longitude float64, more string) string {
		return fmt.Sprintf(`{"partner":"acme","location":{"latitude":%g,"longitude":%g}%s}`, latitude, longitude, more)
	}
	const anyDepth = `,"maximum_depth_km":800`
	return []expectedRate{
		{"Hualien", "quake-circle", quake(23.98, 121.61, ""), 14.47, 14.5, 14.5},
		{"Santiago", "quake-circle", quake(-33.45, -70.67, ""), 3.71, 0, 4}, // the 100 km limit excludes two earthquakes
		{"Santiago, any depth", "quake-circle", quake(-33.45, -70.67, anyDepth), 3.92, 3.9, 4},
		{"Padang", "quake-circle", quake(-0.95, 100.35, ""), 3.77, 0, 4},
		{"Kathmandu", "quake-circle", quake(27.72, 85.32, ""), 3.36, 0, 3.6},
		{"Tokyo", "quake-circle", quake(35.68, 139.69, ""), 2.87, 2.9, 3.2},
		{"Lima", "quake-circle", quake(-12.05, -77.04, ""), 2.20, 0, 2.5},
		{"Los Angeles", "quake-circle", quake(34.05, -118.24, ""), 2.12, 0, 2.3},
		{"Istanbul", "quake-circle", quake(41.01, 28.98, ""), 1.69, 0, 1.8},
		{"San Francisco", "quake-circle", quake(37.77, -122.42, ""), 1.14, 0, 1.4},
		{"Mexico City", "quake-circle", quake(19.43, -99.13, ""), 1.0, 1.0, 0.6},
		{"Berlin", "quake-circle", quake(52.52, 13.40, ""), 0.58, 0, 0.6},
		{"Miami, wind", "cyclone-circle", `{"partner":"acme"}`, 7.5, 7.5, 0},
		{"Milwaukee, excess", "rain-excess", `{"partner":"acme"}`, 14.8, 14.8, 0},
		{"Merced, excess", "rain-excess", `{"partner":"acme","station":"Merced"}`, 2.9, 2.9, 0},
		{"Jamaica, pressure", "cyclone-pressure", `{"partner":"acme"}`, 14.36, 14.4, 0},
		{"Milwaukee, heat", "heat-days", `{"partner":"acme"}`, 8.58, 8.6, 0},
		{"Milwaukee, deficit", "rain-deficit", `{"partner":"acme"}`, 20.1, 20.1, 0},
	}
}

// TestPricesAreOfTheExpectedOrder compares the rate on line of each quote with
// independent results: within a tenth of a percentage point on the same data, and
// within a quarter of the rate where only the data to 2016 was priced. -v prints the
// table.
func TestPricesAreOfTheExpectedOrder(t *testing.T) {
	t.Parallel()
	for _, expected := range expectedRates() {
		q, err := shippedProduct(t, expected.product).Price([]byte(expected.context), asOf, hazard.Shipped())
		require.NoError(t, err, expected.name)
		rate := 100 * q.Price.RateOnLine.InexactFloat64()
		t.Logf("%-19s %6.2f %% here; elsewhere %s to 2022, %s to 2016", expected.name, rate, percent(expected.to2022), percent(expected.to2016))
		require.InDelta(t, expected.percent, rate, 0.05, expected.name)
		if expected.to2022 != 0 {
			require.InDelta(t, expected.to2022, rate, 0.1, expected.name)
		} else {
			require.InEpsilon(t, expected.to2016, rate, 0.25, expected.name)
		}
	}
}

func percent(rate float64) string {
	if rate == 0 {
		return "      –"
	}
	return fmt.Sprintf("%5.1f %%", rate)
}

// TestOneMoreRungNeverCostsLess is a regression test for a partner's report: the mean
// severity of formula 1 fell with every small payout.
func TestOneMoreRungNeverCostsLess(t *testing.T) {
	t.Parallel()
	price := func(steps string) int64 {
		q, err := shippedProduct(t, "quake-circle").Price([]byte(`{"partner":"acme","location":{"latitude":37.77,"longitude":-122.42},"steps":`+steps+`}`), asOf, hazard.Shipped())
		require.NoError(t, err)
		return q.Price.Premium.Amount
	}
	one := price(`[{"threshold":"6.5","factor":"1"}]`)
	two := price(`[{"threshold":"5.5","factor":"0.01"},{"threshold":"6.5","factor":"1"}]`)
	require.Greater(t, two, one)
	require.Less(t, two, one+one/10)
}

// TestUninsurableSuggestsInsurableCover prices the suggestion of a refusal, and one
// more day and one more hundredth than suggested.
func TestUninsurableSuggestsInsurableCover(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ product, context, term string }{
		"quakes":             {"quake-circle", `"location":{"latitude":-15,"longitude":167.5},"radius_km":200`, "P365D"},
		"quakes of a season": {"quake-circle", `"location":{"latitude":-15,"longitude":167.5},"radius_km":300`, "P200D"},
		"storms":             {"cyclone-circle", `"location":{"latitude":30,"longitude":-76},"radius_km":300`, "P1Y"},
		"spells":             {"rain-excess", `"attach":"50","exhaust":"90"`, "P365D"},
		"a dry place":        {"rain-deficit", `"station":"Merced"`, "P365D"},
		"dekads of a season": {"rain-deficit", `"calendar":"dekad"`, "P183D"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := shippedProduct(t, test.product)
			price := func(more string) *pricing.UninsurableError {
				_, err := p.Price([]byte(`{"partner":"acme",`+test.context+more+`}`), asOf, hazard.Shipped())
				var dear *pricing.UninsurableError
				if !errors.As(err, &dear) {
					require.NoError(t, err)
				}
				return dear
			}
			term := fmt.Sprintf(`,"term":%q`, test.term)
			remedy := price(term).Remedy
			require.NotNil(t, remedy)
			days, start := 0, asOf
			_, err := fmt.Sscanf(remedy.Term, "P%dD", &days)
			require.NoError(t, err)
			if remedy.StartsAt != nil {
				start = *remedy.StartsAt
			}
			require.Nil(t, price(termFrom(start, days)))
			require.NotNil(t, price(termFrom(start, days+1)))
			require.NotNil(t, price(termFrom(asOf, days+1)))
			for month := time.April; test.product == "rain-deficit" && month <= time.April+10; month++ {
				require.NotNil(t, price(termFrom(time.Date(2026, month, 1, 0, 0, 0, 0, time.UTC), days+1)), "none is longer")
			}
			if test.product != "quake-circle" {
				require.Nil(t, remedy.Steps)
				return
			}
			factors := make([]string, len(remedy.Steps))
			for i, rung := range remedy.Steps {
				factors[i] = rung.Factor.String()
			}
			require.Contains(t, price(term).Suggestion(), "the factors "+strings.Join(factors, ", ")+" would do")
			require.Nil(t, price(term+steps(remedy.Steps, decimal.Zero)))
			require.NotNil(t, price(term+steps(remedy.Steps, decimal.New(1, -2))), "a hundredth more")
		})
	}
}

func termFrom(start time.Time, days int) string {
	return fmt.Sprintf(`,"term":"P%dD","starts_at":%q`, days, start.Format(time.RFC3339))
}

// steps returns the context member with each factor increased by the same amount.
func steps(table []trigger.Rung, larger decimal.Decimal) string {
	steps := make([]string, len(table))
	for i, rung := range table {
		steps[i] = fmt.Sprintf(`{"threshold":%q,"factor":%q}`, rung.Threshold, rung.Factor.Add(larger))
	}
	return `,"steps":[` + strings.Join(steps, ",") + `]`
}

// TestSuggestedCoverIsSold checks the product's own bounds: a suggestion has no shorter
// term and no later start than the product allows.
func TestSuggestedCoverIsSold(t *testing.T) {
	t.Parallel()
	for _, from := range []time.Time{asOf, time.Date(2026, time.August, 10, 0, 0, 0, 0, time.UTC), time.Date(2027, time.February, 1, 0, 0, 0, 0, time.UTC)} {
		for _, attach := range []int{5, 30, 60, 90, 130, 200, 300} {
			context := fmt.Sprintf(`{"partner":"acme","station":"Merced","calendar":"dekad","attach":"%d","exhaust":"0"`, attach)
			p := shippedProduct(t, "rain-deficit")
			_, err := p.Price(fmt.Append(nil, context, `,"starts_at":"`, from.Format(time.RFC3339), `"}`), asOf, hazard.Shipped())
			var dear *pricing.UninsurableError
			if !errors.As(err, &dear) || dear.Remedy == nil {
				continue
			}
			days, start := 0, from
			_, err = fmt.Sscanf(dear.Remedy.Term, "P%dD", &days)
			require.NoError(t, err)
			if dear.Remedy.StartsAt != nil {
				start = *dear.Remedy.StartsAt
			}
			_, err = p.Price(fmt.Append(nil, context, termFrom(start, days), "}"), asOf, hazard.Shipped())
			require.NoError(t, err, "%s %d mm: %s", from, attach, dear.Suggestion())
		}
	}
}
