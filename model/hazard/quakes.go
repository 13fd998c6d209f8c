package hazard

import (
	"fmt"
	"io"
)

// ParseQuakes reads earthquakes from the columns time (RFC 3339), latitude, longitude,
// magnitude, depth in kilometres and id. An empty depth is unknown.
//
// Bad rows are omitted and returned as RowErrors. The error is the reader's; rows read
// before it are returned too.
func ParseQuakes(r io.Reader) ([]Quake, []RowError, error) {
	var quakes []Quake
	rows, seen := newRowReader(r), make(map[string]bool)
	for rows.next("time") {
		quake, err := rows.parseQuake()
		switch {
		case err != nil:
			rows.rejectRow(rows.line, "%s", err)
		case seen[quake.EventID]:
			rows.rejectRow(rows.line, "the id %s is there twice", quake.EventID)
		default:
			seen[quake.EventID] = true
			quakes = append(quakes, quake)
		}
	}
	return quakes, rows.rejected, rows.readError()
}

func (r *rowReader) parseQuake() (quake Quake, err error) {
	if len(r.fields) != 6 || r.fields[5] == "" {
		return Quake{}, fmt.Errorf("an earthquake has 6 fields and an id, this row has %d fields", len(r.fields))
	}
	if quake.At, err = r.parseTime(r.fields[0], "2006-01-02T15:04:05.999999Z07:00"); err != nil {
		return Quake{}, err
	}
	if quake.Where, err = r.parsePoint(r.fields[1], r.fields[2]); err != nil {
		return Quake{}, err
	}
	magnitude, err := r.parseDecimal("magnitude", r.fields[3])
	if err != nil {
		return Quake{}, err
	}
	if quake.DepthKM, err = r.parseOptionalDecimal("depth", r.fields[4]); err != nil {
		return Quake{}, err
	}
	quake.Magnitude, quake.EventID, quake.Line = *magnitude, r.fields[5], r.line
	return quake, nil
}
