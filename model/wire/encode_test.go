package wire_test

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model/money"
	"parapet/model/wire"
)

func TestTimesAreUTCWithMicroseconds(t *testing.T) {
	t.Parallel()
	taipei := time.FixedZone("CST", 8*60*60)
	for want, at := range map[string]time.Time{
		`{"at":"2018-02-06T15:50:42.000000Z"}`: time.Date(2018, 2, 6, 23, 50, 42, 0, taipei),
		`{"at":"2018-02-06T15:50:42.600000Z"}`: time.Date(2018, 2, 6, 15, 50, 42, 600_000_999, time.UTC),
	} {
		text, err := wire.Encode(struct {
			At time.Time `json:"at"`
		}{at})
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
}

func TestDecimalsAreTextWithTheirDigits(t *testing.T) {
	t.Parallel()
	for _, digits := range []string{"0", "6.0", "-0.20", "301000000000000", "2254612.83588398016", "1e3", "1e-7"} {
		d := decimal.RequireFromString(digits)
		want, err := d.MarshalJSON()
		require.NoError(t, err)
		for _, value := range []any{d, &d} {
			text, err := wire.Encode(value)
			require.NoError(t, err)
			require.Equal(t, string(want), string(text))
		}
	}
	text, err := wire.Encode((*decimal.Decimal)(nil))
	require.NoError(t, err)
	require.Equal(t, "null", string(text))
}

func TestEncodeOnceReusesText(t *testing.T) {
	t.Parallel()
	quote := &wire.Quote{QuoteHead: wire.QuoteHead{Header: wire.Header{ID: "quo_1"}}}
	fresh, err := wire.Encode(quote)
	require.NoError(t, err)
	once, err := wire.EncodeOnce(quote)
	require.NoError(t, err)
	members, err := wire.SplitMembers(once)
	require.NoError(t, err)
	require.Equal(t, `"quo_1"`, string(members["id"]))
	kept, err := wire.Encode(quote)
	require.NoError(t, err)
	require.Equal(t, string(fresh), string(kept))
	again, err := wire.Encode(quote)
	require.NoError(t, err)
	require.Same(t, &kept[0], &again[0])
}

func TestListsAreNeverNull(t *testing.T) {
	t.Parallel()
	text, err := wire.Encode(wire.Claim{})
	require.NoError(t, err)
	require.Contains(t, string(text), `"payouts":[]`)
	require.Contains(t, string(text), `"metadata":{}`)
	require.Contains(t, string(text), `"decision":null`)
	require.Contains(t, string(text), `"closed_at":null`)
}

func TestDecodeReadsWhatEncodeWrote(t *testing.T) {
	t.Parallel()
	owed := money.New(2_000_000, "USD")
	claim := wire.Claim{
		Header: wire.Header{ID: "clm_1", Object: "claim", CreatedAt: time.Date(2018, 2, 6, 15, 50, 42, 1000, time.UTC), Version: 3},
		Status: "approved", Amount: &owed, Decision: &wire.Decision{Outcome: "approved", ReasonCodes: []string{"threshold_met"}},
		References: wire.References{Metadata: map[string]string{"b": "é \u2028 <&>", "a": "1"}},
	}
	text, err := wire.Encode(claim)
	require.NoError(t, err)
	var read wire.Claim
	require.NoError(t, wire.Decode(append(text[:len(text)-1], `,"newer":1}`...), &read), "an older release reads a newer one's bytes")
	again, err := wire.Encode(read)
	require.NoError(t, err)
	first, err := wire.Encode(claim)
	require.NoError(t, err)
	require.Equal(t, string(first), string(again))
	require.Contains(t, string(first), `"metadata":{"a":"1","b":`, "maps are written in order, so equal records have equal bytes")
}

// Times have the contract's layout, in every zone and with any fraction of a second.
func TestTimesAreWrittenToTheMicrosecond(t *testing.T) {
	t.Parallel()
	const layout = "2006-01-02T15:04:05.000000Z"
	for _, zone := range []*time.Location{time.UTC, time.FixedZone("east", 5*3600+1800), time.FixedZone("west", -11*3600)} {
		for _, second := range []int64{0, -1, 1_517_935_850, -62_135_596_800, 253_402_300_799} {
			for _, nanosecond := range []int64{0, 1, 999, 1000, 120_000, 100_000_000, 642_600_000, 999_999_999} {
				at := time.Unix(second, nanosecond).In(zone)
				require.Equal(t, at.UTC().Format(layout), wire.FormatTime(at))
				require.Equal(t, "at "+wire.FormatTime(at), string(wire.AppendTime([]byte("at "), at)))
			}
		}
	}
}
