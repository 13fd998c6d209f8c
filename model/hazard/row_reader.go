package hazard

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"
)

// RowError is an omitted row of a source's file with the reason. The good rows around
// it are kept, so that one bad line does not stop payouts for the others.
type RowError struct {
	Line   int    // counted from 1, including column names
	Reason string // for the operator who reads the log
}

// Error returns the line and the reason.
func (e RowError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// rowReader reads comma-separated lines. Each line is a row, whatever it contains, so
// that a stray quote cannot swallow the rest of a file as in encoding/csv. Decimals and
// words are interned: fifty thousand fixes share forty wind values.
type rowReader struct {
	scanner  *bufio.Scanner
	line     int
	fields   []string
	rejected []RowError
	decimals map[string]*decimal.Decimal
	words    map[string]string
}

func newRowReader(r io.Reader) *rowReader {
	return &rowReader{
		scanner:  bufio.NewScanner(r),
		decimals: make(map[string]*decimal.Decimal),
		words:    make(map[string]string),
	}
}

// next advances to the next row that is neither blank nor column names, which it
// recognises by their first field.
func (r *rowReader) next(columns ...string) bool {
rows:
	for r.scanner.Scan() {
		r.line++
		text := strings.TrimSpace(strings.TrimPrefix(r.scanner.Text(), "\ufeff"))
		if text == "" || !r.splitFields(text) {
			continue
		}
		for _, name := range columns {
			if strings.EqualFold(r.fields[0], name) {
				continue rows
			}
		}
		return true
	}
	return false
}

func (r *rowReader) splitFields(text string) bool {
	r.fields = slices.AppendSeq(r.fields[:0], strings.SplitSeq(text, ","))
	if strings.Contains(text, `"`) {
		quoted, err := csv.NewReader(strings.NewReader(text)).Read()
		if err != nil {
			r.rejectRow(r.line, "the quotes do not match")
			return false
		}
		r.fields = quoted
	}
	for i, field := range r.fields {
		r.fields[i] = strings.TrimSpace(field)
	}
	return true
}

func (r *rowReader) rejectRow(line int, format string, args ...any) {
	r.rejected = append(r.rejected, RowError{Line: line, Reason: fmt.Sprintf(format, args...)})
}

// readError returns the failure that stopped reading, nil at the end of the file.
func (r *rowReader) readError() error {
	if err := r.scanner.Err(); err != nil {
		return fmt.Errorf("reading stopped after line %d: %w", r.line, err)
	}
	return nil
}

// internString returns the field as a string that does not keep its whole line in
// memory.
func (r *rowReader) internString(field string) string {
	known, ok := r.words[field]
	if !ok {
		known = strings.Clone(field)
		r.words[known] = known
	}
	return known
}

// parseDecimal reads a plain decimal number.
func (r *rowReader) parseDecimal(name, field string) (*decimal.Decimal, error) {
	if known, ok := r.decimals[field]; ok {
		return known, nil
	}
	if len(field) > 24 || strings.Trim(field, "+-.0123456789") != "" {
		return nil, fmt.Errorf("%s %q is not a decimal number", name, field)
	}
	value, err := decimal.NewFromString(field)
	if err != nil {
		return nil, fmt.Errorf("%s %q is not a decimal number", name, field)
	}
	r.decimals[strings.Clone(field)] = &value
	return &value, nil
}

// parseOptionalDecimal is parseDecimal for a field that may be missing: empty, or one
// of the impossible numbers that sources use instead.
func (r *rowReader) parseOptionalDecimal(name, field string, missing ...string) (*decimal.Decimal, error) {
	if field == "" {
		return nil, nil // a missing measurement is not an error and has no value
	}
	for _, none := range missing {
		if field == none {
			return nil, nil
		}
	}
	return r.parseDecimal(name, field)
}

// parsePoint parses a position. It accepts longitudes up to a whole turn and normalizes
// them to ±180: HURDAT2 once has -359.1 for 0.9 east.
func (r *rowReader) parsePoint(latitude, longitude string) (Point, error) {
	φ, err := r.parseCoordinate("latitude", latitude, 90)
	if err != nil {
		return Point{}, err
	}
	λ, err := r.parseCoordinate("longitude", longitude, 360)
	switch {
	case err != nil:
		return Point{}, err
	case λ > 180:
		λ -= 360
	case λ < -180:
		λ += 360
	}
	return Point{Latitude: φ, Longitude: λ}, nil
}

func (r *rowReader) parseCoordinate(name, field string, most float64) (float64, error) {
	value, err := parseDegrees(field)
	if err != nil || !(math.Abs(value) <= most) {
		return 0, fmt.Errorf("%s %q is not a number between -%g and %g", name, field, most, most)
	}
	return value, nil
}

// EarliestYear is the first accepted year of a measurement; an earlier date is a typing
// error. The oldest record shipped here begins in 1851.
const EarliestYear = 1800

// parseTime parses a time in one of the layouts, as UTC.
func (r *rowReader) parseTime(field string, layouts ...string) (time.Time, error) {
	for _, layout := range layouts {
		at, err := time.Parse(layout, field)
		switch {
		case err != nil:
			continue
		case at.UTC().Year() < EarliestYear:
			return time.Time{}, fmt.Errorf("%q is before the year %d", field, EarliestYear)
		}
		return at.UTC(), nil
	}
	return time.Time{}, fmt.Errorf("%q is not a time of the form %s", field, layouts[0])
}
