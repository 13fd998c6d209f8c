package hazard

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
)

func TestKindsAreListedInTheOrderOfTheContract(t *testing.T) {
	t.Parallel()
	require.Equal(t, []Kind{"earthquake", "storm_fix", "station_day"}, Kinds())
	require.Equal(t, []Kind{StormFix}, FixKinds())
	for _, kind := range Kinds() {
		require.Equal(t, kind, kind.Rules().Kind)
		require.Equal(t, kind == StormFix, kind.IsFix(), kind)
		require.Equal(t, kind == StationDay, kind.IsDaily(), kind)
	}
}

func TestUnknownKindHasEmptyRules(t *testing.T) {
	t.Parallel()
	for _, kind := range []Kind{"", "hail", "Earthquake", "earthquake "} {
		require.Equal(t, &KindRules{Kind: kind}, kind.Rules())
		require.False(t, kind.IsFix())
		require.False(t, kind.IsDaily())
	}
}

// Two observations with one natural key are versions of one observation.
func TestNaturalKeyDistinguishesObservations(t *testing.T) {
	t.Parallel()
	at := time.Date(2018, 2, 6, 15, 50, 42, 0, time.UTC)
	tokyo := time.FixedZone("", 9*60*60)
	type observed struct {
		id, station string
		at          time.Time
	}
	for _, tc := range []struct {
		kind Kind
		a, b observed
		same bool
	}{
		{Earthquake, observed{"us1", "", at}, observed{"us1", "", at.Add(time.Hour)}, true}, // a revised time
		{Earthquake, observed{"us1", "", at}, observed{"us2", "", at}, false},
		{StormFix, observed{"AL01", "", at}, observed{"AL01", "", at.In(tokyo)}, true},
		{StormFix, observed{"AL01", "", at}, observed{"AL01", "", at.Add(time.Microsecond)}, false},
		{StormFix, observed{"AL01", "", at}, observed{"AL02", "", at}, false},
		{StationDay, observed{"d1", "Seattle", at}, observed{"d2", "Seattle", at.Add(8 * time.Hour)}, true},
		{StationDay, observed{"d1", "Seattle", at}, observed{"d1", "Seattle", at.In(tokyo)}, true}, // Tokyo is a day ahead
		{StationDay, observed{"d1", "Seattle", at}, observed{"d1", "Seattle", at.Add(9 * time.Hour)}, false},
		{StationDay, observed{"d1", "Seattle", at}, observed{"d1", "Merced", at}, false},
	} {
		key := tc.kind.Rules().NaturalKey
		require.Equal(t, tc.same, key(tc.a.id, tc.a.station, tc.a.at) == key(tc.b.id, tc.b.station, tc.b.at), "%s: %v and %v", tc.kind, tc.a, tc.b)
	}
}

// Bounds are those of the contract: a value outside is an error of the source.
func TestMeasuresOfEachKind(t *testing.T) {
	t.Parallel()
	type bounds struct{ low, high float64 }
	required := map[string]bool{"magnitude": true}
	units := map[string]string{
		"depth": "km", "wind": "kn", "pressure": "hPa", "precipitation": "mm", "temperature_max": "degC", "temperature_min": "degC",
	}
	for kind, want := range map[Kind]map[string]bounds{
		Earthquake: {"magnitude": {-5, 11}, "depth": {-20, 1000}},
		StormFix:   {"wind": {0, 300}, "pressure": {800, 1100}},
		StationDay: {"precipitation": {0, 3000}, "temperature_max": {-100, 70}, "temperature_min": {-100, 70}, "wind": {0, 150}},
	} {
		measures := kind.Rules().Measures
		require.Len(t, measures, len(want), kind)
		for name, of := range want {
			rule := measures[name]
			allowed := bounds{rule.Min, rule.Max}
			require.Equal(t, of, allowed, "%s %s", kind, name)
			require.Equal(t, required[name], rule.Required, "%s %s", kind, name)
			switch {
			case name == "magnitude":
				require.Subset(t, rule.Units, []string{"mw", "mww", "ml", "mb"})
			case kind == StationDay && name == "wind":
				require.Equal(t, []string{"m/s"}, rule.Units)
			default:
				require.Equal(t, []string{units[name]}, rule.Units, name)
			}
		}
	}
}

func TestDuplicateRulesAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	for kind, want := range map[Kind]DuplicateRules{
		Earthquake: {Time: time.Minute, KM: 100, Size: decimal.NewFromInt(2), SameSource: true}, // size: of reports by two sources
		StormFix:   {Time: 6 * time.Hour, KM: 150},
		StationDay: {},
	} {
		got := kind.Rules().Duplicates
		require.Greater(t, got.Window, got.Time, "%s: claims are dated by the start of their occurrence", kind)
		got.Window = 0
		require.Equal(t, want, got, kind)
	}
}

func TestEventsThatStopSalesNearThem(t *testing.T) {
	t.Parallel()
	at := time.Date(2018, 2, 6, 15, 50, 42, 0, time.UTC)
	quake, storm := Earthquake.Rules().Moratorium, StormFix.Rules().Moratorium
	require.Nil(t, StationDay.Rules().Moratorium)
	require.Equal(t, []any{"magnitude", "6", 300.0, 72 * time.Hour}, []any{quake.Measure, quake.Minimum.String(), quake.RadiusKM, quake.Lasts})
	require.Equal(t, []any{"wind", "0", 1000.0, 48 * time.Hour}, []any{storm.Measure, storm.Minimum.String(), storm.RadiusKM, storm.Lasts})
	require.Equal(t, "An earthquake of magnitude 6.4 (us1000chhc) happened near it on 2018-02-06.", quake.Reason(Measure{Value: "6.4", Unit: "mw"}, "us1000chhc", at))
	require.Equal(t, "A storm (AL122005) was near it at 2018-02-06T15:50:42Z.", storm.Reason(Measure{}, "AL122005", at))
}
