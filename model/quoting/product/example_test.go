package product

import (
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
)

// coverOf returns the default cover of a shipped product, with other members of the
// context merged in.
func coverOf(t *testing.T, key, context string) trigger.Cover {
	t.Helper()
	cover, err := shippedAs(t, key).exampleCover(Example{Context: jsontext.Value(context)}, hazard.Shipped())
	require.NoError(t, err)
	return cover
}

func shippedAs(t *testing.T, key string) *Product {
	t.Helper()
	all := Shipped()
	at := slices.IndexFunc(all, func(p *Product) bool { return p.Key() == key })
	require.GreaterOrEqual(t, at, 0, key)
	return all[at]
}

func number(text string) *decimal.Decimal {
	value := decimal.RequireFromString(text)
	return &value
}

func TestExampleSaysWhichPartOfItsExpectationDiffers(t *testing.T) {
	t.Parallel()
	got := trigger.Determination{Met: true, Reason: trigger.ThresholdMet, Index: number("6.5"), Factor: decimal.RequireFromString("0.5"), Amount: 500}
	want := Expectation{Met: true, Reason: trigger.ThresholdMet, Index: number("6.50"), Factor: decimal.RequireFromString("0.50"), Amount: 500}
	require.NoError(t, want.compareWith(got), "digits do not matter")
	for says, change := range map[string]func(*Expectation){
		"met is true (threshold_met), expected false":      func(x *Expectation) { x.Met = false },
		"reason is threshold_met, expected waiting_period": func(x *Expectation) { x.Reason = trigger.WaitingPeriod },
		"index is 6.5, expected 6.4":                       func(x *Expectation) { x.Index = number("6.4") },
		"index is 6.5, expected none":                      func(x *Expectation) { x.Index = nil },
		"factor is 0.5, expected 0.6":                      func(x *Expectation) { x.Factor = *number("0.6") },
		"amount is 500, expected 501":                      func(x *Expectation) { x.Amount = 501 },
		"reason is threshold_met, expected threshold_no":   func(x *Expectation) { x.Reason, x.Amount = "threshold_no", 1 },
	} {
		differs := want
		change(&differs)
		require.EqualError(t, differs.compareWith(got), says)
	}
	got.Index = nil
	require.EqualError(t, want.compareWith(got), "index is none, expected 6.50")
	want.Index = nil
	require.NoError(t, want.compareWith(got))
}

func TestExampleHasExactlyTheFactsOfItsTrigger(t *testing.T) {
	t.Parallel()
	quake, storm := &ExampleQuake{Magnitude: *number("6")}, []ExampleFix{{WindKN: number("80")}}
	daily := []*decimal.Decimal{number("50")}
	for _, key := range []string{"quake-circle", "cyclone-circle", "rain-excess"} {
		cover := coverOf(t, key, "{}")
		for name, example := range map[string]Example{
			"none": {}, "quake": {Quake: quake}, "storm": {Storm: storm}, "daily": {Daily: daily},
			"quake and storm": {Quake: quake, Storm: storm}, "storm and daily": {Storm: storm, Daily: daily}, "all": {Quake: quake, Storm: storm, Daily: daily},
		} {
			fits := map[string]string{"quake-circle": "quake", "cyclone-circle": "storm", "rain-excess": "daily"}[key] == name
			err := example.verifyOn(cover)
			require.Error(t, err, "no example expects nothing")
			if fits {
				require.NotContains(t, err.Error(), "exactly one", "%s %s", key, name)
			} else {
				require.EqualError(t, err, "needs exactly one of quake, storm and daily, the one that fits "+string(cover.Trigger.Kind), "%s %s", key, name)
			}
		}
	}
}

func TestFactsOfAnExampleLieInItsCover(t *testing.T) {
	t.Parallel()
	from := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	cover := coverOf(t, "quake-circle", "{}")
	at := Example{Quake: &ExampleQuake{Latitude: 1, Longitude: 2, Magnitude: *number("6.5"), DepthKM: number("7")}}.buildOccurrences(cover, cover.Period(from), from)
	require.Equal(t, []trigger.Occurrence{{Quake: &hazard.Quake{At: from.AddDate(0, 0, 1), Where: hazard.Point{Latitude: 1, Longitude: 2}, Magnitude: *number("6.5"), DepthKM: number("7")}}}, at)

	storm := Example{Name: "of two fixes", Storm: []ExampleFix{{Hour: 0, Latitude: 1, Longitude: 2, WindKN: number("80")}, {Hour: 30, PressureMB: number("920")}}}.buildStorm(from)
	require.Equal(t, &hazard.Storm{ID: "of two fixes", Name: "of two fixes", Fixes: []hazard.Fix{
		{At: from, Where: hazard.Point{Latitude: 1, Longitude: 2}, WindKN: number("80")}, {At: from.Add(30 * time.Hour), PressureHPA: number("920")},
	}}, storm)
}

