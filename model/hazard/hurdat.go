package hazard

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ParseHURDAT2 reads the storms of a file in the NHC's HURDAT2 format, with or without
// column names: a header row of id, name and number of fixes, then one row per fix of
// date, time, record identifier, status, latitude, longitude, wind (kn) and pressure
// (hPa). Positions are signed (-94.8) or carry a hemisphere (94.8W). -99, -999 and an
// empty field mean that a value is unknown.
//
// Bad rows are omitted and returned as RowErrors; a storm keeps its good fixes. The
// error is the reader's; rows read before it are returned too. Source: Landsea and
// Franklin, Mon. Wea. Rev. 141 (2013), "Atlantic Hurricane Database Uncertainty and
// Presentation of a New Database Format".
func ParseHURDAT2(r io.Reader) ([]Storm, []RowError, error) {
	p := hurdatParser{rowReader: newRowReader(r)}
	for p.next("ID", "Date") {
		if first := p.fields[0]; first != "" && (first[0] < '0' || first[0] > '9') {
			p.readHeader()
		} else {
			p.readFix()
		}
	}
	p.closeStorm()
	return p.storms, p.rejected, p.readError()
}

type hurdatParser struct {
	*rowReader
	storms         []Storm
	current        *Storm
	headerLine     int // line of the current storm's header
	announcedFixes int // number of fixes in the header
	seenFixes      int // fix rows since the header, including bad ones
}

func (p *hurdatParser) readHeader() {
	p.closeStorm()
	count := -1
	if len(p.fields) >= 3 {
		if n, err := strconv.Atoi(p.fields[2]); err == nil {
			count = n
		}
	}
	if !isStormID(p.fields[0]) || count < 0 {
		p.rejectRow(p.line, "a storm's header is basin, number and year, its name and its number of fixes")
		return
	}
	p.current = &Storm{ID: p.internString(p.fields[0]), Name: p.internString(p.fields[1]), Line: p.line}
	p.headerLine, p.announcedFixes, p.seenFixes = p.line, count, 0
}

// isStormID reports whether id is two letters of basin, two digits of number and four
// of year.
func isStormID(id string) bool {
	return len(id) == 8 && strings.Trim(id[:2], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" &&
		strings.Trim(id[2:], "0123456789") == ""
}

func (p *hurdatParser) closeStorm() {
	if p.current == nil {
		return
	}
	if p.seenFixes != p.announcedFixes {
		p.rejectRow(p.headerLine, "storm %s announces %d fixes, %d follow", p.current.ID, p.announcedFixes, p.seenFixes)
	}
	p.current.Complete = p.seenFixes == p.announcedFixes && len(p.current.Fixes) == p.seenFixes
	if len(p.current.Fixes) > 0 {
		p.current.Fixes = append([]Fix(nil), p.current.Fixes...) // without append's spare capacity
		p.storms = append(p.storms, *p.current)
	}
	p.current = nil
}

func (p *hurdatParser) readFix() {
	p.seenFixes++
	fix, err := p.parseFix()
	switch {
	case err != nil:
		p.rejectRow(p.line, "%s", err)
	case p.current == nil:
		p.rejectRow(p.line, "a fix without a storm's header before it")
	case len(p.current.Fixes) > 0 && !fix.At.After(p.current.Fixes[len(p.current.Fixes)-1].At):
		p.rejectRow(p.line, "the fix is not later than the one before it")
	default:
		p.current.Fixes = append(p.current.Fixes, fix)
	}
}

func (p *hurdatParser) parseFix() (fix Fix, err error) {
	if len(p.fields) < 8 {
		return Fix{}, fmt.Errorf("a fix has at least 8 fields, this row has %d", len(p.fields))
	}
	if fix.At, err = p.parseTime(p.fields[0]+" "+p.fields[1], "20060102 1504"); err != nil {
		return Fix{}, err
	}
	if fix.Where, err = p.parsePoint(p.fields[4], p.fields[5]); err != nil {
		return Fix{}, err
	}
	if fix.WindKN, err = p.parseOptionalDecimal("wind", p.fields[6], "-99", "-999"); err != nil {
		return Fix{}, err
	}
	if fix.PressureHPA, err = p.parseOptionalDecimal("pressure", p.fields[7], "-99", "-999"); err != nil {
		return Fix{}, err
	}
	if fix.WindKN != nil && fix.WindKN.IsNegative() || fix.PressureHPA != nil && !fix.PressureHPA.IsPositive() {
		return Fix{}, fmt.Errorf("a wind of %s kn with %s hPa is impossible", p.fields[6], p.fields[7])
	}
	fix.Record, fix.Status, fix.Line = p.internString(p.fields[2]), p.internString(p.fields[3]), p.line
	return fix, nil
}

// parseDegrees parses both "-94.8" and "94.8W".
func parseDegrees(field string) (float64, error) {
	sign := 1.0
	if n := len(field); n > 0 {
		switch field[n-1] {
		case 'S', 'W':
			sign, field = -1, field[:n-1]
		case 'N', 'E':
			field = field[:n-1]
		}
	}
	value, err := strconv.ParseFloat(field, 64)
	return sign * value, err
}
