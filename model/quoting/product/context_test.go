package product_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/money"
	"parapet/model/quoting/pricing"
	"parapet/model/quoting/product"
)

// shippedProduct returns a product embedded in the binary.
func shippedProduct(t testing.TB, key string) *product.Product {
	t.Helper()
	for _, p := range product.Shipped() {
		if p.Key() == key {
			return p
		}
	}
	t.Fatalf("no product %s", key)
	return nil
}

// contextFaults prices an invalid context and returns its faults: pointer to code.
func contextFaults(t *testing.T, key, context string) (codes map[string]string, details map[string]string) {
	t.Helper()
	_, err := shippedProduct(t, key).Price([]byte(context), asOf, hazard.Shipped())
	var wrong *product.ContextError
	require.ErrorAs(t, err, &wrong, context)
	codes, details = map[string]string{}, map[string]string{}
	for _, field := range wrong.Fields {
		require.NotContains(t, codes, field.Pointer, "one fault a member")
		codes[field.Pointer], details[field.Pointer] = field.Code, field.Detail
		require.True(t, strings.HasSuffix(field.Detail, "."), field.Detail)
	}
	return codes, details
}

func TestContextFaults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ key, context, pointer, code, detail string }{
		"nothing":             {"quake-circle", ``, "/context", "required", "context is required."},
		"null":                {"quake-circle", `null`, "/context", "null", "an object"},
		"a list":              {"quake-circle", `[]`, "/context", "type", "an object"},
		"no JSON":             {"quake-circle", `{"a"`, "/context", "type", "JSON object"},
		"twice":               {"quake-circle", `{"partner":"a","partner":"b"}`, "/context", "type", "repeated names"},
		"no partner":          {"quake-circle", `{}`, "/context/partner", "required", "partner is required."},
		"null partner":        {"quake-circle", `{"partner":null}`, "/context/partner", "null", "must not be null; it must be a string"},
		"empty partner":       {"quake-circle", `{"partner":""}`, "/context/partner", "value", "at least 1 char"},
		"latitude":            {"quake-circle", `{"partner":"a","location":{"latitude":90.001,"longitude":0}}`, "/context/location/latitude", "maximum", "location.latitude must be at most 90."},
		"half a place":        {"quake-circle", `{"partner":"a","location":{"latitude":9}}`, "/context/location/longitude", "required", "location.longitude is required."},
		"place in words":      {"quake-circle", `{"partner":"a","location":"Hualien"}`, "/context/location", "type", "an object"},
		"radius":              {"quake-circle", `{"partner":"a","radius_km":4.9}`, "/context/radius_km", "minimum", "at least 5."},
		"radius as text":      {"quake-circle", `{"partner":"a","radius_km":"50"}`, "/context/radius_km", "type", "a number"},
		"radius of objects":   {"quake-circle", `{"partner":"a","radius_km":{"a":1}}`, "/context/radius_km", "type", "a number"},
		"beyond floats":       {"quake-circle", `{"partner":"a","radius_km":1e400}`, "/context/radius_km", "maximum", "at most 300."},
		"beyond fractions":    {"quake-circle", `{"partner":"a","radius_km":1e999999999}`, "/context/radius_km", "maximum", "at most 300."},
		"next to nothing":     {"quake-circle", `{"partner":"a","radius_km":1e-999999999}`, "/context/radius_km", "minimum", "at least 5."},
		"amount":              {"quake-circle", `{"partner":"a","limit":{"amount":99999,"currency":"USD"}}`, "/context/limit/amount", "minimum", "100000 (1,000.00 USD)"},
		"amount in yen":       {"quake-circle", `{"partner":"a","limit":{"amount":1500000001,"currency":"JPY"}}`, "/context/limit/amount", "maximum", "1500000000 (1,500,000,000 JPY)"},
		"half an amount":      {"quake-circle", `{"partner":"a","limit":{"amount":10000000.5,"currency":"USD"}}`, "/context/limit/amount", "type", "must be a whole number of minor units: 1250 for 12.50 USD."},
		"limit as a number":   {"quake-circle", `{"partner":"a","limit":12.5}`, "/context/limit", "type", `{"amount": 1250, "currency": "USD"} for 12.50 USD.`},
		"huge amount":         {"quake-circle", `{"partner":"a","limit":{"amount":1e30,"currency":"USD"}}`, "/context/limit/amount", "maximum", "at most"},
		"currency":            {"quake-circle", `{"partner":"a","limit":{"amount":10000000,"currency":"CHF"}}`, "/context/limit/currency", "enum", "one of USD, EUR, GBP, JPY, KWD, TWD."},
		"half a limit":        {"quake-circle", `{"partner":"a","limit":{"amount":10000000}}`, "/context/limit/currency", "required", "required"},
		"the past":            {"quake-circle", `{"partner":"a","starts_at":"2026-03-01T11:59:59Z"}`, "/context/starts_at", "minimum", "2026-03-01T12:00:00Z now"},
		"too far":             {"quake-circle", `{"partner":"a","starts_at":"2027-03-01T12:00:01Z"}`, "/context/starts_at", "maximum", "P365D ahead"},
		"no zone":             {"quake-circle", `{"partner":"a","starts_at":"2026-06-01T00:00:00"}`, "/context/starts_at", "format", "with a zone"},
		"no time":             {"quake-circle", `{"partner":"a","starts_at":"tomorrow"}`, "/context/starts_at", "format", "RFC 3339"},
		"a number of a time":  {"quake-circle", `{"partner":"a","starts_at":1}`, "/context/starts_at", "type", "null or a string"},
		"short term":          {"quake-circle", `{"partner":"a","term":"PT23H"}`, "/context/term", "minimum", "at least P1D"},
		"long term":           {"quake-circle", `{"partner":"a","term":"P367D"}`, "/context/term", "maximum", "at most P366D"},
		"hours of a term":     {"quake-circle", `{"partner":"a","term":"PT47H"}`, "/context/term", "value", "must be whole days, such as P2D"},
		"seconds of a term":   {"rain-excess", `{"partner":"a","term":"P30DT1S"}`, "/context/term", "value", "must be whole days, such as P2D"},
		"no term":             {"quake-circle", `{"partner":"a","term":"1 year"}`, "/context/term", "format", "such as P365D"},
		"a fraction of days":  {"quake-circle", `{"partner":"a","term":"P0.5Y"}`, "/context/term", "format", "ISO 8601"},
		"weak quakes":         {"quake-circle", `{"partner":"a","steps":[{"threshold":"5.4","factor":"1"}]}`, "/context/steps/0/threshold", "minimum", "at least 5.5: the price data records no earthquake below 5.5."},
		"threshold as number": {"quake-circle", `{"partner":"a","steps":[{"threshold":6,"factor":"1"}]}`, "/context/steps/0/threshold", "type", "a string"},
		"threshold in powers": {"quake-circle", `{"partner":"a","steps":[{"threshold":"1e999999999","factor":"1"}]}`, "/context/steps/0/threshold", "pattern", `such as "6.5"`},
		"factor":              {"quake-circle", `{"partner":"a","steps":[{"threshold":"6","factor":"1.01"}]}`, "/context/steps/0/factor", "maximum", "at most 1."},
		"no steps":            {"quake-circle", `{"partner":"a","steps":[]}`, "/context/steps", "value", "at least 1 items"},
		"steps out of order":  {"quake-circle", `{"partner":"a","steps":[{"threshold":"7","factor":"0.5"},{"threshold":"6","factor":"1"}]}`, "/context/steps", "value", "threshold 6 is not beyond"},
		"country":             {"quake-circle", `{"partner":"a","policyholder":{"name":"b","country":"Taiwan"}}`, "/context/policyholder/country", "pattern", `such as "TW"`},
		"email":               {"quake-circle", `{"partner":"a","policyholder":{"name":"b","email":"b"}}`, "/context/policyholder/email", "format", "an email address"},
		"another ocean":       {"cyclone-circle", `{"partner":"a","location":{"latitude":23.98,"longitude":121.61}}`, "/context/location/longitude", "maximum", "at most -5: the price data covers the North Atlantic"},
		"box and circle":      {"cyclone-pressure", `{"partner":"a","radius_km":50,"box":{"west":-78.4,"south":17.7,"east":-76.1,"north":18.6}}`, "/context/radius_km", "value", "radius_km must be left out where box is given."},
		"three borders":       {"cyclone-pressure", `{"partner":"a","box":{"west":-78.4,"south":17.7,"east":-76.1}}`, "/context/box/north", "required", "box.north is required."},
		"null box":            {"cyclone-pressure", `{"partner":"a","box":null}`, "/context/box", "null", "an object"},
		"box upside down":     {"cyclone-pressure", `{"partner":"a","box":{"west":-78.4,"south":18.6,"east":-76.1,"north":17.7}}`, "/context/box/north", "value", "box.north must be above south."},
		"flat box":            {"cyclone-pressure", `{"partner":"a","box":{"west":-78.4,"south":18.6,"east":-76.1,"north":18.6}}`, "/context/box/north", "value", "box.north must be above south."},
		"one meridian":        {"cyclone-pressure", `{"partner":"a","box":{"west":-78.4,"south":17.7,"east":-78.4,"north":18.6}}`, "/context/box/east", "value", "box.east must differ from west; a box of every longitude reaches from -180 to 180."},
		"box over a pole":     {"cyclone-pressure", `{"partner":"a","box":{"west":-78.4,"south":17.7,"east":-76.1,"north":95}}`, "/context/box/north", "maximum", "box.north must be at most 60: the price data"},
		"small box":           {"cyclone-pressure", `{"partner":"a","box":{"west":-78.4,"south":17.7,"east":-76.1,"north":17.78}}`, "/context/box", "minimum", "box must be at least 10 km high; it has 8.9 km."},
		"large box":           {"cyclone-pressure", `{"partner":"a","box":{"west":-88.4,"south":17.7,"east":-76.1,"north":18.6}}`, "/context/box", "maximum", "box must be at most 1000 km wide; it has 1303.0 km."},
		"west above east":     {"cyclone-pressure", `{"partner":"a","box":{"west":-76.1,"south":17.7,"east":-78.4,"north":18.6}}`, "/context/box", "maximum", "km; west above east means across the antimeridian."},
		"box in the Pacific":  {"cyclone-pressure", `{"partner":"a","box":{"west":-99,"south":14,"east":-97,"north":15}}`, "/context/box", "value", "must have its centre and all corners in the basin of the track data, the North Atlantic"},
		"no such station":     {"rain-excess", `{"partner":"a","station":"London"}`, "/context/station", "enum", "Merced, Milwaukee"},
		"four years":          {"rain-deficit", `{"partner":"a","station":"Seattle"}`, "/context/station", "value", `at least 20 whole years of price data: Merced, Milwaukee; "Seattle" has 4.`},
		"Acapulco":            {"cyclone-circle", `{"partner":"a","location":{"latitude":16.86,"longitude":-99.88}}`, "/context/location", "value", "must lie in the basin of the track data, the North Atlantic"},
		"no whole month":      {"rain-deficit", `{"partner":"a","term":"P31D"}`, "/context/term", "value", "must hold a whole month after the waiting period, which ends at"},
		"no whole dekad":      {"rain-deficit", `{"partner":"a","term":"P15D","calendar":"dekad","starts_at":"2026-06-05T00:00:00Z"}`, "/context/term", "value", "must hold a whole dekad after the waiting period, which ends at 2026-06-12T00:00:00Z."},
		"days":                {"rain-excess", `{"partner":"a","days":61}`, "/context/days", "maximum", "at most 60."},
		"exhausted too early": {"rain-excess", `{"partner":"a","attach":"240"}`, "/context/exhaust", "value", "exhaust 240 is not beyond attach 240"},
		"exhausted too late":  {"rain-deficit", `{"partner":"a","exhaust":"11"}`, "/context/exhaust", "value", "exhaust 11 is not beyond attach 10"},
		"negative rain":       {"rain-excess", `{"partner":"a","attach":"-0.1"}`, "/context/attach", "minimum", "at least 0."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			codes, details := contextFaults(t, test.key, test.context)
			require.Equal(t, map[string]string{test.pointer: test.code}, codes)
			require.Contains(t, details[test.pointer], test.detail)
		})
	}
}

