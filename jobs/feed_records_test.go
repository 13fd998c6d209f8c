package jobs

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/jobs/feed"
	"parapet/jobs/fetch"
	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/modeltest"
	"parapet/model/receipts/receipt"
	"parapet/model/wire"
)

// readRecords returns the payload of a claim's receipt, which is verified with the formats
// of the sources.
func readRecords(t *testing.T, b *modeltest.Bundle, claim string) *receipt.ClaimPayload {
	t.Helper()
	b.Relay()
	signed, err := b.Service.Receipts.Claim(t.Context(), b.Acme, claim, nil)
	require.NoError(t, err)
	require.Empty(t, verifyWithRecords(t, signed.Payload))
	payload := new(receipt.ClaimPayload)
	require.NoError(t, json.Unmarshal(signed.Payload, payload))
	return payload
}

// verifyWithRecords signs a payload and returns the pointers of all differences.
func verifyWithRecords(t *testing.T, payload any) (pointers []string) {
	t.Helper()
	signed, err := modeltest.ReceiptKeys().Sign(payload)
	require.NoError(t, err)
	text, err := wire.Encode(signed)
	require.NoError(t, err)
	report, err := receipt.Verify(text, receipt.Trust{Keys: modeltest.ReceiptKeys().Public()}, receipt.Data{History: hazard.Shipped(), ParseRecord: feed.ParseRecord})
	require.NoError(t, err)
	require.Empty(t, report.NotChecked)
	for _, d := range report.Differences {
		pointers = append(pointers, d.Pointer)
	}
	return pointers
}

// requireRecordCounts requires that a record with another text makes a difference at a
// pointer.
func requireRecordCounts(t *testing.T, p *receipt.ClaimPayload, old, changed, pointer string) {
	t.Helper()
	record := &p.Readings[0].Records[0]
	text, err := base64.StdEncoding.DecodeString(record.Record)
	require.NoError(t, err)
	require.Contains(t, string(text), old)
	before := record.Record
	record.Record = base64.StdEncoding.EncodeToString([]byte(strings.Replace(string(text), old, changed, 1)))
	require.Equal(t, []string{pointer}, verifyWithRecords(t, p))
	record.Record = before
}

func TestReceiptHasTheRecordOfAnEarthquake(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	b.AdvanceClock(time.Second)
	file := quakeFeed(b, "reviewed", "earthquake", 1)
	_, err := IngestFrom(t.Context(), b.Service, feed.SourceUSGS, "https://earthquake.example/feed/all.geojson?key=secret", file)
	require.NoError(t, err)
	b.RunJobs()
	p := readRecords(t, b, b.OnlyClaim(policy).ID)
	require.Len(t, p.Readings[0].Records, 1)
	record := p.Readings[0].Records[0]
	require.Equal(t, []string{"earthquake.example", "/feed/all.geojson"}, []string{record.Host, record.Path})
	sum := fetch.NewFile("", file).SHA256
	require.Equal(t, hex.EncodeToString(sum[:]), record.FileSHA256)
	text, err := base64.StdEncoding.DecodeString(record.Record)
	require.NoError(t, err)
	require.Contains(t, string(file), string(text))
	require.Less(t, len(text), len(file))
	requireRecordCounts(t, p, `"mag":6.4`, `"mag":6.5`, "/readings/0/facts/earthquake/magnitude")
	requireRecordCounts(t, p, `mww`, `mb`, "/readings/0/facts/unit")
	requireRecordCounts(t, p, `"mag":6.4`, `"mag":"6.4"`, "/readings/0/records/0/record_base64")
	requireRecordCounts(t, p, `{`, `[`, "/readings/0/records/0/record_base64")

	// A later report has a record of its own; the receipt keeps that of its decision.
	_, err = IngestFrom(t.Context(), b.Service, feed.SourceUSGS, "later.geojson", quakeFeed(b, "reviewed", "earthquake", 2))
	require.NoError(t, err)
	require.Equal(t, p, readRecords(t, b, p.ClaimID))
	require.Equal(t, 2, b.CountRows()["observation_records"])
}

func TestReceiptHasTheRecordsOfAStorm(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("cyclone-circle", nil)
	from := b.Now().UTC().Truncate(time.Hour)
	file := "AL011999,            STORM,3,\r\n"
	for i := range 3 {
		at := from.Add(time.Duration(i+1) * time.Hour)
		file += fmt.Sprintf("%s,%s, , HU, %.1fN, 80.2W, 140, 910\r\n", at.Format("20060102"), at.Format("1504"), 25.5+0.1*float64(i))
	}
	b.AdvanceClock(4 * time.Hour)
	_, err := IngestFrom(t.Context(), b.Service, feed.SourceNHC, "/home/operator/tracks.txt", []byte(file))
	require.NoError(t, err)
	b.RunJobs()
	p := readRecords(t, b, b.OnlyClaim(policy).ID)
	require.Len(t, p.Readings[0].Records, 3)
	require.Equal(t, []string{"", "tracks.txt"}, []string{p.Readings[0].Records[0].Host, p.Readings[0].Records[0].Path})
	requireRecordCounts(t, p, "910", "911", "/readings/0/facts/storm/fixes/0/pressure_hpa")
	requireRecordCounts(t, p, "25.5N", "25.4N", "/readings/0/facts/storm/fixes/0/location/latitude")
	p.Readings[0].Records[2].ID = "obs_unknown"
	require.Equal(t, []string{"/readings/0/records/2/id"}, verifyWithRecords(t, p))
}

// The record of a day that was moved by a rehearsal has the original date.
func TestReceiptHasTheRecordsOfReplayedDays(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("rain-excess", modeltest.Context{"days": 3})
	b.AdvanceClock(20 * 24 * time.Hour)
	file := "location,date,precipitation\n"
	for i, mm := range strings.Fields("10 45 60 40 35 0 0 0 0") {
		file += fmt.Sprintf("%s,2012-01-%02d,%s\n", policy.Cover.Place.Station, i+1, mm)
	}
	_, err := ReplayFile(t.Context(), b.Service, feed.SourceGHCN, []byte(file), "")
	require.NoError(t, err)
	b.RunJobs()
	p := readRecords(t, b, b.OnlyClaim(policy).ID)
	require.NotEmpty(t, p.Readings[0].Records)
	require.Equal(t, "2012-01-01", p.Readings[0].Records[0].ReplayedFrom.Format(time.DateOnly))
	requireRecordCounts(t, p, ",10\n", ",11\n", "/readings/0/facts/station/days/0/precipitation_mm")
	moved := p.Readings[0].Records[0].ReplayedFrom.AddDate(0, 0, 1)
	p.Readings[0].Records[0].ReplayedFrom = &moved
	require.Equal(t, []string{"/readings/0/records/0/replayed_from"}, verifyWithRecords(t, p))
}

// Observations that were posted have no record, and the receipt does not name one.
func TestReceiptOfAPostedReadingHasNoRecord(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	modeltest.ObserveQuake(b, "us1", "6.4", trigger.Final)
	require.Empty(t, readRecords(t, b, b.OnlyClaim(policy).ID).Readings[0].Records)
}
