package pricing_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/quoting/pricing"
	"parapet/model/quoting/product"
)

// asOf is the time of the tests' quotes.
var asOf = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// quoteAnswer is a quote as a client receives it: only the JSON.
type quoteAnswer map[string]any

// priceAndDecode prices a context and returns the answer; nil if it is uninsurable.
func priceAndDecode(t *testing.T, key, context string) quoteAnswer {
	t.Helper()
	for _, p := range product.Shipped() {
		if p.Key() != key {
			continue
		}
		quoted, err := p.Price([]byte(context), asOf, hazard.Shipped())
		var refused *product.ContextError
		if errors.As(err, &refused) {
			return nil // outside the basin, or no whole month in the term
		}
		var uninsurable *pricing.UninsurableError
		if errors.As(err, &uninsurable) {
			require.True(t, uninsurable.RateOnLine.GreaterThan(uninsurable.Maximum))
			return nil
		}
		require.NoError(t, err, context)
		events, err := pricing.ReweighEvents(quoted.Cover, quoted.Basis, quoted.History, hazard.Shipped())
		require.NoError(t, err)
		text, err := json.Marshal(map[string]any{
			"events": events, "cover": quoted.Cover, "price": quoted.Price, "basis": quoted.Basis, "history": quoted.History,
		})
		require.NoError(t, err)
		var a quoteAnswer
		require.NoError(t, json.Unmarshal(text, &a))
		return a
	}
	t.Fatalf("no product %s", key)
	return nil
}

// valueAt returns a member by its path; numbers and decimal strings become fractions.
func (a quoteAnswer) valueAt(path string) any {
	var value any = map[string]any(a)
	for name := range strings.SplitSeq(path, ".") {
		value = value.(map[string]any)[name]
	}
	return value
}

func (a quoteAnswer) ratAt(path string) *big.Rat { return parseRat(a.valueAt(path)) }

func parseRat(value any) *big.Rat {
	x, ok := new(big.Rat).SetString(fmt.Sprint(value))
	if !ok {
		x.SetFloat64(value.(float64))
	}
	return x
}

// recomputeSums returns Σ L_y, Σ s and Σ a of the weighed events.
func (a quoteAnswer) recomputeSums() (annual, squares, weights *big.Rat) {
	annual, squares, weights = new(big.Rat), new(big.Rat), new(big.Rat)
	years := map[any]*big.Rat{}
	for _, event := range a.valueAt("events").([]any) {
		e := event.(map[string]any)
		year := years[e["year"]]
		if year == nil {
			year = new(big.Rat)
			years[e["year"]] = year
		}
		year.Add(year, parseRat(e["share"]))
		squares.Add(squares, parseRat(e["share_square"]))
		weights.Add(weights, parseRat(e["weight"]))
	}
	for _, year := range years {
		if year.Cmp(big.NewRat(1, 1)) > 0 {
			year = big.NewRat(1, 1)
		}
		annual.Add(annual, year)
	}
	return annual, squares, weights
}

// recomputeLargestFactor computes F as the contract defines it.
func (a quoteAnswer) recomputeLargestFactor() *big.Rat {
	payout := a.valueAt("cover.payout").(map[string]any)
	if payout["shape"] != "step" {
		return big.NewRat(1, 1)
	}
	tables := []any{payout}
	if rings, ok := payout["rings"].([]any); ok {
		tables = rings
	}
	largest := new(big.Rat)
	for _, table := range tables {
		for _, rung := range table.(map[string]any)["steps"].([]any) {
			if factor := parseRat(rung.(map[string]any)["factor"]); factor.Cmp(largest) > 0 {
				largest = factor
			}
		}
	}
	return largest
}

// recomputePriorShare computes q: by the area or the width that smoothing adds, and by
// the season.
func (a quoteAnswer) recomputePriorShare() *big.Rat {
	q := big.NewRat(1, 1)
	if season, ok := a.valueAt("basis.season").(map[string]any); ok {
		from, _ := time.Parse("2006-01-02", "2026-"+season["from"].(string))
		to, _ := time.Parse("2006-01-02", "2026-"+season["to"].(string))
		if !to.After(from) {
			to = to.AddDate(1, 0, 0)
		}
		q.SetFrac64(int64(to.Sub(from).Hours()/24), 365)
	}
	c := a.ratAt("basis.smoothing_km")
	if c.Sign() == 0 {
		return q
	}
	r := a.recomputeRadius()
	part := new(big.Rat).Add(r, new(big.Rat).Mul(c, big.NewRat(3, 1)))
	part.Quo(r, part)
	if a.valueAt("cover.trigger.kind") == "earthquake" {
		part.Mul(part, part)
	}
	return q.Mul(q, part)
}

