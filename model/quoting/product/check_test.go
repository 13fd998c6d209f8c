package product_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/quoting/product"
)

// faultsOfEdit parses and checks a shipped document with one passage replaced, and
// returns all faults as pointer and detail.
func faultsOfEdit(t *testing.T, key, old, replacement string) []string {
	t.Helper()
	p, err := product.Parse(editDocument(t, key, old, replacement))
	if err == nil {
		err = p.Check(hazard.Shipped())
	}
	if err == nil {
		return nil
	}
	var wrong *product.DocumentError
	require.ErrorAs(t, err, &wrong)
	return strings.Split(wrong.Error(), "\n")
}

func TestLimitsOfACurrencyAscend(t *testing.T) {
	t.Parallel()
	source := string(shippedProduct(t, "quake-circle").Source())
	line := source[strings.Index(source, "{code: USD"):]
	line = line[:strings.Index(line, "}")+1]
	limits := func(lowest, usual, largest string) string {
		return "{code: USD, default_limit: " + usual + ", minimum_limit: " + lowest + ", maximum_limit: " + largest + ", minimum_premium: 2500}"
	}
	require.Empty(t, faultsOfEdit(t, "quake-circle", line, limits("10000000", "10000000", "10000000")), "they may be equal")
	require.Empty(t, faultsOfEdit(t, "quake-circle", line, limits("1", "10000000", "10000001")))
	const fault = "/currencies/0: the limits of USD must ascend: 1 ≤ minimum ≤ default ≤ maximum"
	require.Equal(t, []string{fault}, faultsOfEdit(t, "quake-circle", line, limits("0", "10000000", "10000001")))
	require.Equal(t, []string{fault}, faultsOfEdit(t, "quake-circle", line, limits("10000001", "10000000", "10000002")))
	require.Equal(t, []string{fault}, faultsOfEdit(t, "quake-circle", line, limits("1", "10000000", "9999999")))
}

func TestEveryDurationOfADocumentIsChecked(t *testing.T) {
	t.Parallel()
	document := shippedProduct(t, "quake-circle").Document()
	for name, value := range map[string]string{
		"quote_validity": document.Times.QuoteValidity, "waiting_period": document.Times.WaitingPeriod, "reporting_window": document.Times.ReportingWindow,
		"shortest_term": document.Times.ShortestTerm, "longest_term": document.Times.LongestTerm, "farthest_start": document.Times.FarthestStart,
	} {
		for _, wrong := range []string{"P0.5D", "P9999Y"} {
			faults := faultsOfEdit(t, "quake-circle", name+": "+value, name+": "+wrong)
			require.Len(t, faults, 1, "%s %s", name, wrong)
			require.Contains(t, faults[0], "/times/"+name+": ")
		}
	}
}

func TestFaultsOfADocumentAreReportedTogether(t *testing.T) {
	t.Parallel()
	source := string(shippedProduct(t, "quake-circle").Source())
	for old, replacement := range map[string]string{
		"    radius_km:": "    range_in_km:", `smoothing_km: "50"`: `smoothing_km: "501"`, "code: EUR": "code: XXA", "waiting_period: P0D": "waiting_period: P9999Y",
		"\n    - {threshold: \"6.5\"": "\n    - {threshold: \"5.6\"",
	} {
		require.Contains(t, source, old)
		source = strings.Replace(source, old, replacement, 1)
	}
	p, err := product.Parse([]byte(source))
	require.NoError(t, err)
	err = p.Check(hazard.Shipped())
	var wrong *product.DocumentError
	require.ErrorAs(t, err, &wrong)
	var pointers []string
	for _, f := range wrong.Fields {
		require.Equal(t, product.CodeValue, f.Code)
		pointers = append(pointers, f.Pointer)
	}
	require.Equal(t, []string{"/payout", "/times/waiting_period", "/price/smoothing_km", "/context/properties", "/context/properties/range_in_km", "/currencies/1/code", "/settlement/automatic_up_to"}, pointers)
	require.ErrorContains(t, err, "quake-circle version 3 cannot be published: /payout: ")
}

// A member that another shape or place reads would be accepted and ignored.
func TestContextHasOnlyTheMembersThatItsCoverReads(t *testing.T) {
	t.Parallel()
	for key, unread := range map[string][]string{
		"quake-circle":     {"station", "attach", "exhaust", "days", "calendar"},
		"cyclone-circle":   {"station", "attach", "exhaust", "days", "calendar", "maximum_depth_km"},
		"cyclone-pressure": {"station", "attach", "exhaust", "days", "calendar", "maximum_depth_km"},
		"rain-excess":      {"location", "radius_km", "steps", "calendar", "maximum_depth_km"},
		"rain-deficit":     {"location", "radius_km", "steps", "days", "maximum_depth_km"},
		"heat-days":        {"location", "radius_km", "steps", "calendar", "maximum_depth_km"},
	} {
		for _, name := range unread {
			faults := faultsOfEdit(t, key, "    policyholder:", "    "+name+": {type: string}\n    policyholder:")
			require.Equal(t, []string{"/context/properties/" + name + ": nothing reads the property " + name + "; leave it out"}, faults, key)
		}
	}
	for key, needed := range map[string][]string{
		"quake-circle": {"partner", "limit", "starts_at", "term", "location", "radius_km"},
		"rain-excess":  {"partner", "limit", "starts_at", "term", "station"},
	} {
		for _, name := range needed {
			faults := faultsOfEdit(t, key, "\n    "+name+":", "\n    other_"+name+":")
			require.Contains(t, faults, "/context/properties: the property "+name+" is needed", key)
		}
	}
}

