package product_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/money"
	"parapet/model/quoting/product"
)

// editDocument returns a shipped document with one passage replaced.
func editDocument(t *testing.T, key, old, replacement string) []byte {
	t.Helper()
	source := shippedProduct(t, key).Source()
	require.Contains(t, string(source), old)
	return bytes.Replace(source, []byte(old), []byte(replacement), 1)
}

func TestParseReportsEachFaultWithItsPath(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ old, replacement, says string }{
		"no YAML":            {"key: quake-circle", "key: [", "not YAML"},
		"unknown member":     {"version: 3", "version: 3\nowner: me", "/owner: owner is not a known member"},
		"unknown inside":     {"  index: magnitude", "  index: magnitude\n  sort: mw", "/trigger/sort: trigger.sort is not a known member"},
		"missing":            {"title: Earthquake in a circle\n", "", "/title: title is required"},
		"twice":              {"version: 3", "version: 3\nversion: 4", `duplicate object member name "version"`},
		"key":                {"key: quake-circle", "key: Quake Circle", "/key: key must match the pattern"},
		"version":            {"version: 3", "version: 0", "/version: version must be at least 1"},
		"shape":              {"shape: step", "shape: stairs", "/payout/shape: payout.shape must be one of lump, step, linear, tick"},
		"unquoted decimal":   {`risk_factor: "0.1"`, "risk_factor: 0.1", "/price/risk_factor: price.risk_factor must be a string"},
		"hexadecimal":        {"version: 3", "version: 0x1", "plain decimal number"},
		"power":              {"minimum: 5\n", "minimum: 1e2\n", "plain decimal number"},
		"an alias":           {"summary: ", "summary: *a #", "unknown anchor"},
		"a second document":  {"key: quake-circle", "key: quake-circle\n---\nkey: b", "single YAML document"},
		"duration":           {"waiting_period: P0D", "waiting_period: none", "/times/waiting_period: times.waiting_period must be an ISO 8601 duration"},
		"a reference":        {"      type: number\n      minimum: 5", "      $ref: file:///etc/passwd\n      minimum: 5", "plain keywords"},
		"no bounds":          {"      minimum: 5\n", "", "radius_km is a number and must have a minimum and a maximum"},
		"a list without end": {"      maxItems: 50\n", "", "steps has items and must have maxItems"},
		"a pattern of none":  {`pattern: "^[A-Z]{2}$"`, `pattern: "["`, "/context: not a usable JSON Schema"},
		"negative amount":    {"minimum_premium: 2500", "minimum_premium: -1", "/currencies/0/minimum_premium: currencies.0.minimum_premium must be at least 0"},
		"expectation halved": {"met: false, ", "", "/examples/0/expect/met: examples.0.expect.met is required"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := product.Parse(editDocument(t, "quake-circle", test.old, test.replacement))
			require.ErrorContains(t, err, test.says)
		})
	}
	for _, source := range []string{"", "# nothing", "[]", "null", "a", "? {a: b}\n: c", "x: !!binary aGk=", "1: 2"} {
		_, err := product.Parse([]byte(source))
		require.Error(t, err, source)
	}
}

