package feed_test

import (
	"compress/gzip"
	"io"
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

// shippedFile opens a real file of the price history.
func shippedFile(t *testing.T, name string) io.Reader {
	t.Helper()
	file, err := os.Open(name + ".gz")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	unpacked, err := gzip.NewReader(file)
	require.NoError(t, err)
	return unpacked
}

func TestNHCFile(t *testing.T) {
	t.Parallel()
	batch, err := feed.Parse(feed.SourceNHC, shippedFile(t, "../../model/hazard/data/atlantic-storms-1851-2025.txt"))
	require.NoError(t, err)
	seen, previous := map[string]int{}, ""
	for _, o := range batch.Observations {
		if o.SourceEventID != previous {
			require.Zero(t, seen[o.SourceEventID], "the rows of a storm stay together")
		}
		seen[o.SourceEventID]++
		previous = o.SourceEventID
		require.Contains(t, o.Measures, "wind")
	}
	require.Empty(t, batch.Errors)
	require.Len(t, seen, 2004)
	require.Len(t, batch.Observations, 55_548)
	require.Equal(t, 57, batch.Skipped, "fixes without a known wind")
	require.Equal(t, 34, seen["AL122005"])
	for i := range batch.Observations {
		if i%100 == 0 {
			requireSameFromRecord(t, batch.Observations[i])
		}
		batch.Observations[i].Record = nil
	}
	require.Contains(t, batch.Observations, wire.ObservationInput{
		Source: "nhc", SourceEventID: "AL122005", Kind: hazard.StormFix, Stage: trigger.Final,
		OccurredAt: time.Date(2005, 8, 29, 11, 10, 0, 0, time.UTC),
		Location:   &hazard.Point{Latitude: 29.3, Longitude: -89.6},
		Measures:   map[string]wire.Measure{"wind": {Value: "110", Unit: "kn"}, "pressure": {Value: "920", Unit: "hPa"}},
	})
}

func TestNHCUnknownValues(t *testing.T) {
	t.Parallel()
	batch, err := feed.ParseNHC(strings.NewReader("AL092099,NAME,3,\n" +
		"20990801,0000,,TS,10.0N,40.0W,-99,1000\n20990801,0600,,TS,10.0N,41.0W,35,-999\n20990801,1200,,TS,10.0N,999W,35,1000\n"))
	require.NoError(t, err)
	require.Equal(t, 1, batch.Skipped)
	require.Len(t, batch.Observations, 1)
	require.Equal(t, map[string]wire.Measure{"wind": {Value: "35", Unit: "kn"}}, batch.Observations[0].Measures)
	require.Len(t, batch.Errors, 1)
	require.Equal(t, 4, batch.Errors[0].Line)
}

func TestGHCNFile(t *testing.T) {
	t.Parallel()
	batch, err := feed.Parse(feed.SourceGHCN, shippedFile(t, "testdata/ghcn-daily-seattle-newyork-2012-2015.csv"))
	require.NoError(t, err)
	require.Empty(t, batch.Errors)
	require.Len(t, batch.Observations, 2*(4*365+1))
	require.Equal(t, wire.ObservationInput{
		Source: "ghcn", SourceEventID: "Seattle/2012-01-02", Kind: hazard.StationDay, Stage: trigger.Final,
		OccurredAt: time.Date(2012, 1, 2, 0, 0, 0, 0, time.UTC), Station: "Seattle",
		Measures: map[string]wire.Measure{
			"precipitation": {Value: "10.9", Unit: "mm"}, "wind": {Value: "4.5", Unit: "m/s"},
			"temperature_max": {Value: "10.6", Unit: "degC"}, "temperature_min": {Value: "2.8", Unit: "degC"},
		},
	}, findObservation(t, batch, "Seattle/2012-01-02"))
	require.Equal(t, "5.0", findObservation(t, batch, "Seattle/2012-01-01").Measures["temperature_min"].Value, "digits are kept")
}

// requireSameFromRecord requires that the record of an observation alone has its values.
func requireSameFromRecord(t *testing.T, o wire.ObservationInput) {
	t.Helper()
	alone, err := feed.ParseRecord(o.Source, o.Record.Text)
	require.NoError(t, err)
	require.Len(t, alone, 1)
	alone[0].Record, o.Record = nil, nil
	require.Equal(t, o, alone[0])
}

// For any input, parsing does not panic, every observation is complete and follows from
// its record alone, and every error has a line.
func fuzzParser(f *testing.F, source string) {
	f.Helper()
	f.Fuzz(func(t *testing.T, text string) {
		batch, err := feed.Parse(source, strings.NewReader(text))
		if err != nil {
			require.ErrorContains(t, err, "stopped after", "only a line too long stops a reader in memory")
		}
		for _, o := range batch.Observations {
			require.NotEmpty(t, o.SourceEventID)
			require.NotEmpty(t, o.Measures)
			require.GreaterOrEqual(t, o.OccurredAt.Year(), hazard.EarliestYear)
			require.NotEqual(t, o.Location == nil, o.Station == "")
			requireSameFromRecord(t, o)
		}
		for _, e := range batch.Errors {
			require.Positive(t, e.Line)
		}
	})
}

func FuzzUSGS(f *testing.F) {
	f.Add(head + quak + ",\n" + quak + tail)
	f.Add(head + quak[:100])
	fuzzParser(f, feed.SourceUSGS)
}

func FuzzEMSC(f *testing.F) {
	f.Add(emscSample(f))
	f.Add(emscSample(f)[:700])
	fuzzParser(f, feed.SourceEMSC)
}

func FuzzNHC(f *testing.F) {
	f.Add("AL092099,NAME,1,\n20990801,0000,L,TS,10.0N,40.0W,45,1000\n")
	f.Add("AL090001,NAME,1,\n00010101,0000,L,TS,10.0N,40.0W,45,1000\n") // no time at all, to Go
	fuzzParser(f, feed.SourceNHC)
}

func FuzzGHCN(f *testing.F) {
	f.Add("location,date,precipitation\nSeattle,2012-01-01,0.0,12.8,5.0,4.7,drizzle\n")
	fuzzParser(f, feed.SourceGHCN)
}