func TestContextFaultsAllAtOnce(t *testing.T) {
	t.Parallel()
	codes, _ := contextFaults(t, "quake-circle", `{
		"location": {"latitude": 91}, "radius_km": null, "limit": {"amount": 1, "currency": "USD"},
		"starts_at": "2020-01-01T00:00:00Z", "term": "P2Y", "steps": [{"threshold": "5", "factor": "2"}],
		"policyholder": {"name": 1}, "maximum_depth_km": 0}`)
	require.Equal(t, map[string]string{
		"/context/partner":            "required",
		"/context/location/latitude":  "maximum",
		"/context/location/longitude": "required",
		"/context/radius_km":          "null",
		"/context/limit/amount":       "minimum",
		"/context/starts_at":          "minimum",
		"/context/term":               "maximum",
		"/context/steps/0/threshold":  "minimum",
		"/context/steps/0/factor":     "maximum",
		"/context/policyholder/name":  "type",
		"/context/maximum_depth_km":   "minimum",
	}, codes)
}

func TestContextKeepsAndListsUnknownMembers(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	context := `{"zeta":1e999999999,"partner":"acme","a/b":` + deep +
		`,"location":{"latitude":23.98,"elevation":{"m":12.50},"longitude":121.61},"steps":[{"threshold":"7.0","factor":"1","why":null}]}`
	q, err := shippedProduct(t, "quake-circle").Price([]byte(context), asOf, hazard.Shipped())
	require.NoError(t, err)
	require.Equal(t, []string{"a/b", "location.elevation", "steps.0.why", "zeta"}, q.Ignored)
	require.Contains(t, string(q.Context), `"zeta":1e999999999`)
	require.Contains(t, string(q.Context), `"elevation":{"m":12.50}`)
	require.Contains(t, string(q.Context), deep)
	require.Contains(t, string(q.Context), `"radius_km":50`)
}

