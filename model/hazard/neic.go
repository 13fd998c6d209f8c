package hazard

import (
	"fmt"
	"io"
	"math"
)

// ParseNEIC reads earthquakes from the columns date, latitude, longitude and
// magnitude. Dates are MM/DD/YYYY, which puts a quake at midnight UTC, or RFC
// 3339. The file has no ids, so each quake gets one from its day and place:
// neic-19710819-23991N-121913E (thousandths of a degree), with -2, -3 … behind
// it where one day has the same place again.
//
// Bad rows are left out and told. The error is the reader's: what was read
// before it is returned too.
func ParseNEIC(r io.Reader) ([]Quake, []RowError, error) {
	var quakes []Quake
	rows, seen := newRows(r), make(map[string]int)
	for rows.next("Date") {
		quake, err := rows.quake()
		if err != nil {
			rows.refuse(rows.line, "%s", err)
			continue
		}
		id := neicID(quake)
		seen[id]++
		if n := seen[id]; n > 1 {
			id = fmt.Sprintf("%s-%d", id, n)
		}
		quake.EventID = id
		quakes = append(quakes, quake)
	}
	return quakes, rows.refused, rows.end()
}

func (r *rows) quake() (quake Quake, err error) {
	if len(r.fields) != 4 {
		return Quake{}, fmt.Errorf("an earthquake has 4 fields, this row has %d", len(r.fields))
	}
	if quake.At, err = r.moment(r.fields[0], "01/02/2006", "2006-01-02T15:04:05.999999Z07:00"); err != nil {
		return Quake{}, err
	}
	if quake.Where, err = r.point(r.fields[1], r.fields[2]); err != nil {
		return Quake{}, err
	}
	magnitude, err := r.decimal("magnitude", r.fields[3])
	if err != nil {
		return Quake{}, err
	}
	quake.Magnitude = *magnitude
	return quake, nil
}

func neicID(q Quake) string {
	vertical, horizontal := "N", "E"
	if q.Where.Latitude < 0 {
		vertical = "S"
	}
	if q.Where.Longitude < 0 {
		horizontal = "W"
	}
	return fmt.Sprintf("neic-%s-%05.0f%s-%06.0f%s", q.At.Format("20060102"),
		math.Abs(q.Where.Latitude)*1000, vertical, math.Abs(q.Where.Longitude)*1000, horizontal)
}
