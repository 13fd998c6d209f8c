package feed

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/wire"
)

// ParseUSGS reads a GeoJSON summary feed of the USGS. Definition of the members:
// https://earthquake.usgs.gov/earthquakes/feed/v1.0/geojson.php
func ParseUSGS(r io.Reader) (Batch, error) { return parseFeatures(r, addUSGSFeature) }

func addUSGSFeature(b *Batch, text jsontext.Value) (id string, err error) {
	var f usgsFeature
	if err := json.Unmarshal(text, &f); err != nil {
		return "", wire.JSONError(err)
	}
	deleted := f.Properties.Status == "deleted"
	if deleted || f.Properties.Type != "earthquake" {
		b.Retractions = append(b.Retractions, f.toRetractions()...)
		if !deleted {
			b.Skipped++
		}
		return f.ID, nil
	}
	observation, err := f.toObservation()
	if err != nil {
		return f.ID, err
	}
	b.Observations = append(b.Observations, observation)
	return f.ID, nil
}

// usgsFeature is one event of the feed, without the members we do not use.
type usgsFeature struct {
	ID         string `json:"id"`
	Properties struct {
		Type    string         `json:"type"`
		Status  string         `json:"status"`
		IDs     string         `json:"ids"`  // ",us1000chhc,at00p3q1pr,"
		Time    *int64         `json:"time"` // milliseconds since 1970, as is Updated
		Updated *int64         `json:"updated"`
		Mag     jsontext.Value `json:"mag"`
		MagType string         `json:"magType"`
	} `json:"properties"`
	Geometry struct {
		Coordinates []jsontext.Value `json:"coordinates"` // longitude, latitude, depth in km
	} `json:"geometry"`
}

func (f *usgsFeature) toObservation() (wire.ObservationInput, error) {
	o := wire.ObservationInput{
		Source: SourceUSGS, SourceEventID: f.ID, Kind: hazard.Earthquake,
		Revision: f.Properties.Updated, Aliases: f.otherIDs(),
	}
	var err error
	if f.ID == "" {
		return o, errors.New("it has no id")
	}
	if o.OccurredAt, err = f.parseTime(); err != nil {
		return o, err
	}
	if o.Stage, err = f.parseStage(); err != nil {
		return o, err
	}
	if o.Location, err = parsePosition(f.Geometry.Coordinates); err != nil {
		return o, err
	}
	o.Measures, err = f.parseMeasures()
	return o, err
}

// toRetractions withdraws every reading under which the event may have been recorded: the
// feature may have had another of its names and another type before.
func (f *usgsFeature) toRetractions() []wire.ObservationInput {
	var list []wire.ObservationInput
	for _, id := range append([]string{f.ID}, f.otherIDs()...) {
		if id != "" {
			list = append(list, wire.ObservationInput{
				Source: SourceUSGS, SourceEventID: id, Kind: hazard.Earthquake, Stage: trigger.Retracted, Revision: f.Properties.Updated,
			})
		}
	}
	return list
}

func (f *usgsFeature) otherIDs() []string {
	var others []string
	for id := range strings.SplitSeq(f.Properties.IDs, ",") {
		if id = strings.TrimSpace(id); id != "" && id != f.ID {
			others = append(others, id)
		}
	}
	return others
}

func (f *usgsFeature) parseTime() (time.Time, error) {
	if f.Properties.Time == nil {
		return time.Time{}, errors.New("it has no time")
	}
	at := time.UnixMilli(*f.Properties.Time).UTC()
	if at.Year() < hazard.EarliestYear || at.Year() > 9999 {
		return time.Time{}, fmt.Errorf("its time %d is no millisecond between the years %d and 9999", *f.Properties.Time, hazard.EarliestYear)
	}
	return at, nil
}

func (f *usgsFeature) parseStage() (trigger.Stage, error) {
	switch f.Properties.Status {
	case "reviewed":
		return trigger.Final, nil
	case "automatic":
		return trigger.Preliminary, nil
	default:
		return "", fmt.Errorf("its status %q is neither automatic nor reviewed nor deleted", f.Properties.Status)
	}
}

func (f *usgsFeature) parseMeasures() (map[string]wire.Measure, error) {
	var depth jsontext.Value
	if c := f.Geometry.Coordinates; len(c) > 2 {
		depth = c[2]
	}
	return parseQuakeMeasures(f.Properties.Mag, f.Properties.MagType, depth)
}
