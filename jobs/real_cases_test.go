package jobs

import (
	"compress/gzip"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"parapet/jobs/feed"
	"parapet/model/hazard"
	"parapet/model/modeltest"
	"parapet/model/receipts/receipt"
	"parapet/model/wire"
)

var updateCases = flag.Bool("update-cases", false, "write receipts of real cases that are not there yet")

// casesFolder has the committed receipts of real cases. Its README cites the sources and
// says what is a reconstruction.
const casesFolder = "../model/receipts/receipt/testdata/cases"

// realCase is a real event that is replayed for a policy at a real place.
type realCase struct {
	file, product   string
	terms           modeltest.Context
	source, event   string
	first           string // the first known time of the event
	wait            time.Duration
	index, occurred string
	distanceKM      float64
	factor          string
}

var realCases = []realCase{
	{
		file: "michael-2018-blountstown.json", product: "cyclone-circle",
		terms:  modeltest.Context{"location": map[string]any{"latitude": 30.4435, "longitude": -85.0455}, "radius_km": 40, "term": "P365D"},
		source: feed.SourceNHC, event: "AL142018", first: "2018-10-06T18:00:00Z", wait: 12 * 24 * time.Hour,
		index: "135", occurred: "2018-10-10T19", distanceKM: 15.5, factor: "0.8",
	},
	{
		file: "melissa-2025-jamaica.json", product: "cyclone-pressure",
		terms:  modeltest.Context{"location": map[string]any{"latitude": 18.11, "longitude": -77.3}, "radius_km": 120, "term": "P365D"},
		source: feed.SourceNHC, event: "AL132025", first: "2025-10-21T06:00:00Z", wait: 14 * 24 * time.Hour,
		index: "892", occurred: "2025-10-28T", factor: "1",
	},
	{
		file: "hualien-2018.json", product: "quake-circle",
		terms:  modeltest.Context{"location": map[string]any{"latitude": 23.98, "longitude": 121.61}, "radius_km": 50, "term": "P365D"},
		source: feed.SourceUSGS, event: "us1000chhc", first: "2018-02-06T15:50:42Z", wait: time.Hour,
		index: "6.4", occurred: "2018-02-06T15:50", distanceKM: 22, factor: "0.2",
	},
}

// fileOf returns the file of the source that has the event.
func (c *realCase) fileOf(t *testing.T) []byte {
	t.Helper()
	if c.source == feed.SourceUSGS {
		return feed.SampleUSGSWeek()
	}
	packed, err := os.Open("../model/hazard/data/atlantic-storms-1851-2025.txt.gz")
	require.NoError(t, err)
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	require.NoError(t, err)
	text, err := io.ReadAll(unpacked)
	require.NoError(t, err)
	_, track, found := strings.Cut(string(text), c.event)
	require.True(t, found)
	if next := strings.Index(track, "\nAL"); next >= 0 {
		track = track[:next+1]
	}
	return []byte(c.event + track)
}

// write replays the event and writes the receipt of its claim.
func (c *realCase) write(t *testing.T, path string) {
	t.Helper()
	b := modeltest.New(t, modeltest.WithShippedProducts())
	policy := b.QuoteAndBind(c.product, c.terms)
	b.AdvanceClock(c.wait)
	_, err := ReplayFile(t.Context(), b.Service, c.source, c.fileOf(t), c.event)
	require.NoError(t, err)
	b.RunJobs()
	claim := b.OnlyClaim(policy)
	b.Relay()
	signed, err := b.Service.Receipts.Claim(t.Context(), b.Acme, claim.ID, nil)
	require.NoError(t, err)
	text, err := wire.Encode(signed)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text, 0o644))
}

// The committed receipts of real cases verify with the records of their sources, and say
// what happened. They are written once and never again.
func TestReceiptsOfRealCasesVerify(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join(casesFolder, "README.md"))
	require.NoError(t, err)
	for _, c := range realCases {
		path := filepath.Join(casesFolder, c.file)
		if _, err := os.Stat(path); err != nil && *updateCases {
			c.write(t, path)
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		report, err := receipt.Verify(text, receipt.Trust{Keys: modeltest.ReceiptKeys().Public()}, receipt.Data{History: hazard.Shipped(), ParseRecord: feed.ParseRecord})
		require.NoError(t, err, c.file)
		require.Empty(t, report.Differences, c.file)
		for _, n := range report.NotChecked { // a later edition of the history
			require.Contains(t, []string{"/basis", "/history"}, n.Pointer, c.file)
		}
		require.Empty(t, report.Decided, c.file)
		c.requireFacts(t, text)
		require.Contains(t, string(readme), c.file)
	}
}

// requireFacts checks what the receipt says of the event.
func (c *realCase) requireFacts(t *testing.T, text []byte) {
	t.Helper()
	var signed struct {
		Payload jsontext.Value `json:"payload"`
	}
	require.NoError(t, json.Unmarshal(text, &signed, json.RejectUnknownMembers(false)))
	p := new(receipt.ClaimPayload)
	require.NoError(t, json.Unmarshal(signed.Payload, p))
	part := p.Parts[0]
	hashed, err := receipt.ParseHashed(part.Determination.Hashed)
	require.NoError(t, err)
	require.Equal(t, "approved", part.Outcome, c.file)
	require.Equal(t, []string{c.source, c.event}, []string{hashed.Source, hashed.SourceEventID})
	require.Equal(t, []string{c.index, c.factor}, []string{hashed.Determination.Index.Value, hashed.Determination.Factor}, c.file)
	if c.distanceKM > 0 {
		require.InDelta(t, c.distanceKM, *hashed.Determination.DistanceKM, 1, c.file)
	}
	records := p.Readings[0].Records
	require.NotEmpty(t, records)
	first := records[0].ReplayedFrom
	require.NotNil(t, first, "the receipt says what was moved to another time")
	require.Equal(t, c.first, first.UTC().Truncate(time.Second).Format(time.RFC3339), c.file)
	for _, record := range records[1:] {
		if record.ReplayedFrom.Before(*first) {
			require.Fail(t, "the first record is the earliest", c.file)
		}
	}
	facts, err := receipt.ParseFacts(p.Readings[0].Facts)
	require.NoError(t, err)
	shift := first.Sub(startOf(facts))
	require.True(t, strings.HasPrefix(hashed.Determination.OccurredAt.Add(shift).UTC().Format(time.RFC3339), c.occurred), "%s: %s", c.file, hashed.Determination.OccurredAt.Add(shift))
	if facts.Storm != nil {
		c.requireSegment(t, p, facts)
	}
}

func startOf(facts *receipt.Facts) time.Time {
	if facts.Earthquake != nil {
		return facts.Earthquake.OccurredAt
	}
	return facts.Storm.Fixes[0].At
}

// requireSegment requires that Michael's fixes missed the circle that its track hit.
func (c *realCase) requireSegment(t *testing.T, p *receipt.ClaimPayload, facts *receipt.Facts) {
	t.Helper()
	var cover struct {
		Place struct {
			Latitude, Longitude float64
			RadiusKM            float64 `json:"radius_km"`
		} `json:"place"`
	}
	require.NoError(t, json.Unmarshal(p.Cover, &cover))
	closest := 1e9
	for _, fix := range facts.Storm.Fixes {
		closest = min(closest, hazard.Distance(hazard.Point{Latitude: cover.Place.Latitude, Longitude: cover.Place.Longitude}, fix.Location))
	}
	if c.event == "AL142018" {
		require.Greater(t, closest, cover.Place.RadiusKM, "missed on the fixes")
	}
}