func TestCheckRefusesWhatCannotBePublished(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ key, old, replacement, says string }{
		"a wrong factor": {
			"quake-circle", `factor: "0.20", amount: 2000000`, `factor: "0.30", amount: 2000000`,
			`example "magnitude 6.0 reaches the first step": factor is 0.2, expected 0.3`,
		},
		"a wrong amount": {
			"rain-excess", "amount: 8333", "amount: 8334", `example "120.1 mm just pay": amount is 8333, expected 8334`,
		},
		"a wrong verdict": {
			"quake-circle", "met: false", "met: true",
			`example "magnitude 5.9 stays below the first step": met is false (threshold_not_met), expected true`,
		},
		"a wrong index": {
			"cyclone-circle", `index: "63"`, `index: "62"`, `index is 63, expected 62`,
		},
		"another peril's facts": {
			"rain-deficit", "    daily: [", "    quake: {latitude: 1, longitude: 1, magnitude: \"6\"}\n    daily: [", "exactly one of quake, storm and daily",
		},
		"an example outside the schema": {
			"quake-circle", "currency: JPY}, steps", "currency: JPY}, colour: red, steps", "context: colour is not in the schema",
		},
		"an example with a wrong context": {
			"quake-circle", "amount: 150000, currency", "amount: 1, currency", "limit.amount must be at least 150000",
		},
		"defaults that differ": {
			"quake-circle", "        - {threshold: \"6.0\", factor: \"0.20\"}", "        - {threshold: \"6.1\", factor: \"0.20\"}",
			"the defaults differ from the document's trigger or payout",
		},
		"another default limit": {
			"quake-circle", "default: {amount: 10000000, currency: USD}", "default: {amount: 20000000, currency: USD}", "the default of limit is 200,000.00 USD",
		},
		"a payout out of order": {
			"quake-circle", "    - {threshold: \"6.5\"", "    - {threshold: \"5.6\"", "payout: threshold 5.6 is not beyond",
		},
		"a member that is never read": {
			"cyclone-circle", "    policyholder:", "    colour: {type: string}\n    policyholder:", "nothing reads the property colour",
		},
		"a member that is missing": {
			"quake-circle", "    radius_km:", "    radius:", "the property radius_km is needed",
		},
		"a box for wind":      {"cyclone-circle", "    policyholder:", "    box: {type: object, x-instead-of: [location, radius_km]}\n    policyholder:", "nothing reads the property box"},
		"a box and a circle":  {"cyclone-pressure", "x-instead-of: [location, radius_km]", "x-instead-of: [location]", "x-instead-of must be [location, radius_km]: a place is a circle or a box"},
		"an unknown currency": {"quake-circle", "code: EUR", "code: XXA", "XXA is no ISO 4217 currency"},
		"a currency twice":    {"quake-circle", "code: EUR", "code: USD", "USD is there twice"},
		"limits upside down": {
			"quake-circle", "minimum_limit: 100000,", "minimum_limit: 100000000,", "limits of USD must ascend",
		},
		"settled in another currency": {"quake-circle", "{USD: 10000000, EUR", "{CHF: 10000000, EUR", "CHF, which is none"},
		"shares of everything":        {"quake-circle", `expense_share: "0.10"`, `expense_share: "0.85"`, "below 1 together"},
		"a default that is uninsurable": {
			"quake-circle", `maximum_rate_on_line: "0.35"`, `maximum_rate_on_line: "0.10"`, "the defaults cannot be priced",
		},
		"a station without history": {"rain-excess", "default: Milwaukee", "default: Taipei", "must be a station with price data"},
		"a station with four years": {"rain-excess", "default: Milwaukee", "default: Seattle", "at least 20 whole years"},
		"more than a year":          {"quake-circle", "longest_term: P366D", "longest_term: P367D", "must be at most P366D"},
		"smoothing too wide":        {"quake-circle", `smoothing_km: "50"`, `smoothing_km: "501"`, "smoothing_km: must be between 0 and 500"},
		"smoothing below nought":    {"quake-circle", `smoothing_km: "50"`, `smoothing_km: "-1"`, "smoothing_km: must be between 0 and 500"},
		"a smoothed station":        {"rain-excess", "  maximum_rate_on_line:", "  smoothing_km: \"40\"\n  maximum_rate_on_line:", "only a circle is smoothed"},
		"a default in the Pacific":  {"cyclone-circle", "default: {latitude: 25.7617, longitude: -80.1918}", "default: {latitude: 16.86, longitude: -99.88}", "basin of the track data"},
		"a duration in fractions":   {"quake-circle", "longest_term: P366D", "longest_term: P366.5D", "longest_term"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := product.Parse(editDocument(t, test.key, test.old, test.replacement))
			if err == nil {
				err = p.Check(hazard.Shipped())
			}
			require.ErrorContains(t, err, test.says)
		})
	}
}

