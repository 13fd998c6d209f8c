package sandbox

import (
	"slices"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/wire"
)

// pastEvent returns the observations of an event of the history, as its source reported them:
// an earthquake or a storm by its id, or days at a station from a day on. It is empty for an
// unknown event.
func (s *Service) pastEvent(id string, days int) (past []wire.ObservationInput) {
	if at := slices.IndexFunc(s.history.Quakes(), func(q hazard.Quake) bool { return q.EventID == id }); at >= 0 {
		quake := s.history.Quakes()[at]
		o := wire.ObservationInput{Source: hazard.USGS, SourceEventID: id, Kind: hazard.Earthquake, OccurredAt: quake.At, Stage: trigger.Final, Location: &quake.Where}
		o.Measures = measures("magnitude", "mw", &quake.Magnitude, "depth", "km", quake.DepthKM)
		return []wire.ObservationInput{o}
	}
	if at := slices.IndexFunc(s.history.Storms(), func(storm hazard.Storm) bool { return storm.ID == id }); at >= 0 {
		for _, fix := range s.history.Storms()[at].Fixes {
			if fix.WindKN == nil {
				continue
			}
			o := wire.ObservationInput{Source: hazard.NHC, SourceEventID: id, Kind: hazard.StormFix, OccurredAt: fix.At, Stage: trigger.Final, Location: new(fix.Where)}
			o.Measures = measures("wind", "kn", fix.WindKN, "pressure", "hPa", fix.PressureHPA)
			past = append(past, o)
		}
		return past
	}
	name, from, isDay := occurrence.ParseStationDay(id)
	station, known := s.history.Station(name)
	if !isDay || !known {
		return nil
	}
	for _, day := range station.Days {
		if day.Date.Before(from) || !day.Date.Before(from.AddDate(0, 0, days)) {
			continue
		}
		o := wire.ObservationInput{Source: hazard.GHCN, SourceEventID: dayID(name, day.Date), Kind: hazard.StationDay, OccurredAt: day.Date, Stage: trigger.Final, Station: name}
		o.Measures = measures("precipitation", "mm", day.PrecipitationMM, "temperature_max", "degC", day.HighestC)
		for name, measure := range measures("temperature_min", "degC", day.LowestC, "wind", "m/s", day.WindMS) {
			o.Measures[name] = measure
		}
		if len(o.Measures) > 0 {
			past = append(past, o)
		}
	}
	return past
}

// measures returns the known of two values.
func measures(name, unit string, value *decimal.Decimal, name2, unit2 string, value2 *decimal.Decimal) map[string]wire.Measure {
	known := map[string]wire.Measure{}
	if value != nil {
		known[name] = wire.Measure{Value: value.String(), Unit: unit}
	}
	if value2 != nil {
		known[name2] = wire.Measure{Value: value2.String(), Unit: unit2}
	}
	return known
}

// windOf returns the wind of a fix, zero of other observations.
func windOf(o wire.ObservationInput) decimal.Decimal {
	wind, err := decimal.NewFromString(o.Measures["wind"].Value)
	if err != nil {
		return decimal.Zero
	}
	return wind
}
