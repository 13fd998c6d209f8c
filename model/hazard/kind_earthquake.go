package hazard

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"
)

// Earthquake is one earthquake: magnitude at a point and a depth.
const Earthquake Kind = "earthquake"

// magnitudeUnits are the scales that seismic networks publish. A source's preferred
// magnitude counts in any scale, and a determination names the scale. For large
// earthquakes it is a moment magnitude.
var magnitudeUnits = []string{"mw", "mww", "mwc", "mwb", "mwr", "ml", "mb", "mb_lg", "ms", "md", "mh", "mi", "mfa", "me"}

var earthquakeRules = KindRules{
	Kind: Earthquake, Form: QuakeForm, Peril: "earthquake",
	NaturalKey: func(sourceEventID, _ string, _ time.Time) string { return sourceEventID },
	Measures: map[string]MeasureRule{
		"magnitude": {magnitudeUnits, -5, 11, true},
		"depth":     {[]string{"km"}, -20, 1000, false},
	},
	Duplicates: DuplicateRules{Time: time.Minute, KM: 100, Size: decimal.NewFromInt(2), SameSource: true, Window: 24 * time.Hour},
	Moratorium: &MoratoriumRules{
		Measure: "magnitude", Minimum: decimal.NewFromInt(6), RadiusKM: 300, Lasts: 72 * time.Hour,
		Reason: func(magnitude Measure, event string, at time.Time) string {
			return fmt.Sprintf("An earthquake of magnitude %s (%s) happened near it on %s.", magnitude.Value, event, at.Format(time.DateOnly))
		},
	},
}
