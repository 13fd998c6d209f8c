package feed_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/jobs/feed"
	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/wire"
)

func sampleWeek(t *testing.T) feed.Batch {
	t.Helper()
	batch, err := feed.ParseUSGS(bytes.NewReader(feed.SampleUSGSWeek()))
	require.NoError(t, err)
	return batch
}

func findObservation(t *testing.T, batch feed.Batch, id string) wire.ObservationInput {
	t.Helper()
	for _, o := range batch.Observations {
		if o.SourceEventID == id {
			o.Record = nil
			return o
		}
	}
	require.FailNow(t, "no observation", id)
	return wire.ObservationInput{}
}

func TestUSGSWeek(t *testing.T) {
	t.Parallel()
	batch := sampleWeek(t)
	require.Len(t, batch.Observations, 1679)
	require.Equal(t, 28, batch.Skipped)
	require.Empty(t, batch.Errors)
	for _, o := range batch.Observations {
		requireSameFromRecord(t, o)
	}

	updated := int64(1517967111797)
	require.Equal(t, wire.ObservationInput{
		Source: "usgs", SourceEventID: "us1000chhc", Kind: hazard.Earthquake,
		OccurredAt: time.UnixMilli(1517932242400).UTC(), Stage: trigger.Final, Revision: &updated,
		Location: &hazard.Point{Latitude: 24.1737, Longitude: 121.653},
		Measures: map[string]wire.Measure{"magnitude": {Value: "6.4", Unit: "mw"}, "depth": {Value: "10.64", Unit: "km"}},
	}, findObservation(t, batch, "us1000chhc"))

	local := findObservation(t, batch, "ci37868143")
	require.Equal(t, trigger.Preliminary, local.Stage)
	require.Equal(t, wire.Measure{Value: "2", Unit: "ml"}, local.Measures["magnitude"])
}

const (
	head = `{"type":"FeatureCollection","metadata":{"count":2},"features":[`
	quak = `{"type":"Feature","properties":{"mag":5.0,"time":1517932242400,"updated":1517967111797,"status":"reviewed","ids":",us1,at2,tw3,","magType":"Mwr","type":"earthquake"},"geometry":{"type":"Point","coordinates":[121.653,24.1737,-0.50]},"id":"us1"}`
	tail = `],"bbox":[1,2]}`
)

func TestUSGSKeepsDigitsAndAliases(t *testing.T) {
	t.Parallel()
	batch, err := feed.ParseUSGS(strings.NewReader(head + quak + tail))
	require.NoError(t, err)
	o := findObservation(t, batch, "us1")
	require.Equal(t, []string{"at2", "tw3"}, o.Aliases)
	require.Equal(t, map[string]wire.Measure{"magnitude": {Value: "5.0", Unit: "mw"}, "depth": {Value: "-0.50", Unit: "km"}}, o.Measures)
}

func TestUSGSLeavesOutBadFeatures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, old, new, reason string }{
		{"null magnitude", `"mag":5.0`, `"mag":null`, "magnitude is missing"},
		{"no magnitude", `"mag":5.0,`, ``, "magnitude is missing"},
		{"magnitude as text", `"mag":5.0`, `"mag":"5.0"`, "not a plain decimal"},
		{"exponent", `"mag":5.0`, `"mag":5e9999999`, "not a plain decimal"},
		{"no magnitude type", `"magType":"Mwr"`, `"magType":null`, "magnitude has no type"},
		{"no id", `"id":"us1"`, `"id":""`, "no id"},
		{"id as number", `"id":"us1"`, `"id":7`, "feature 2"},
		{"no time", `"time":1517932242400`, `"time":null`, "no time"},
		{"time far away", `"time":1517932242400`, `"time":9223372036854775807`, "between the years 1800 and 9999"},
		{"another status", `"status":"reviewed"`, `"status":"guessed"`, "neither automatic nor reviewed nor deleted"},
		{"latitude", `24.1737`, `94`, "not on earth"},
		{"position null", `24.1737`, `null`, "not two numbers"},
		{"position missing", `[121.653,24.1737,-0.50]`, `[]`, "no position"},
		{"depth as text", `-0.50`, `"deep"`, "depth is not a plain decimal"},
		{"named twice", `"id":"us1"`, `"id":"us1","id":"us2"`, "is there twice"},
		{"no object", quak, `7`, "feature 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			bad := strings.Replace(quak, test.old, test.new, 1)
			require.NotEqual(t, quak, bad)
			batch, err := feed.ParseUSGS(strings.NewReader(head + quak + ",\n" + bad + ",\n" + quak + tail))
			require.NoError(t, err)
			require.Len(t, batch.Observations, 2, "the good rows are kept")
			require.Len(t, batch.Errors, 1)
			require.Equal(t, 2, batch.Errors[0].Line)
			require.Contains(t, batch.Errors[0].Reason, test.reason)
		})
	}
}