// TestCheckAcceptsEveryPayoutShape checks documents of the two shapes that no shipped
// product has.
func TestCheckAcceptsEveryPayoutShape(t *testing.T) {
	t.Parallel()
	source := string(shippedProduct(t, "rain-excess").Source())
	before, rest, _ := strings.Cut(source, "payout:\n")
	_, after, _ := strings.Cut(rest, "\n\n")
	schemaOf := func(drop ...string) string {
		text := before
		for _, name := range drop {
			head, tail, ok := strings.Cut(text, "    "+name+":\n")
			require.True(t, ok, name)
			_, tail, _ = strings.Cut(tail, "      default: ")
			_, tail, _ = strings.Cut(tail, "\n")
			text = head + tail
		}
		return text
	}
	settings, _, _ := strings.Cut(after, "examples:\n")
	rain := func(last string) string { return "daily: [" + strings.Repeat(`"12", `, 9) + `"` + last + `"]` }
	for shape, document := range map[string]string{
		"tick": schemaOf("exhaust") + "payout: {shape: tick, attach: \"120\", tick_size: \"10\", tick_share: \"0.05\"}\n\n" + settings + `examples:
  - {name: two whole ticks, ` + rain("37.9") + `, expect: {met: true, reason: threshold_met, index: "145.9", factor: "0.10", amount: 1000000}}
  - {name: all ticks, ` + rain("400") + `, expect: {met: true, reason: threshold_met, index: "508", factor: "1", amount: 10000000}}
`,
		"lump": schemaOf("attach", "exhaust") + "payout: {shape: lump, threshold: \"150\"}\n\n" + settings + `examples:
  - {name: all or, ` + rain("42") + `, expect: {met: true, reason: threshold_met, index: "150", factor: "1", amount: 10000000}}
  - {name: nothing, ` + rain("41.9") + `, expect: {met: false, reason: threshold_not_met, index: "149.9", factor: "0", amount: 0}}
`,
	} {
		document = strings.Replace(document, `maximum_rate_on_line: "0.50"`, `maximum_rate_on_line: "2"`, 1)
		p, err := product.Parse([]byte(document))
		require.NoError(t, err, shape)
		require.NoError(t, p.Check(hazard.Shipped()), shape)
	}
}

func TestProductReturnsItsDocument(t *testing.T) {
	t.Parallel()
	keys := []string{}
	for _, p := range product.Shipped() {
		keys = append(keys, p.Key())
		again, err := product.Parse(p.Source())
		require.NoError(t, err)
		require.Equal(t, p.Digest(), again.Digest())
		require.Len(t, p.Digest(), 64)
		d := p.Document()
		require.NotEmpty(t, d.Title)
		require.Equal(t, "PT24H", d.Times.QuoteValidity)
		version, waiting := 3, "P0D"
		switch {
		case d.Trigger.Kind == trigger.Rainfall:
			version, waiting = 4, "P7D"
		case d.Trigger.Kind == trigger.Temperature:
			version, waiting = 2, "P7D"
		case d.Trigger.Index == trigger.CentralPressure:
			version = 2
		}
		require.Equal(t, version, p.Version())
		require.Equal(t, waiting, d.Times.WaitingPeriod)
		for _, currency := range d.Currencies {
			require.Equal(t, currency.DefaultLimit, p.AutomaticUpTo(currency.Code), "paid without an operator up to the default limit")
			require.True(t, money.IsCurrency(currency.Code))
		}
		require.Zero(t, p.AutomaticUpTo("CHF"))
		require.True(t, strings.HasPrefix(string(p.ContextSchema()), `{"$schema":"https://json-schema.org/draft/2020-12/schema"`))
	}
	require.Equal(t, []string{"cyclone-circle", "cyclone-pressure", "heat-days", "quake-circle", "rain-deficit", "rain-excess"}, keys)
}