// A misspelt member would silently leave its default in force.
func TestContextRejectsLikelyMisspeltMembers(t *testing.T) {
	t.Parallel()
	for member, meant := range map[string]string{
		`"radius":10`: "radius_km", `"Radius_KM":10`: "radius_km", `"raduis_km":10`: "radius_km", `"maximum_depth":10`: "maximum_depth_km", `"terms":"P1Y"`: "term",
		`"location":{"latitude":23.98,"longitude":121.61,"longitud":1}`: "longitude",
	} {
		_, err := shippedProduct(t, "quake-circle").Price([]byte(`{"partner":"acme",`+member+`}`), asOf, hazard.Shipped())
		var wrong *product.ContextError
		require.ErrorAs(t, err, &wrong, member)
		require.Len(t, wrong.Fields, 1, member)
		require.Equal(t, product.CodeUnknown, wrong.Fields[0].Code)
		require.Contains(t, wrong.Fields[0].Detail, " does not exist; use "+meant+".")
	}
	for _, member := range []string{`"rad":10`, `"depth_km":10`, `"farm_17":1`, `"reference":"x"`, `"":1`} {
		q, err := shippedProduct(t, "quake-circle").Price([]byte(`{"partner":"acme",`+member+`}`), asOf, hazard.Shipped())
		require.NoError(t, err, member)
		require.Len(t, q.Ignored, 1, member)
	}
}

