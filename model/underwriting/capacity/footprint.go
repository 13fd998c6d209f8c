package capacity

import (
	"strconv"

	"parapet/model/hazard"
	"parapet/model/kernel/apperr"
)

// PgBox formats a box for Postgres: two opposite corners, longitude first. Longitudes may
// exceed ±180; see SearchBoxes.
func PgBox(b hazard.Box) string {
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	return "((" + number(b.East) + "," + number(b.North) + "),(" + number(b.West) + "," + number(b.South) + "))"
}

// SearchBoxes returns the boxes to search: each one as it is and shifted by 360 degrees
// in both directions, because footprints keep unwrapped longitudes.
func SearchBoxes(boxes []hazard.Box) []string {
	texts := make([]string, 0, 3*len(boxes))
	for _, b := range boxes {
		for _, shift := range []float64{-360, 0, 360} {
			moved := b
			moved.West += shift
			moved.East += shift
			texts = append(texts, PgBox(moved))
		}
	}
	return texts
}

// InvalidBox returns the error for a box that is not one on the globe.
func InvalidBox() *apperr.Error {
	return apperr.InvalidParameter("box", "Use longitudes from -180 to 180 and latitudes from -90 to 90, with south at most north. West above east crosses the antimeridian.")
}
