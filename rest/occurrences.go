package rest

import (
	"context"
	"time"

	"parapet/model/claims/adjudication"
	"parapet/model/hazard"
	"parapet/model/insight/scenario"
	"parapet/model/wire"
)

func (s *server) getOccurrence(ctx context.Context, c *requestContext) (*wire.Occurrence, error) {
	return s.Service.Occurrences.Get(ctx, c.actor, c.pathParam("occurrence_id"))
}

func (s *server) getOccurrenceProgress(ctx context.Context, c *requestContext) (*wire.OccurrenceProgress, error) {
	return s.Service.Progress.Get(ctx, c.actor, c.pathParam("occurrence_id"))
}

type explanationRequest struct {
	PolicyID     string             `json:"policy_id" doc:"The policy to evaluate."`
	OccurrenceID *string            `json:"occurrence_id,omitzero" doc:"Id of a recorded occurrence, occ_…. Give exactly one of occurrence_id, source_event and what_if."`
	SourceEvent  *sourceEventFields `json:"source_event,omitzero" doc:"The event as its source names it."`
	WhatIf       *whatIfFields      `json:"what_if,omitzero" doc:"A hypothetical event: give exactly one of earthquake, storm, rain and temperature."`
}

type whatIfFields struct {
	Earthquake  *whatIfEarthquakeFields  `json:"earthquake,omitzero" doc:"An earthquake with final values."`
	Storm       *whatIfStormFields       `json:"storm,omitzero" doc:"A storm's track."`
	Rain        *whatIfRainFields        `json:"rain,omitzero" doc:"Days at a station, added to the days that its source reported: a day that you give replaces the reported one."`
	Temperature *whatIfTemperatureFields `json:"temperature,omitzero" doc:"Temperatures of days at a station, added to the days that its source reported: a day that you give replaces the reported one."`
}

type whatIfEarthquakeFields struct {
	Location  hazard.Point `json:"location"`
	Magnitude string       `json:"magnitude" doc:"Moment magnitude, a decimal." example:"6.4"`
	DepthKM   *string      `json:"depth_km,omitzero" doc:"A decimal; unknown when left out, which counts as within every depth limit." example:"17"`
	At        *time.Time   `json:"at,omitzero"`
}

type whatIfStormFields struct {
	Fixes []whatIfFixFields `json:"fixes"`
}

type whatIfFixFields struct {
	Location    hazard.Point `json:"location" doc:"The storm's centre."`
	WindKN      *string      `json:"wind_kn,omitzero" doc:"Maximum sustained wind in knots, a decimal; unknown when left out. Give it, pressure_hpa or both." example:"120"`
	PressureHPA *string      `json:"pressure_hpa,omitzero" doc:"Central pressure in hectopascals (millibar), a decimal; unknown when left out." example:"920"`
	At          *time.Time   `json:"at,omitzero" doc:"When left out: now for the first fix, otherwise six hours after the previous one."`
}

type whatIfRainFields struct {
	Station string            `json:"station"`
	Source  *string           `json:"source,omitzero"`
	Days    []whatIfDayFields `json:"days"`
}

type whatIfDayFields struct {
	Day             time.Time `json:"day"`
	PrecipitationMM string    `json:"precipitation_mm" doc:"Millimetres, a decimal." example:"80"`
}

type whatIfTemperatureFields struct {
	Station string                       `json:"station"`
	Source  *string                      `json:"source,omitzero"`
	Days    []whatIfTemperatureDayFields `json:"days"`
}

type whatIfTemperatureDayFields struct {
	Day             time.Time `json:"day"`
	TemperatureMaxC *string   `json:"temperature_max_c,omitzero" doc:"The day's highest temperature in degrees Celsius, a decimal; unknown when left out. Give it, temperature_min_c or both." example:"34.5"`
	TemperatureMinC *string   `json:"temperature_min_c,omitzero" doc:"The day's lowest temperature in degrees Celsius, a decimal; unknown when left out." example:"21"`
}

func (in *explanationRequest) occurrenceRef() scenario.OccurrenceRef {
	return scenario.OccurrenceRef{ID: in.OccurrenceID, SourceEvent: (*adjudication.SourceEvent)(in.SourceEvent), WhatIf: in.WhatIf.toModel()}
}

func (in *whatIfFields) toModel() *scenario.WhatIf {
	if in == nil {
		return nil
	}
	of := new(scenario.WhatIf)
	if in.Earthquake != nil {
		of.Earthquake = (*scenario.WhatIfEarthquake)(in.Earthquake)
	}
	if in.Storm != nil {
		of.Storm = new(scenario.WhatIfStorm)
		for _, fix := range in.Storm.Fixes {
			of.Storm.Fixes = append(of.Storm.Fixes, scenario.WhatIfFix(fix))
		}
	}
	if in.Rain != nil {
		of.Rain = &scenario.WhatIfRain{Station: in.Rain.Station}
		if in.Rain.Source != nil {
			of.Rain.Source = *in.Rain.Source
		}
		for _, day := range in.Rain.Days {
			of.Rain.Days = append(of.Rain.Days, scenario.WhatIfDay(day))
		}
	}
	if in.Temperature != nil {
		of.Temperature = &scenario.WhatIfTemperature{Station: in.Temperature.Station}
		if in.Temperature.Source != nil {
			of.Temperature.Source = *in.Temperature.Source
		}
		for _, day := range in.Temperature.Days {
			of.Temperature.Days = append(of.Temperature.Days, scenario.WhatIfTemperatureDay(day))
		}
	}
	return of
}

func (s *server) explainOccurrence(ctx context.Context, c *requestContext, in explanationRequest) (*wire.Explanation, error) {
	return s.Service.Scenarios.Explain(ctx, c.actor, in.PolicyID, in.occurrenceRef())
}