func TestContextBecomesTheCover(t *testing.T) {
	t.Parallel()
	q, err := shippedProduct(t, "quake-circle").Price([]byte(`{"partner":"acme","location":{"latitude":-0,"longitude":-180},
		"radius_km":1e2,"limit":{"amount":1.5e7,"currency":"JPY"},"starts_at":"2026-06-01T08:00:00.5+08:00","term":"P6M",
		"steps":[{"threshold":"7.50","factor":"1"}],"maximum_depth_km":70.5,"policyholder":{"name":"Lin","country":"TW"}}`), asOf, hazard.Shipped())
	require.NoError(t, err)
	require.Equal(t, money.New(15_000_000, "JPY"), q.Cover.Limit)
	require.Equal(t, "2026-06-01T00:00:00.5Z", q.Cover.StartsAt.Format("2006-01-02T15:04:05.9Z07:00"))
	require.Equal(t, "P6M", q.Cover.Term)
	require.Equal(t, 100.0, q.Cover.Place.RadiusKM)
	require.NotContains(t, fmt.Sprint(q.Cover.Place.Latitude), "-")
	require.Equal(t, "7.50", q.Cover.Payout.Steps[0].Threshold.String(), "digits stay as they were given")
	require.Equal(t, "70.5", q.Cover.Trigger.MaximumDepthKM.String())
	require.Equal(t, &product.Policyholder{Name: "Lin", Country: "TW"}, q.Policyholder)
	require.Equal(t, "acme", q.Partner)
	require.Equal(t, &pricing.Season{From: "06-01", To: "12-01"}, q.Basis.Season)
	require.Equal(t, trigger.Final, q.Cover.Trigger.DecidesOn)
}