func TestFormalFaultsOfADocumentAreSortedOneAMember(t *testing.T) {
	t.Parallel()
	source := string(shippedProduct(t, "quake-circle").Source())
	source = strings.Replace(source, "version: 3", "version: two", 1)
	source = strings.Replace(source, "key: quake-circle", "key: 7", 1)
	source = strings.Replace(source, "code: EUR", "code: 5", 1)
	_, err := product.Parse([]byte(source))
	var wrong *product.DocumentError
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, []product.Field{
		{Pointer: "/currencies/1/code", Code: "type", Detail: "currencies.1.code must be a string."},
		{Pointer: "/key", Code: "type", Detail: "key must be a string."},
		{Pointer: "/version", Code: "type", Detail: "version must be a whole number."},
	}, wrong.Fields)
	require.EqualError(t, err, "product document: /currencies/1/code: currencies.1.code must be a string\n/key: key must be a string\n/version: version must be a whole number")
}

// measurementFaults returns the faults of quake-circle with a measurement of which one
// passage is replaced.
func measurementFaults(t *testing.T, old, replacement string) []string {
	t.Helper()
	const whole = `measurement:
  sources:
    - {source: usgs, stage: final}
    - {source: emsc, stage: preliminary}
  rule: {kind: m_of_n, m: 2, tolerance: {value: "0.3", unit: mw}}
  wait: P1D
  fallback: operator
  long_stop: P90D
  challenge_window: P30D

`
	require.Contains(t, whole, old)
	source := string(shippedProduct(t, "quake-circle").Source())
	own := source[strings.Index(source, "measurement:\n"):strings.Index(source, "times:\n")]
	return faultsOfEdit(t, "quake-circle", own, strings.Replace(whole, old, replacement, 1))
}

func TestMeasurementIsChecked(t *testing.T) {
	t.Parallel()
	require.Empty(t, measurementFaults(t, "", ""))
	for _, tc := range []struct{ old, replacement, fault string }{
		{"m: 2", "m: 3", "/measurement/rule/m: 3 of 2 sources cannot agree: use a number from 1 to 2"},
		{"unit: mw", "unit: kn", "/measurement/rule/tolerance/unit: the tolerance has the unit of the index, mw, not kn"},
		{`value: "0.3"`, `value: "-0.3"`, "/measurement/rule/tolerance/value: use a decimal of at least 0, such as 0.3"},
		{`, tolerance: {value: "0.3", unit: mw}`, "", "/measurement/rule/tolerance: m_of_n needs a tolerance in mw"},
		{"source: emsc", "source: usgs", "/measurement/sources/1/source: usgs is there twice: name each source once"},
		{"long_stop: P90D", "long_stop: P1D", "/measurement/long_stop: the long stop P1D must come after the wait P1D"},
		{"wait: P1D", "wait: P9999Y", "/measurement/wait: P9999Y after 1970-01-01 is beyond the year 9999"},
		{`{kind: m_of_n, m: 2, tolerance: {value: "0.3", unit: mw}}`, "{kind: best_of, m: 2}", "/measurement/rule/m: only m_of_n has m: leave it out"},
	} {
		require.Equal(t, []string{tc.fault}, measurementFaults(t, tc.old, tc.replacement), tc.replacement)
	}
	require.Len(t, measurementFaults(t, "kind: m_of_n", "kind: mean"), 1, "the schema refuses an unknown rule")
	require.Len(t, measurementFaults(t, "fallback: operator", "fallback: broker"), 1)
}

// The measurement is part of the terms, so it changes their hash; without one the hash is
// that of covers from before.
func TestMeasurementIsPartOfTheTerms(t *testing.T) {
	t.Parallel()
	without := trigger.Cover{Term: "P365D"}
	with := without
	with.Measurement = &trigger.Measurement{Sources: []trigger.MeasurementSource{{Source: "usgs", Stage: trigger.Final}}}
	require.NotEqual(t, without.Hash(), with.Hash())
	text, err := json.Marshal(without)
	require.NoError(t, err)
	require.NotContains(t, string(text), "measurement")
}