func TestUSGSWithdrawsWhatItDeletedAndWhatIsNoEarthquake(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		old, new string
		skipped  int
	}{
		"deleted":          {`"status":"reviewed"`, `"status":"deleted"`, 0},
		"another type":     {`"type":"earthquake"`, `"type":"quarry blast"`, 1},
		"without position": {`"geometry":{"type":"Point","coordinates":[121.653,24.1737,-0.50]}`, `"geometry":null,"properties":{"status":"deleted","updated":1517967111797,"ids":",us1,at2,tw3,"}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			feature := strings.Replace(quak, test.old, test.new, 1)
			if name == "without position" {
				feature = `{"type":"Feature",` + test.new + `,"id":"us1"}`
			}
			batch, err := feed.ParseUSGS(strings.NewReader(head + feature + tail))
			require.NoError(t, err)
			require.Empty(t, batch.Errors)
			require.Empty(t, batch.Observations)
			require.Equal(t, test.skipped, batch.Skipped)
			var names []string
			for _, o := range batch.Retractions {
				require.Equal(t, trigger.Retracted, o.Stage)
				require.Equal(t, int64(1517967111797), *o.Revision)
				names = append(names, o.SourceEventID)
			}
			require.Equal(t, []string{"us1", "at2", "tw3"}, names)
		})
	}
}

func TestUSGSDepthMayBeUnknown(t *testing.T) {
	t.Parallel()
	for _, depth := range []string{`,null]`, `]`} {
		batch, err := feed.ParseUSGS(strings.NewReader(head + strings.Replace(quak, `,-0.50]`, depth, 1) + tail))
		require.NoError(t, err)
		require.NotContains(t, findObservation(t, batch, "us1").Measures, "depth")
	}
}

func TestUSGSThatBreaksOffKeepsWhatCameBefore(t *testing.T) {
	t.Parallel()
	whole := feed.SampleUSGSWeek()
	for _, cut := range []int{400_000, 400_001, 700_123, len(whole) - 1} {
		batch, err := feed.ParseUSGS(bytes.NewReader(whole[:cut]))
		require.NoError(t, err)
		require.NotEmpty(t, batch.Observations)
		require.Len(t, batch.Errors, 1)
		features := len(batch.Observations) + batch.Skipped
		require.InDelta(t, features, batch.Errors[0].Line, 1, "the feed has one feature a line")
		require.Contains(t, batch.Errors[0].Reason, "breaks off after feature")
	}
}

func TestUSGSRefusesOtherFiles(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "<html>\n", "[]", "null", `{"type":"FeatureCollection"}`, `{"features":null}`, `{"features":{}}`, `{"features":[}`, "\xff\xfe", `{"features"`,
	} {
		batch, err := feed.ParseUSGS(strings.NewReader(text))
		require.NoError(t, err)
		require.Empty(t, batch.Observations)
		require.Len(t, batch.Errors, 1, text)
		require.Equal(t, 1, batch.Errors[0].Line)
	}
}

func TestReadersFailureIsAnErrorOfItsOwn(t *testing.T) {
	t.Parallel()
	broken := errors.New("cable cut")
	for _, source := range feed.Sources() {
		_, err := feed.Parse(source, io.MultiReader(strings.NewReader(head), iotest.ErrReader(broken)))
		require.ErrorIs(t, err, broken, source)
	}
	_, err := feed.Parse("jma", strings.NewReader(""))
	require.ErrorContains(t, err, `no source "jma"`)
}
