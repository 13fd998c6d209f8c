// Package feed parses what hazard sources publish: USGS earthquakes, NHC storm tracks
// (HURDAT2), GHCN daily records. Parsers are pure and keep every valid row of a partly
// invalid file.
package feed

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the sample week
	"fmt"
	"io"
	"slices"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/wire"
)

// Batch is what a file tells.
type Batch struct {
	// Observations are the good rows in the order of the file.
	Observations []wire.ObservationInput
	// FinalTracks are how many fixes the storms have of which every fix is among the
	// observations.
	FinalTracks map[string]int
	// Retractions are readings that the file withdraws: events that it calls deleted,
	// and events that are no earthquakes, under each of their names. Most of them
	// were never recorded.
	Retractions []wire.ObservationInput
	// Errors are the rows that were left out, and why. A file that breaks off
	// has one for the place where it does.
	Errors []hazard.RowError
	// Skipped counts good rows that are no hazard of ours, such as a quarry
	// blast in an earthquake feed.
	Skipped int
}

// The sources this package can read, as observations name them.
const (
	SourceUSGS = "usgs"
	SourceNHC  = "nhc"
	SourceGHCN = "ghcn"
)

// Parser reads one file of a source. Its error is the reader's own failure;
// what was read before it is in the batch.
type Parser func(r io.Reader) (Batch, error)

var parsers = map[string]Parser{SourceUSGS: ParseUSGS, SourceNHC: ParseNHC, SourceGHCN: ParseGHCN}

// Sources lists the sources that can be read, in order of name.
func Sources() []string { return []string{SourceGHCN, SourceNHC, SourceUSGS} }

// Parse reads a file of the named source.
func Parse(source string, r io.Reader) (Batch, error) {
	parse, known := parsers[source]
	if !known {
		return Batch{}, fmt.Errorf("no source %q; known are %q", source, Sources())
	}
	return parse(r)
}

//go:embed data/usgs-all-week-2018-02-07.geojson.gz
var usgsWeek []byte

// SampleUSGSWeek returns a real answer of the USGS feed: 1,707 events of the
// week to 2018-02-07, the Hualien M 6.4 (us1000chhc) among them.
func SampleUSGSWeek() []byte {
	unpacked, err := gzip.NewReader(bytes.NewReader(usgsWeek))
	if err != nil {
		panic(fmt.Errorf("the embedded sample is damaged: %w", err))
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		panic(fmt.Errorf("the embedded sample is damaged: %w", err))
	}
	return text
}

// formatDecimal writes a decimal with all the digits it was read with: "5.0" stays "5.0".
func formatDecimal(d decimal.Decimal) string { return d.StringFixed(max(0, -d.Exponent())) }

// addMeasure adds a value that may be unknown.
func addMeasure(measures map[string]wire.Measure, name string, value *decimal.Decimal, unit string) {
	if value != nil {
		measures[name] = wire.Measure{Value: formatDecimal(*value), Unit: unit}
	}
}

// isNamed tells whether id is one of the observation's names at its source.
func isNamed(o *wire.ObservationInput, id string) bool {
	return o.SourceEventID == id || slices.Contains(o.Aliases, id)
}
