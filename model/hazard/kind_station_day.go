package hazard

import "time"

// StationDay is one day of measurements at a weather station.
const StationDay Kind = "station_day"

var stationDayRules = KindRules{
	Kind: StationDay, Form: DailyForm,
	NaturalKey: func(_, station string, at time.Time) string { return station + "/" + at.UTC().Format(time.DateOnly) },
	Measures: map[string]MeasureRule{
		"precipitation":   {[]string{"mm"}, 0, 3000, false},
		"temperature_max": {[]string{"degC"}, -100, 70, false},
		"temperature_min": {[]string{"degC"}, -100, 70, false},
		"wind":            {[]string{"m/s"}, 0, 150, false},
	},
	Duplicates: DuplicateRules{Window: 400 * 24 * time.Hour},
}
