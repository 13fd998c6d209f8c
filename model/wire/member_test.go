package wire_test

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"parapet/model/wire"
)

func TestEncodeToAppendsTheBytesOfEncode(t *testing.T) {
	t.Parallel()
	for _, r := range records() {
		drawn := rapid.Custom(r.draw).Example(1)
		want, err := wire.Encode(drawn)
		require.NoError(t, err)
		out := bytes.NewBufferString("before ")
		require.NoError(t, wire.EncodeTo(out, drawn))
		require.Equal(t, "before "+string(want), out.String())
	}
}

func TestEncodeOnceReturnsEachMemberOfTheText(t *testing.T) {
	t.Parallel()
	claims := recordOf[wire.Claim]()
	rapid.Check(t, func(t *rapid.T) {
		claim := claims.draw(t).(*wire.Claim)
		want, err := wire.Encode(claim)
		require.NoError(t, err)
		once, err := wire.EncodeOnce(claim)
		require.NoError(t, err)
		members, err := wire.SplitMembers(once)
		require.NoError(t, err)
		var decoded map[string]jsontext.Value
		require.NoError(t, wire.Decode(want, &decoded))
		require.Equal(t, decoded, members)
		claim.Version++ // a change after EncodeOnce is not seen
		kept, err := wire.Encode(claim)
		require.NoError(t, err)
		require.Equal(t, string(want), string(kept))
		out := &bytes.Buffer{}
		require.NoError(t, wire.EncodeTo(out, claim))
		require.Equal(t, string(want), out.String())
	})
}

// Members are parts of one text: appending to one of them must not change the next.
func TestAppendingToAMemberLeavesTheTextUnchanged(t *testing.T) {
	t.Parallel()
	quote := &wire.Quote{QuoteHead: wire.QuoteHead{Header: wire.Header{ID: "quo_1"}, Product: "quake-circle", Context: jsontext.Value(`{}`)}}
	once, err := wire.EncodeOnce(quote)
	require.NoError(t, err)
	members, err := wire.SplitMembers(once)
	require.NoError(t, err)
	before, err := wire.Encode(quote)
	require.NoError(t, err)
	before = bytes.Clone(before)
	for name, value := range members {
		_ = append(value, "overwritten"...)
		require.Len(t, value, cap(value), name)
	}
	after, err := wire.Encode(quote)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}

func TestRecordThatCannotBeEncodedKeepsNoText(t *testing.T) {
	t.Parallel()
	event := &wire.Event{Header: wire.Header{ID: "evt_1"}, Data: jsontext.Value(`{"object":`)}
	_, err := wire.EncodeOnce(event)
	require.Error(t, err)
	event.Data = jsontext.Value(`{"object":{}}`)
	text, err := wire.Encode(event)
	require.NoError(t, err)
	require.Contains(t, string(text), `"data":{"object":{}}`)
}

func TestValueWithoutJSONFormIsAnError(t *testing.T) {
	t.Parallel()
	for _, broken := range []any{wire.Message{Body: "\xff"}, wire.Explanation{DistanceKM: new(math.NaN())}, wire.Explanation{DistanceKM: new(math.Inf(1))}} {
		_, err := wire.Encode(broken)
		require.Error(t, err)
	}
	require.Error(t, wire.Decode([]byte("{\"body\":\"\xff\"}"), new(wire.Message)))
}

func TestDecodeRefusesWhatNoRecordHas(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, `[]`, `{"version":"1"}`, `{"version":1.5}`, `{"created_at":1700000000}`, `{"created_at":"yesterday"}`, `{"created_at":null}`,
		`{"created_at":"2018-02-29T00:00:00Z"}`, `{"version":1,"version":2}`, `{"version":1} {}`, `{"version":1`,
	} {
		require.Error(t, wire.Decode([]byte(text), new(wire.Partner)), text)
	}
}

// A database writes UTC as +00:00. Read with the zone of the process, equal instants would
// differ when they are compared.
func TestDecodedTimesAreUTC(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"2018-02-06T15:50:42.6Z", "2018-02-06T15:50:42.600000+00:00", "2018-02-06T23:50:42.6+08:00"} {
		var read wire.Claim
		require.NoError(t, wire.Decode([]byte(`{"opened_at":"`+text+`","closed_at":"`+text+`"}`), &read))
		require.Equal(t, time.Date(2018, 2, 6, 15, 50, 42, 600_000_000, time.UTC), read.OpenedAt, text)
		require.Equal(t, read.OpenedAt, *read.ClosedAt, text)
	}
}

func TestHeadReturnsTheHeaderOfEveryRecord(t *testing.T) {
	t.Parallel()
	header := wire.Header{ID: "clm_1", Version: 7}
	for _, r := range []interface{ Head() wire.Header }{
		wire.Quote{QuoteHead: wire.QuoteHead{Header: header}}, wire.Policy{PolicyHead: wire.PolicyHead{Header: header}}, &wire.Claim{Header: header}, &wire.Payout{Header: header}, &wire.WebhookEndpoint{Header: header},
	} {
		require.Equal(t, header, r.Head())
	}
}

// A time written with any zone and number of digits is read as the same instant.
func TestParseTimeReadsEveryZoneAndFraction(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(-62_135_500_000, 253_402_200_000).Draw(t, "second"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanosecond"))
		zone := time.FixedZone("", 60*rapid.IntRange(-23*60-59, 23*60+59).Draw(t, "minutes east"))
		read, ok := wire.ParseTime(at.In(zone).Format(time.RFC3339Nano))
		require.True(t, ok)
		require.True(t, at.Equal(read))
		require.Equal(t, time.UTC, read.Location())
	})
}

func TestYearsOfTimesAreThoseOfTheDatabase(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"0001-01-01T00:00:00Z": true, "0001-01-01T00:00:00+00:01": false, "0000-12-31T23:59:59-00:01": true,
		"9999-12-31T23:59:59.999999Z": true, "9999-12-31T23:59:59-00:01": false, "10000-01-01T00:00:00+01:00": false,
	} {
		_, ok := wire.ParseTime(text)
		require.Equal(t, good, ok, text)
	}
}
