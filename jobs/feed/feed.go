// Package feed parses what hazard sources publish: USGS and EMSC earthquakes, NHC storm tracks
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

// Batch is the content of a file.
type Batch struct {
	// Observations are the valid rows in file order.
	Observations []wire.ObservationInput
	// FinalTracks maps each storm whose fixes are all in Observations to their number.
	FinalTracks map[string]int
	// Retractions are readings that the file withdraws: deleted events and events that
	// are not earthquakes, under each of their names. Most of them were never recorded.
	Retractions []wire.ObservationInput
	// Errors are the rejected rows with the reason. A truncated file has one for the
	// place where it ends.
	Errors []hazard.RowError
	// Skipped counts valid rows without an insured hazard, such as a quarry blast in an
	// earthquake feed.
	Skipped int
}

// The supported sources, as observations name them.
const (
	SourceUSGS = "usgs"
	SourceEMSC = "emsc"
	SourceNHC  = "nhc"
	SourceGHCN = "ghcn"
)

// Parser reads one file of a source. It returns an error only when reading fails; the
// batch holds the rows read before it.
type Parser func(r io.Reader) (Batch, error)

var parsers = map[string]Parser{SourceUSGS: ParseUSGS, SourceEMSC: ParseEMSC, SourceNHC: ParseNHC, SourceGHCN: ParseGHCN}

// Sources lists the supported sources by name.
func Sources() []string { return []string{SourceEMSC, SourceGHCN, SourceNHC, SourceUSGS} }

// SetFile names the file that the records of the observations are from.
func (b *Batch) SetFile(file *hazard.File) {
	for i := range b.Observations {
		if record := b.Observations[i].Record; record != nil {
			record.File = file
		}
	}
}

// ParseRecord reads what a Record of an observation has: a whole file of one row, or one
// feature of GeoJSON.
func ParseRecord(source string, record []byte) ([]wire.ObservationInput, error) {
	if bytes.HasPrefix(record, []byte("{")) {
		record = slices.Concat([]byte(`{"features":[`), record, []byte("]}"))
	}
	batch, err := Parse(source, bytes.NewReader(record))
	return batch.Observations, err
}

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

// SampleUSGSWeek returns a real response of the USGS feed: 1,707 events of the week to
// 2018-02-07, including the Hualien M 6.4 (us1000chhc).
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

// formatDecimal keeps all digits that were read: "5.0" stays "5.0".
func formatDecimal(d decimal.Decimal) string { return d.StringFixed(max(0, -d.Exponent())) }

// addMeasure adds a value that may be unknown.
func addMeasure(measures map[string]wire.Measure, name string, value *decimal.Decimal, unit string) {
	if value != nil {
		measures[name] = wire.Measure{Value: formatDecimal(*value), Unit: unit}
	}
}

// isNamed reports whether id is one of the observation's names at its source.
func isNamed(o *wire.ObservationInput, id string) bool {
	return o.SourceEventID == id || slices.Contains(o.Aliases, id)
}
