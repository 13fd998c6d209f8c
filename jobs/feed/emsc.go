package feed

import (
	"cmp"
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

// ParseEMSC reads an answer of the FDSN event service of the European-Mediterranean
// Seismological Centre in GeoJSON (format=json). Definition of the service:
// https://www.seismicportal.eu/fdsn-wsevent.html
//
// The format does not say whether an event was reviewed, so its readings are preliminary
// for ever. The depth is a property: the third coordinate has the opposite sign.
func ParseEMSC(r io.Reader) (Batch, error) { return parseFeatures(r, addEMSCFeature) }

func addEMSCFeature(b *Batch, text jsontext.Value) (id string, err error) {
	var f emscFeature
	if err := json.Unmarshal(text, &f); err != nil {
		return "", wire.JSONError(err)
	}
	f.ID = cmp.Or(f.ID, f.Properties.UNID)
	observation, err := f.toObservation()
	switch {
	case err != nil:
		return f.ID, err
	case observation.Stage == trigger.Retracted:
		b.Retractions = append(b.Retractions, observation)
		b.Skipped++
	case observation.Measures["magnitude"].Unit == unnamedScale:
		b.Skipped++
	default:
		b.Observations = append(b.Observations, observation)
	}
	return f.ID, nil
}

// unnamedScale is the magnitude type of agencies that name no scale. Such a magnitude
// cannot be compared with a trigger.
const unnamedScale = "m"

// emscFeature is one event, without the members we do not use.
type emscFeature struct {
	ID         string `json:"id"` // "20170919_0000091", as is UNID
	Properties struct {
		UNID       string         `json:"unid"`
		EventType  string         `json:"evtype"`     // an ISC code: two letters, certainty and type
		Time       string         `json:"time"`       // RFC 3339, as is LastUpdate
		LastUpdate string         `json:"lastupdate"` // grows with each revision
		Mag        jsontext.Value `json:"mag"`
		MagType    string         `json:"magtype"`
		Depth      jsontext.Value `json:"depth"` // km, positive downwards
	} `json:"properties"`
	Geometry struct {
		Coordinates []jsontext.Value `json:"coordinates"` // longitude, latitude
	} `json:"geometry"`
}

// toObservation returns the reading; a retraction for an event that is no earthquake.
func (f *emscFeature) toObservation() (wire.ObservationInput, error) {
	o := wire.ObservationInput{Source: SourceEMSC, SourceEventID: f.ID, Kind: hazard.Earthquake, Stage: trigger.Preliminary}
	if f.ID == "" {
		return o, errors.New("it has no id")
	}
	updated, err := time.Parse(time.RFC3339Nano, f.Properties.LastUpdate)
	if err != nil || updated.Unix() < 0 {
		return o, fmt.Errorf("its lastupdate %q is no time", f.Properties.LastUpdate)
	}
	o.Revision = new(updated.UnixMicro())
	if len(f.Properties.EventType) != len("ke") {
		return o, fmt.Errorf("its evtype %q is not one of two letters", f.Properties.EventType)
	}
	if !strings.HasSuffix(f.Properties.EventType, "e") { // ke, se, fe, de: known, suspected, felt and damaging earthquakes
		o.Stage = trigger.Retracted
		return o, nil
	}
	o.OccurredAt, err = time.Parse(time.RFC3339Nano, f.Properties.Time)
	if err != nil || o.OccurredAt.Year() < hazard.EarliestYear {
		return o, fmt.Errorf("its time %q is no time after the year %d", f.Properties.Time, hazard.EarliestYear)
	}
	o.OccurredAt = o.OccurredAt.UTC()
	if o.Location, err = parsePosition(f.Geometry.Coordinates); err != nil {
		return o, err
	}
	o.Measures, err = parseQuakeMeasures(f.Properties.Mag, f.Properties.MagType, f.Properties.Depth)
	return o, err
}
