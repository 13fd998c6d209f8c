package wire

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// These are what the tests of the appenders compare.
var (
	EncodingOptions = encodingOptions
	MarshalTo       = marshalTo
)

func TestAppendersRefuseWhatPackageJSONRefuses(t *testing.T) {
	t.Parallel()
	for name, record := range map[string]any{
		"text":   &Claim{PolicyID: "\xff"},
		"key":    &Claim{References: References{Metadata: map[string]string{"\xff": ""}}},
		"number": &Determination{DistanceKM: new(math.NaN())},
		"bound":  &Determination{DistanceKM: new(math.Inf(-1))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, expected := json.Marshal(record, encodingOptions)
			require.Error(t, expected)
			_, err := Encode(record)
			require.EqualError(t, err, expected.Error())
			out := new(bytes.Buffer)
			require.EqualError(t, EncodeTo(out, record), expected.Error())
		})
	}
}

// BenchmarkEncode compares the appender of a claim with package json.
func BenchmarkEncode(b *testing.B) {
	now := time.Date(2026, 11, 28, 9, 5, 7, 123456000, time.UTC)
	claim := &Claim{
		Header: Header{ID: "clm_01mg6q479xe0pr00e4y33n7nw3", Object: "claim", Partner: new("globex"), CreatedAt: now, UpdatedAt: now, Version: 2}, PolicyID: "pol_01mg6q479xe0pr00e4y33n7nw3",
		Status: "approved", Origin: "trigger", Occurrence: &OccurrenceBrief{"occ_01mg6q479xe0pr00e4y33n7nw3", "usgs", "us7000abcd", now}, OpenedAt: now, Amount: &Money{Amount: 250000, Currency: "USD"},
		Determination: &Determination{Index: &Measure{Value: "7.1", Unit: "mw"}, Threshold: Measure{Value: "6", Unit: "mw"}, OccurredAt: now, DistanceKM: new(12.25), Factor: "1", Stage: "final"},
		Decision:      &Decision{Outcome: "approved", ReasonCodes: []string{"trigger_met"}, DecidedAt: now},
	}
	b.Run("Appender", func(b *testing.B) {
		for b.Loop() {
			if _, err := marshal(claim); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("PackageJSON", func(b *testing.B) {
		for b.Loop() {
			if _, err := json.Marshal(claim, encodingOptions); err != nil {
				b.Fatal(err)
			}
		}
	})
}