// recomputeRadius returns the radius of a circle, or a quarter of a box's height and width.
func (a quoteAnswer) recomputeRadius() *big.Rat {
	place := a.valueAt("cover.place").(map[string]any)
	if place["kind"] == "circle" {
		return parseRat(place["radius_km"])
	}
	south, north := place["south"].(float64), place["north"].(float64) // of the northern hemisphere
	degree := hazard.EarthRadiusKM * math.Pi / 180
	width := (place["east"].(float64) - place["west"].(float64)) * degree * math.Cos(south*math.Pi/180)
	return new(big.Rat).SetFloat64(((north-south)*degree + width) / 4)
}

func ratFromFloat(x *big.Rat) *big.Float { return new(big.Float).SetPrec(400).SetRat(x) }

func halfUp(x *big.Float) int64 {
	y, _ := new(big.Float).SetPrec(400).Add(x, big.NewFloat(0.5)).Int64()
	return y
}

// recomputeLines recomputes the premium and its lines from the answer alone.
func (a quoteAnswer) recomputeLines() map[string]int64 {
	annual, squares, _ := a.recomputeSums()
	limit, n := a.ratAt("cover.limit.amount"), a.ratAt("basis.years")
	added := new(big.Rat).Mul(a.recomputePriorShare(), big.NewRat(1, 2))
	added.Mul(added, a.recomputeLargestFactor())
	expected := annual.Quo(annual.Mul(limit, annual.Add(annual, added)), n)
	variance := squares.Add(squares, added.Mul(added, a.recomputeLargestFactor()))
	variance.Quo(variance.Mul(variance, new(big.Rat).Mul(limit, limit)), n)
	s := new(big.Float).SetPrec(400).Sqrt(ratFromFloat(variance))
	rootN := new(big.Float).SetPrec(400).Sqrt(ratFromFloat(n))
	uncertainty := new(big.Float).Mul(ratFromFloat(a.ratAt("basis.uncertainty_factor")), s)
	uncertainty.Quo(uncertainty, rootN)
	risk := new(big.Float).Mul(ratFromFloat(a.ratAt("basis.risk_factor")), s)
	technical := new(big.Float).Add(ratFromFloat(expected), uncertainty)
	technical.Add(technical, risk)
	net := new(big.Rat).Sub(big.NewRat(1, 1), a.ratAt("basis.expense_share"))
	net.Sub(net, a.ratAt("basis.commission_share"))
	premium := new(big.Float).Quo(technical, ratFromFloat(net))
	lines := map[string]int64{
		"expected_loss": halfUp(ratFromFloat(expected)), "uncertainty_load": halfUp(uncertainty), "risk_load": halfUp(risk),
		"expense": halfUp(new(big.Float).Mul(premium, ratFromFloat(a.ratAt("basis.expense_share")))),
	}
	total := halfUp(premium)
	lines["commission"] = total - lines["expected_loss"] - lines["uncertainty_load"] - lines["risk_load"] - lines["expense"]
	if least := a.ratAt("basis.minimum_premium.amount").Num().Int64(); least > total {
		lines["minimum_premium"] = least - total
	}
	return lines
}

// checkPremium compares the answer's price with the recomputed one.
func (a quoteAnswer) checkPremium(t *testing.T, context string) {
	t.Helper()
	given, sum := map[string]int64{}, int64(0)
	for _, line := range a.valueAt("price.lines").([]any) {
		l := line.(map[string]any)
		amount := int64(l["amount"].(map[string]any)["amount"].(float64))
		given[l["kind"].(string)] = amount
		sum += amount
	}
	require.Equal(t, a.recomputeLines(), given, context)
	annual, squares, weights := a.recomputeSums()
	for member, want := range map[string]*big.Rat{
		"annual_share_sum": annual, "square_sum": squares, "weight_sum": weights, "largest_factor": a.recomputeLargestFactor(),
	} {
		require.Zero(t, want.Cmp(a.ratAt("basis."+member)), "%s of %s", member, context)
	}
	require.Equal(t, a.recomputePriorShare().FloatString(9), a.ratAt("basis.prior_share").FloatString(9), context)
	require.Equal(t, float64(len(a.valueAt("events").([]any))), a.valueAt("basis.weighed_events"))
	require.Equal(t, float64(sum), a.valueAt("price.premium.amount"), context)
	for _, past := range a.valueAt("history").([]any) {
		p := past.(map[string]any)
		payout := new(big.Rat).Mul(parseRat(p["factor"]), a.ratAt("cover.limit.amount"))
		require.InDelta(t, float64(halfUp(ratFromFloat(payout))), p["payout"].(map[string]any)["amount"], 1, "%s: the factor is shown with 18 decimals", context)
	}
	require.Equal(t, float64(len(a.valueAt("history").([]any))), a.valueAt("basis.paying_events"))
}