func TestDaysOfAnExampleAreFollowedByThoseThatEndIt(t *testing.T) {
	t.Parallel()
	from := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	values := func(days []hazard.Day) (texts []string) {
		for _, day := range days {
			texts = append(texts, day.Date.Format(time.DateOnly)+" "+day.PrecipitationMM.String())
		}
		return texts
	}
	example := Example{Daily: []*decimal.Decimal{number("5"), nil, number("7")}}
	spell := coverOf(t, "rain-excess", "{}")
	payable := spell.PayableFrom(from)
	require.Equal(t, "2030-01-08", payable.Format(time.DateOnly))
	require.Equal(t, []string{"2030-01-08 5", "2030-01-10 7", "2030-01-11 0", "2030-01-12 0", "2030-01-13 0"},
		values(example.buildDays(spell.Trigger.Definition(), spell.Period(from), payable)))
	months := coverOf(t, "rain-deficit", "{}")
	require.Equal(t, []string{"2030-02-01 5", "2030-02-03 7", "2030-03-01 0"},
		values(example.buildDays(months.Trigger.Definition(), months.Period(from), months.PayableFrom(from))))
	dekads := coverOf(t, "rain-deficit", `{"calendar":"dekad"}`)
	require.Equal(t, []string{"2030-01-11 5", "2030-01-13 7", "2030-01-21 0"},
		values(example.buildDays(dekads.Trigger.Definition(), dekads.Period(from), dekads.PayableFrom(from))))
}

// Of several wet spells of one example, the one that pays most counts, also if another is first.
func TestExampleOfSeveralSpellsExpectsTheLargestPayment(t *testing.T) {
	t.Parallel()
	cover := coverOf(t, "rain-excess", `{"days":1}`)
	dry := []*decimal.Decimal{number("0"), number("0"), number("0"), number("0")}
	spell := func(rain string) []*decimal.Decimal { return append([]*decimal.Decimal{number(rain)}, dry...) }
	expect := Expectation{Met: true, Reason: trigger.ThresholdMet, Index: number("250"), Factor: decimal.NewFromInt(1), Amount: cover.Limit.Amount}
	for name, rains := range map[string][]string{"first": {"250", "130"}, "last": {"130", "250"}, "between": {"5", "250", "130"}} {
		var daily []*decimal.Decimal
		for _, rain := range rains {
			daily = append(daily, spell(rain)...)
		}
		require.NoError(t, Example{Daily: daily, Expect: expect}.verifyOn(cover), name)
	}
	none := Expectation{Reason: trigger.OutsidePlace}
	require.NoError(t, Example{Daily: dry, Expect: none}.verifyOn(cover), "without a spell nothing touches the place")
}

func TestExampleStartsWithItsContext(t *testing.T) {
	t.Parallel()
	cover := coverOf(t, "quake-circle", `{"starts_at":"2030-06-01T00:00:00Z","term":"P30D"}`)
	require.Equal(t, "2030-06-01", cover.StartsAt.Format(time.DateOnly))
	quake := &ExampleQuake{Latitude: cover.Place.Latitude, Longitude: cover.Place.Longitude, Magnitude: *number("9")}
	paid := Expectation{Met: true, Reason: trigger.ThresholdMet, Index: number("9"), Factor: decimal.NewFromInt(1), Amount: cover.Limit.Amount}
	require.NoError(t, Example{Quake: quake, Expect: paid}.verifyOn(cover))
}

func TestCurrencyOfAnExampleIsThatOfItsLimit(t *testing.T) {
	t.Parallel()
	for context, want := range map[string]string{
		``: "USD", `{}`: "USD", `{"limit":{}}`: "USD", `{"limit":{"amount":5}}`: "USD", `{"limit":7}`: "USD",
		`{"limit":{"amount":5,"currency":"JPY"}}`: "JPY", `{"days":3,"limit":{"currency":"EUR"}}`: "EUR",
	} {
		require.Equal(t, want, Example{Context: jsontext.Value(context)}.Currency("USD"), context)
	}
}

func TestContextOfAnExampleMustBeReadWhole(t *testing.T) {
	t.Parallel()
	p := shippedAs(t, "quake-circle")
	for context, says := range map[string]string{
		`[]`:              "context: not an object",
		`{"colour":"x"}`:  "context: colour is not in the schema",
		`{"radius_km":0}`: "radius_km must be at least 5",
	} {
		_, err := p.exampleCover(Example{Context: jsontext.Value(context)}, hazard.Shipped())
		require.ErrorContains(t, err, says, context)
	}
}