func TestBoxReplacesTheCircle(t *testing.T) {
	t.Parallel()
	const context = `{"partner":"a","box":{"west":-78.4,"south":17.7,"east":-76.1,"north":18.6}}`
	quoted, err := shippedProduct(t, "cyclone-pressure").Price([]byte(context), asOf, hazard.Shipped())
	require.NoError(t, err)
	require.Equal(t, trigger.Place{Kind: trigger.InBox, Borders: trigger.Borders{West: -78.4, South: 17.7, East: -76.1, North: 18.6}}, quoted.Cover.Place)
	require.NotContains(t, string(quoted.Context), "location", "the defaults of the circle do not apply")
	require.NotContains(t, string(quoted.Context), "radius_km")
	require.Contains(t, string(quoted.Context), `"steps"`)
	require.Contains(t, quoted.Basis.Notes, "The tracks are displaced in place of the box, so that a larger box never costs less.")
	require.InDelta(t, 0.1363, quoted.Price.RateOnLine.InexactFloat64(), 0.0001, "the circle of 120 km has 0.1436")
	require.Equal(t, "AL132025", quoted.History[0].SourceEventID)
	require.Equal(t, "892", quoted.History[0].Index.Value)
	other, err := shippedProduct(t, "quake-circle").Price([]byte(context), asOf, hazard.Shipped())
	require.NoError(t, err)
	require.Equal(t, []string{"box"}, other.Ignored, "other products have no box")
}

func TestUninsurableBoxSuggestsAnotherBox(t *testing.T) {
	t.Parallel()
	const steps = `,"steps":[{"threshold":"1000","factor":"1"}]}`
	for place, words := range map[string][2]string{
		`,"box":{"west":-79,"south":17,"east":-76,"north":19}`: {"another or a smaller box", "location"},
		`,"radius_km":120`: {"another location or a smaller radius_km", "box"},
	} {
		_, err := shippedProduct(t, "cyclone-pressure").Price([]byte(`{"partner":"a"`+place+steps), asOf, hazard.Shipped())
		var uninsurable *pricing.UninsurableError
		require.ErrorAs(t, err, &uninsurable)
		require.Contains(t, uninsurable.Suggestion(), words[0])
		require.NotContains(t, uninsurable.Suggestion(), words[1])
	}
}

func TestContextDefaultsAreFilledInOnce(t *testing.T) {
	t.Parallel()
	for _, p := range product.Shipped() {
		t.Run(p.Key(), func(t *testing.T) {
			t.Parallel()
			first, err := p.Price([]byte(`{"partner":"acme"}`), asOf, hazard.Shipped())
			require.NoError(t, err)
			again, err := p.Price(first.Context, asOf, hazard.Shipped())
			require.NoError(t, err)
			require.Equal(t, first, again, "a context with its defaults asks for the same")
			var context map[string]any
			require.NoError(t, json.Unmarshal(first.Context, &context))
			require.Equal(t, map[string]any{"amount": 1e7, "currency": "USD"}, context["limit"])
			require.Contains(t, context, "starts_at")
			require.Equal(t, "P365D", context["term"])
			rate := first.Price.RateOnLine.InexactFloat64()
			require.Greater(t, rate, 0.05)
			require.Less(t, rate, 0.5)
		})
	}
}

func TestPricePassesUninsurableThrough(t *testing.T) {
	t.Parallel()
	_, err := shippedProduct(t, "quake-circle").Price(
		[]byte(`{"partner":"acme","location":{"latitude":-15,"longitude":167.5},"radius_km":200}`), asOf, hazard.Shipped())
	var uninsurable *pricing.UninsurableError
	require.ErrorAs(t, err, &uninsurable)
	require.Equal(t, "USD", uninsurable.Premium.Currency)
}

func FuzzContext(f *testing.F) {
	for _, seed := range []string{
		`{"partner":"acme"}`, `{"partner":"a","location":{"latitude":1e400,"longitude":-0}}`, `null`, `[`, `{"steps":[{}]}`,
		`{"partner":"a","limit":{"amount":1e18,"currency":"KWD"},"term":"P6M","starts_at":"2026-12-31T23:59:60Z"}`,
		`{"partner":"a","steps":[{"threshold":"6.5","factor":"0.5"}],"attach":"1","exhaust":"2","days":3,"station":"Seattle"}`,
		`{"partner":"a","maximum_depth_km":1e-400,"policyholder":{"name":"x","email":"@","country":"TW"},"x":[[[{}]]]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, context []byte) {
		for _, p := range product.Shipped() {
			q, err := p.Price(context, asOf, hazard.Shipped())
			if err == nil {
				require.NotEmpty(t, q.Price.Lines)
				require.NoError(t, q.Cover.Validate())
			}
		}
	})
}

func BenchmarkPrice(b *testing.B) {
	for _, p := range product.Shipped() {
		b.Run(p.Key(), func(b *testing.B) {
			h := hazard.Shipped()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Price([]byte(`{"partner":"acme"}`), asOf, h); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
