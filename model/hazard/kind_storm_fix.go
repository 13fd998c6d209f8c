package hazard

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"
)

// StormFix is one position of a storm's track: sustained wind and pressure at a point.
const StormFix Kind = "storm_fix"

var stormFixRules = KindRules{
	Kind: StormFix, Form: TrackForm, Peril: "windstorm",
	NaturalKey: func(sourceEventID, _ string, at time.Time) string {
		return sourceEventID + "@" + at.UTC().Format(time.RFC3339Nano)
	},
	Measures: map[string]MeasureRule{
		"wind":     {[]string{"kn"}, 0, 300, false},
		"pressure": {[]string{"hPa"}, 800, 1100, false},
	},
	Duplicates: DuplicateRules{Time: 6 * time.Hour, KM: 150, Window: 60 * 24 * time.Hour},
	Moratorium: &MoratoriumRules{
		Measure: "wind", Minimum: decimal.Zero, RadiusKM: 1_000, Lasts: 48 * time.Hour,
		Reason: func(_ Measure, event string, at time.Time) string {
			return fmt.Sprintf("A storm (%s) was near it at %s.", event, at.Format(time.RFC3339))
		},
	},
}
