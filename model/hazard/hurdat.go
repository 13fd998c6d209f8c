package hazard

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ParseHURDAT2 reads the storms of a file in the NHC's HURDAT2 format, with or
// without column names: a header row of id, name and number of fixes, then one
// row per fix of date, time, record identifier, status, latitude, longitude,
// wind (kn) and pressure (hPa). Positions are signed (-94.8) or carry a
// hemisphere (94.8W). -99, -999 and nothing mean that a value is not known.
//
// Bad rows are left out and told; a storm keeps its good fixes. The error is
// the reader's: what was read before it is returned too.
// Source: Landsea and Franklin, Mon. Wea. Rev. 141 (2013), "Atlantic Hurricane
// Database Uncertainty and Presentation of a New Database Format".
func ParseHURDAT2(r io.Reader) ([]Storm, []RowError, error) {
	p := hurdat{rows: newRows(r)}
	for p.next("ID", "Date") {
		if first := p.fields[0]; first != "" && (first[0] < '0' || first[0] > '9') {
			p.header()
		} else {
			p.fix()
		}
	}
	p.closeStorm()
	return p.storms, p.refused, p.end()
}

type hurdat struct {
	*rows
	storms    []Storm
	current   *Storm
	opened    int // line of the current storm's header
	announced int // fixes that the header promises
	seen      int // fix rows since, bad ones too
}

func (p *hurdat) header() {
	p.closeStorm()
	count := -1
	if len(p.fields) >= 3 {
		if n, err := strconv.Atoi(p.fields[2]); err == nil {
			count = n
		}
	}
	if !stormID(p.fields[0]) || count < 0 {
		p.refuse(p.line, "a storm's header is basin, number and year, its name and its number of fixes")
		return
	}
	p.current = &Storm{ID: p.word(p.fields[0]), Name: p.word(p.fields[1])}
	p.opened, p.announced, p.seen = p.line, count, 0
}

// stormID tells whether id is two letters of basin, two digits of number and
// four of year.
func stormID(id string) bool {
	return len(id) == 8 && strings.Trim(id[:2], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" &&
		strings.Trim(id[2:], "0123456789") == ""
}

func (p *hurdat) closeStorm() {
	if p.current == nil {
		return
	}
	if p.seen != p.announced {
		p.refuse(p.opened, "storm %s announces %d fixes, %d follow", p.current.ID, p.announced, p.seen)
	}
	p.current.Complete = p.seen == p.announced && len(p.current.Fixes) == p.seen
	if len(p.current.Fixes) > 0 {
		p.current.Fixes = append([]Fix(nil), p.current.Fixes...) // without append's spare room
		p.storms = append(p.storms, *p.current)
	}
	p.current = nil
}

func (p *hurdat) fix() {
	p.seen++
	fix, err := p.readFix()
	switch {
	case err != nil:
		p.refuse(p.line, "%s", err)
	case p.current == nil:
		p.refuse(p.line, "a fix without a storm's header before it")
	case len(p.current.Fixes) > 0 && !fix.At.After(p.current.Fixes[len(p.current.Fixes)-1].At):
		p.refuse(p.line, "the fix is not later than the one before it")
	default:
		p.current.Fixes = append(p.current.Fixes, fix)
	}
}

func (p *hurdat) readFix() (fix Fix, err error) {
	if len(p.fields) < 8 {
		return Fix{}, fmt.Errorf("a fix has at least 8 fields, this row has %d", len(p.fields))
	}
	if fix.At, err = p.moment(p.fields[0]+" "+p.fields[1], "20060102 1504"); err != nil {
		return Fix{}, err
	}
	if fix.Where, err = p.point(p.fields[4], p.fields[5]); err != nil {
		return Fix{}, err
	}
	if fix.WindKN, err = p.optional("wind", p.fields[6], "-99", "-999"); err != nil {
		return Fix{}, err
	}
	if fix.PressureHPA, err = p.optional("pressure", p.fields[7], "-99", "-999"); err != nil {
		return Fix{}, err
	}
	if fix.WindKN != nil && fix.WindKN.IsNegative() || fix.PressureHPA != nil && !fix.PressureHPA.IsPositive() {
		return Fix{}, fmt.Errorf("a wind of %s kn with %s hPa is impossible", p.fields[6], p.fields[7])
	}
	fix.Record, fix.Status = p.word(p.fields[2]), p.word(p.fields[3])
	return fix, nil
}

// parseDegrees reads "-94.8" and "94.8W" alike.
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