// TestPremiumIsRecomputableFromQuote recomputes prices from the JSON alone, exact to
// the cent.
func TestPremiumIsRecomputableFromQuote(t *testing.T) {
	t.Parallel()
	for key, draw := range map[string]func(*rand.Rand) string{
		"quake-circle": drawQuake, "cyclone-circle": drawCyclone, "rain-excess": drawExcess, "rain-deficit": drawDeficit, "heat-days": drawHeat, "cyclone-pressure": drawPressure,
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, 2)) // the same quotes in every run
			priced := 0
			for range 100 {
				context := draw(random)
				if a := priceAndDecode(t, key, context); a != nil {
					a.checkPremium(t, context)
					priced++
				}
			}
			require.Greater(t, priced, 30)
		})
	}
}

func pickOne[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }

// drawTerms returns the part of a context that all products share; shortest is the
// shortest term of the product.
func drawTerms(random *rand.Rand, shortest string) string {
	bounds := map[string][2]int64{
		"USD": {100_000, 1_000_000_000}, "EUR": {100_000, 1_000_000_000}, "GBP": {100_000, 1_000_000_000},
		"JPY": {150_000, 1_500_000_000}, "KWD": {300_000, 3_000_000_000}, "TWD": {3_000_000, 30_000_000_000},
	}
	currency := pickOne(random, "USD", "EUR", "GBP", "JPY", "KWD", "TWD")
	least, most := bounds[currency][0], bounds[currency][1]
	return fmt.Sprintf(`"partner":"acme","limit":{"amount":%d,"currency":%q},"term":%q,"starts_at":%s`,
		least+random.Int64N(most-least+1), currency, pickOne(random, "P365D", "P366D", "P1Y", "P6M", "P90D", "P30D", shortest),
		pickOne(random, "null", `"2026-11-15T00:00:00Z"`, `"2026-07-01T08:30:00+08:00"`, `"2027-02-28T23:59:59Z"`))
}

func drawQuake(random *rand.Rand) string {
	quakes := hazard.Shipped().Quakes()
	at := quakes[random.IntN(len(quakes))].Where
	return fmt.Sprintf(`{%s,"location":{"latitude":%f,"longitude":%f},"radius_km":%d%s}`,
		drawTerms(random, "P1D"), at.Latitude, at.Longitude, 5+random.IntN(100), pickOne(random, "",
			`,"steps":[{"threshold":"5.5","factor":"0.01"},{"threshold":"6.3","factor":"0.333"},{"threshold":"7.7","factor":"0.7777"}]`))
}

func drawCyclone(random *rand.Rand) string {
	return fmt.Sprintf(`{%s,"location":{"latitude":%f,"longitude":%f},"radius_km":%d}`,
		drawTerms(random, "P1D"), 10+35*random.Float64(), -97+40*random.Float64(), 5+random.IntN(200))
}

func drawExcess(random *rand.Rand) string {
	attach := 60 + random.IntN(120)
	return fmt.Sprintf(`{%s,"station":%q,"days":%d,"attach":"%d.%d","exhaust":"%d"}`, drawTerms(random, "P8D"),
		pickOne(random, "Milwaukee", "Merced"), 1+random.IntN(15), attach, random.IntN(10), attach+50+random.IntN(300))
}

func drawDeficit(random *rand.Rand) string {
	attach := 1 + random.IntN(12)
	return fmt.Sprintf(`{%s,"station":%q,"days":%d,"attach":"%d","exhaust":"0.%d"}`, drawTerms(random, "P8D"),
		pickOne(random, "Milwaukee", "Merced"), 25+random.IntN(60), attach, random.IntN(10))
}

func drawHeat(random *rand.Rand) string {
	attach := 10 + random.IntN(20)
	return fmt.Sprintf(`{%s,"attach":"%d","exhaust":"%d"}`, drawTerms(random, "P8D"), attach, attach+1+random.IntN(30))
}

func drawPressure(random *rand.Rand) string {
	if random.IntN(2) == 0 {
		west, south := -90+30*random.Float64(), 12+20*random.Float64()
		return fmt.Sprintf(`{%s,"box":{"west":%f,"south":%f,"east":%f,"north":%f}}`,
			drawTerms(random, "P1D"), west, south, west+0.5+4*random.Float64(), south+0.5+4*random.Float64())
	}
	return fmt.Sprintf(`{%s,"location":{"latitude":%f,"longitude":%f},"radius_km":%d}`,
		drawTerms(random, "P1D"), 12+20*random.Float64(), -90+30*random.Float64(), 20+random.IntN(200))
}
