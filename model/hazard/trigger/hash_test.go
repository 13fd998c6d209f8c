package trigger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"parapet/model/money"
)

func TestHashIsOfCanonicalJSON(t *testing.T) {
	t.Parallel()
	cover := rainCover(AtMost, droughtPayout)
	cover.WaitingPeriod, cover.ReportingWindow = "P0D", "P30D"
	const canonical = `{"limit":{"amount":1000000,"currency":"USD"},` +
		`"payout":{"attach":"30","exhaust":"0","shape":"linear"},` +
		`"place":{"kind":"station","station":"Seattle"},"reporting_window":"P30D","starts_at":null,"term":"P1Y",` +
		`"trigger":{"calendar":"month","decides_on":"final","direction":"at_most","index":"precipitation_sum",` +
		`"kind":"rainfall","strict":false,"unit":"mm"},"waiting_period":"P0D"}`
	require.Equal(t, sha256Hex(canonical), cover.Hash())
	require.Equal(t, sha256Hex(`{"cover":`+canonical+`,"product":"rain-deficit","product_version":3}`),
		TermsHash("rain-deficit", 3, cover))
}

func TestHashWritesTimesAsRecordsDo(t *testing.T) {
	t.Parallel()
	cover := quakeCover()
	for at, text := range map[time.Time]string{
		utcDate(2024, 1, 1): "2024-01-01T00:00:00.000000Z",
		utcDate(2024, 1, 1).Add(120 * time.Millisecond).In(time.FixedZone("", 3600)): "2024-01-01T00:00:00.120000Z",
	} {
		cover.StartsAt = nil
		record, err := json.Marshal(map[string]any{"product": "quake-circle", "product_version": 1, "cover": cover})
		require.NoError(t, err)
		canonical, err := jcs.Transform(bytes.Replace(record, []byte(`"starts_at":null`), []byte(`"starts_at":"`+text+`"`), 1))
		require.NoError(t, err)
		cover.StartsAt = &at
		require.Equal(t, sha256Hex(string(canonical)), TermsHash("quake-circle", 1, cover))
	}
}

func sha256Hex(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// TestHashMatchesReferenceImplementation compares the canonical form with that of
// another implementation of RFC 8785, for random places and texts.
func TestHashMatchesReferenceImplementation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cover := quakeCover()
		cover.Place.Latitude = rapid.Float64Range(-90, 90).Draw(t, "latitude")
		cover.Place.Longitude = rapid.Float64Range(-180, 180).Draw(t, "longitude")
		cover.Limit = money.New(rapid.Int64().Draw(t, "limit"), rapid.String().Draw(t, "currency"))
		text, err := json.Marshal(cover)
		if err != nil {
			t.Skip("no JSON")
		}
		canonical, err := jcs.Transform(text)
		require.NoError(t, err)
		require.Equal(t, sha256Hex(string(canonical)), cover.Hash(), "%s", text)
	})
}

func TestHashDiffersForDifferentTerms(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{quakeCover().Hash(): true}
	for name, change := range map[string]func(*Cover){
		"limit":     func(c *Cover) { c.Limit = money.New(1, "USD") },
		"start":     func(c *Cover) { c.StartsAt = decimalPtr(utcDate(2024, 1, 1)) },
		"radius":    func(c *Cover) { c.Place.RadiusKM = 50.5 },
		"strict":    func(c *Cover) { c.Trigger.Strict = true },
		"threshold": func(c *Cover) { c.Payout.Steps[0].Threshold = mustDecimal("6.1") },
	} {
		cover := quakeCover()
		change(&cover)
		require.False(t, seen[cover.Hash()], name)
		seen[cover.Hash()] = true
	}
	require.NotEqual(t, TermsHash("a", 1, quakeCover()), TermsHash("a", 2, quakeCover()))
}

// A cover read from the database must equal the hashed one, including zeros.
func TestCoverSurvivesJSON(t *testing.T) {
	t.Parallel()
	equator := quakeCover()
	equator.Place.Latitude, equator.Place.Longitude = 0, 0
	equator.Trigger.MaximumDepthKM = decimalPtr(mustDecimal("0"))
	for _, cover := range []Cover{equator, stormCover(), rainCover(AtMost, droughtPayout), rainCover(AtLeast, tickPayout)} {
		text, err := json.Marshal(cover)
		require.NoError(t, err)
		var back Cover
		require.NoError(t, json.Unmarshal(text, &back, json.RejectUnknownMembers(true)))
		require.Equal(t, cover.Hash(), back.Hash())
		require.NoError(t, back.Validate())
	}
	text, err := json.Marshal(equator.Place)
	require.NoError(t, err)
	require.JSONEq(t, `{"kind":"circle","latitude":0,"longitude":0,"radius_km":50}`, string(text))
}

func TestHashPanicsWithoutJSON(t *testing.T) {
	t.Parallel()
	cover := quakeCover()
	cover.Place.Latitude = math.NaN()
	require.Error(t, cover.Validate())
	require.Panics(t, func() { cover.Hash() })
}
