package feed_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/jobs/feed"
	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/wire"
)

// emscSample returns EMSC's answer; see testdata/README.md.
func emscSample(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("testdata/emsc-2017-09-2017-11.geojson")
	require.NoError(t, err)
	return string(text)
}

func parseEMSC(t *testing.T, text string) feed.Batch {
	t.Helper()
	batch, err := feed.Parse(feed.SourceEMSC, strings.NewReader(text))
	require.NoError(t, err)
	return batch
}

func TestEMSCAnswer(t *testing.T) {
	t.Parallel()
	batch := parseEMSC(t, emscSample(t))
	require.Len(t, batch.Observations, 6)
	require.Zero(t, batch.Skipped)
	require.Empty(t, batch.Errors)
	updated := time.Date(2017, 9, 19, 18, 42, 0, 0, time.UTC).UnixMicro()
	require.Equal(t, wire.ObservationInput{
		Source: "emsc", SourceEventID: "20170919_0000091", Kind: hazard.Earthquake,
		OccurredAt: time.Date(2017, 9, 19, 18, 14, 38, 500_000_000, time.UTC), Stage: trigger.Preliminary, Revision: &updated,
		Location: &hazard.Point{Latitude: 18.59, Longitude: -98.47},
		Measures: map[string]wire.Measure{"magnitude": {Value: "7.1", Unit: "mw"}, "depth": {Value: "50.0", Unit: "km"}},
	}, findObservation(t, batch, "20170919_0000091"), "the depth is below the surface")
}

func TestEMSCLeavesOutBadFeatures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, old, new, reason string }{
		{"null magnitude", `"mag": 7.1`, `"mag": null`, "magnitude is missing"},
		{"no magnitude type", `"magtype": "mw"`, `"magtype": ""`, "magnitude has no type"},
		{"no time", `"time": "2017-09-19T18:14:38.5Z"`, `"time": "yesterday"`, "is no time"},
		{"no update", `"lastupdate": "2017-09-19T18:42:00.0Z"`, `"lastupdate": null`, "lastupdate"},
		{"update long ago", `"lastupdate": "2017-09-19T18:42:00.0Z"`, `"lastupdate": "0001-01-01T00:00:00Z"`, "lastupdate"},
		{"no type", `"evtype": "ke"`, `"evtype": "earthquake"`, "evtype"},
		{"position", `18.59,`, `98.59,`, "not on earth"},
		{"depth as text", `"depth": 50.0`, `"depth": "50"`, "depth is not a plain decimal"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			bad := changeFeature(t, test.old, test.new)
			batch := parseEMSC(t, bad)
			require.Len(t, batch.Observations, 5, "the good features are kept")
			require.Len(t, batch.Errors, 1)
			require.Contains(t, batch.Errors[0].Reason, "20170919_0000091")
			require.Contains(t, batch.Errors[0].Reason, test.reason)
		})
	}
}

// changeFeature returns the sample with a change of the Puebla earthquake.
func changeFeature(t *testing.T, was, becomes string) string {
	t.Helper()
	features := strings.SplitAfter(emscSample(t), "\n},\n")
	require.Len(t, features, 6)
	changed := strings.ReplaceAll(features[4], was, becomes)
	require.NotEqual(t, features[4], changed)
	features[4] = changed
	return strings.Join(features, "")
}

func TestEMSCWithdrawsWhatIsNoEarthquake(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sm", "kx", "uk", "ls"} {
		batch := parseEMSC(t, changeFeature(t, `"ke"`, `"`+kind+`"`))
		require.Len(t, batch.Observations, 5)
		require.Equal(t, 1, batch.Skipped)
		require.Len(t, batch.Retractions, 1)
		require.Equal(t, trigger.Retracted, batch.Retractions[0].Stage)
		require.Equal(t, "20170919_0000091", batch.Retractions[0].SourceEventID)
	}
	require.Len(t, parseEMSC(t, changeFeature(t, `"ke"`, `"se"`)).Observations, 6, "a suspected earthquake")
}

func TestEMSCSkipsMagnitudesWithoutAScale(t *testing.T) {
	t.Parallel()
	batch := parseEMSC(t, changeFeature(t, `"magtype": "mw"`, `"magtype": "m"`))
	require.Len(t, batch.Observations, 5)
	require.Equal(t, 1, batch.Skipped)
	require.Empty(t, batch.Errors)
	require.Empty(t, batch.Retractions)
	require.Equal(t, "mw", findObservation(t, parseEMSC(t, changeFeature(t, `"magtype": "mw"`, `"magtype": "mww"`)), "20170919_0000091").Measures["magnitude"].Unit)
}
