package feed

import (
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/wire"
)

// ParseUSGS reads a GeoJSON summary feed of the USGS. It reads features one by one, so a
// truncated file yields those before the break. Numbers keep the digits of the file.
// Definition of the members:
// https://earthquake.usgs.gov/earthquakes/feed/v1.0/geojson.php
func ParseUSGS(r io.Reader) (Batch, error) {
	lines := &lineReader{Reader: r}
	p := usgsParser{
		lines: lines,
		// Duplicate names and invalid UTF-8 are errors of the feature, not of the file.
		decoder: jsontext.NewDecoder(lines, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
	}
	err := p.readCollection()
	var syntax *jsontext.SyntacticError
	switch {
	case err == nil:
		return p.batch, nil
	case errors.As(err, &syntax), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, errNotCollection):
		p.addRowError(lines.lineAt(p.decoder.InputOffset()), "the file breaks off after feature %d: %v", p.count, err)
		return p.batch, nil
	default:
		return p.batch, fmt.Errorf("reading stopped after feature %d: %w", p.count, err)
	}
}

var errNotCollection = errors.New("not a GeoJSON FeatureCollection")

type usgsParser struct {
	lines   *lineReader
	decoder *jsontext.Decoder
	batch   Batch
	count   int // features seen, including invalid ones
}

func (p *usgsParser) addRowError(line int, format string, args ...any) {
	p.batch.Errors = append(p.batch.Errors, hazard.RowError{Line: line, Reason: fmt.Sprintf(format, args...)})
}

// readCollection reads the outer object and its features and ignores other members.
func (p *usgsParser) readCollection() error {
	if err := p.expectToken(jsontext.KindBeginObject); err != nil {
		return err
	}
	found := false
	for p.decoder.PeekKind() == jsontext.KindString {
		name, err := p.decoder.ReadToken()
		if err != nil {
			return err
		}
		if name.String() != "features" {
			if err := p.decoder.SkipValue(); err != nil {
				return err
			}
			continue
		}
		found = true
		if err := p.readFeatures(); err != nil {
			return err
		}
	}
	if err := p.expectToken(jsontext.KindEndObject); err != nil {
		return err
	}
	if !found {
		return errNotCollection
	}
	return nil
}

func (p *usgsParser) readFeatures() error {
	if err := p.expectToken(jsontext.KindBeginArray); err != nil {
		return err
	}
	for p.decoder.PeekKind() != jsontext.KindEndArray {
		text, err := p.decoder.ReadValue()
		if err != nil {
			return err
		}
		p.count++
		p.addFeature(text, p.lines.lineAt(p.decoder.InputOffset()-int64(len(text))))
	}
	return p.expectToken(jsontext.KindEndArray)
}

func (p *usgsParser) expectToken(kind jsontext.Kind) error {
	token, err := p.decoder.ReadToken()
	if err == nil && token.Kind() != kind {
		err = errNotCollection
	}
	return err
}

func (p *usgsParser) addFeature(text jsontext.Value, line int) {
	var f usgsFeature
	if err := json.Unmarshal(text, &f); err != nil {
		p.addRowError(line, "feature %d: %v", p.count, err)
		return
	}
	deleted := f.Properties.Status == "deleted"
	if deleted || f.Properties.Type != "earthquake" {
		p.batch.Retractions = append(p.batch.Retractions, f.toRetractions()...)
		if !deleted {
			p.batch.Skipped++
		}
		return
	}
	observation, err := f.toObservation()
	if err != nil {
		p.addRowError(line, "feature %d (%s): %v", p.count, f.ID, err)
		return
	}
	p.batch.Observations = append(p.batch.Observations, observation)
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
	if o.Location, err = f.parseLocation(); err != nil {
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

func (f *usgsFeature) parseLocation() (*hazard.Point, error) {
	var place [2]float64
	if len(f.Geometry.Coordinates) < len(place) {
		return nil, errors.New("it has no position")
	}
	for i := range place {
		value := f.Geometry.Coordinates[i]
		if err := json.Unmarshal(value, &place[i]); err != nil || value.Kind() != jsontext.KindNumber {
			return nil, errors.New("its position is not two numbers")
		}
	}
	at := &hazard.Point{Longitude: place[0], Latitude: place[1]}
	if at.Latitude < -90 || at.Latitude > 90 || at.Longitude < -180 || at.Longitude > 180 {
		return nil, fmt.Errorf("its position %v, %v is not on earth", at.Latitude, at.Longitude)
	}
	return at, nil
}

// parseMeasures keeps the magnitude type as the unit: a local magnitude (ml) is a
// different quantity from a moment magnitude. All methods for a moment magnitude (mww,
// mwr, mwb, mwc) give mw. Depth may be negative, above sea level.
func (f *usgsFeature) parseMeasures() (map[string]wire.Measure, error) {
	magnitude, err := plainDecimal(f.Properties.Mag)
	if err != nil {
		return nil, fmt.Errorf("its magnitude %w", err)
	}
	unit := strings.ToLower(f.Properties.MagType)
	switch {
	case unit == "":
		return nil, errors.New("its magnitude has no type")
	case strings.HasPrefix(unit, "mw"):
		unit = "mw"
	}
	measures := map[string]wire.Measure{"magnitude": {Value: magnitude, Unit: unit}}
	if c := f.Geometry.Coordinates; len(c) > 2 && c[2].Kind() != jsontext.KindNull {
		depth, err := plainDecimal(c[2])
		if err != nil {
			return nil, fmt.Errorf("its depth %w", err)
		}
		measures["depth"] = wire.Measure{Value: depth, Unit: "km"}
	}
	return measures, nil
}

// plainDecimal returns the text of a JSON number without an exponent.
func plainDecimal(value jsontext.Value) (string, error) {
	switch text := string(value); {
	case text == "" || text == "null":
		return "", errors.New("is missing")
	case value.Kind() != jsontext.KindNumber || len(text) > 24 || strings.ContainsAny(text, "eE"):
		return "", errors.New("is not a plain decimal number")
	default:
		return text, nil
	}
}

// lineReader records where lines end, to convert a byte offset to a line number.
type lineReader struct {
	io.Reader
	offset   int64
	lineEnds []int64
}

func (l *lineReader) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	for i, c := range p[:n] {
		if c == '\n' {
			l.lineEnds = append(l.lineEnds, l.offset+int64(i))
		}
	}
	l.offset += int64(n)
	return n, err
}

// lineAt returns the line of a byte offset, counted from 1.
func (l *lineReader) lineAt(offset int64) int {
	return 1 + sort.Search(len(l.lineEnds), func(i int) bool { return l.lineEnds[i] >= offset })
}
