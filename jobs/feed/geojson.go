package feed

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parapet/model/hazard"
	"parapet/model/wire"
)

// parseFeatures reads a GeoJSON FeatureCollection. It reads features one by one, so a
// truncated file yields those before the break. Numbers keep the digits of the file. add
// adds one feature to the batch or returns why it is rejected, with its id if it has one.
func parseFeatures(r io.Reader, add func(b *Batch, text jsontext.Value) (id string, err error)) (Batch, error) {
	lines := &lineReader{Reader: r}
	p := featureParser{
		lines: lines, add: add,
		// Duplicate names and invalid UTF-8 are errors of the feature, not of the file.
		decoder: jsontext.NewDecoder(lines, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
	}
	err := p.readCollection()
	var syntax *jsontext.SyntacticError
	switch {
	case err == nil:
		return p.batch, nil
	case errors.As(err, &syntax), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, errNotCollection):
		p.addRowError(lines.lineAt(p.decoder.InputOffset()), "the file breaks off after feature %d: %v", p.count, wire.JSONError(err))
		return p.batch, nil
	default:
		return p.batch, fmt.Errorf("reading stopped after feature %d: %w", p.count, err)
	}
}

var errNotCollection = errors.New("not a GeoJSON FeatureCollection")

type featureParser struct {
	lines   *lineReader
	decoder *jsontext.Decoder
	add     func(b *Batch, text jsontext.Value) (id string, err error)
	batch   Batch
	count   int // features seen, including invalid ones
}

func (p *featureParser) addRowError(line int, format string, args ...any) {
	p.batch.Errors = append(p.batch.Errors, hazard.RowError{Line: line, Reason: fmt.Sprintf(format, args...)})
}

// readCollection reads the outer object and its features and ignores other members.
func (p *featureParser) readCollection() error {
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

func (p *featureParser) readFeatures() error {
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

func (p *featureParser) expectToken(kind jsontext.Kind) error {
	token, err := p.decoder.ReadToken()
	if err == nil && token.Kind() != kind {
		err = errNotCollection
	}
	return err
}

func (p *featureParser) addFeature(text jsontext.Value, line int) {
	known := len(p.batch.Observations)
	id, err := p.add(&p.batch, text)
	for i := range p.batch.Observations[known:] {
		p.batch.Observations[known+i].Record = &hazard.Record{Text: bytes.Clone(text)}
	}
	switch {
	case err != nil && id == "":
		p.addRowError(line, "feature %d: %v", p.count, err)
	case err != nil:
		p.addRowError(line, "feature %d (%s): %v", p.count, id, err)
	}
}

// parsePosition returns the longitude and latitude of a point.
func parsePosition(coordinates []jsontext.Value) (*hazard.Point, error) {
	var place [2]float64
	if len(coordinates) < len(place) {
		return nil, errors.New("it has no position")
	}
	for i := range place {
		value := coordinates[i]
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

// parseQuakeMeasures keeps the magnitude type as the unit: a local magnitude (ml) is a
// different quantity from a moment magnitude. All methods for a moment magnitude (mww,
// mwr, mwb, mwc) give mw. depth is in km and may be missing; it is negative above sea level.
func parseQuakeMeasures(magnitude jsontext.Value, scale string, depth jsontext.Value) (map[string]wire.Measure, error) {
	value, err := plainDecimal(magnitude)
	if err != nil {
		return nil, fmt.Errorf("its magnitude %w", err)
	}
	unit := strings.ToLower(scale)
	switch {
	case unit == "":
		return nil, errors.New("its magnitude has no type")
	case strings.HasPrefix(unit, "mw"):
		unit = "mw"
	}
	measures := map[string]wire.Measure{"magnitude": {Value: value, Unit: unit}}
	if len(depth) > 0 && depth.Kind() != jsontext.KindNull {
		value, err := plainDecimal(depth)
		if err != nil {
			return nil, fmt.Errorf("its depth %w", err)
		}
		measures["depth"] = wire.Measure{Value: value, Unit: "km"}
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
