package model

import (
	"strconv"

	"parapet/model/hazard"
)

// pgBox writes a box as Postgres reads it: two opposite corners, longitude
// first. Longitudes may lie beyond ±180; see searchBoxes.
func pgBox(b hazard.Box) string {
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	return "((" + number(b.East) + "," + number(b.North) + "),(" + number(b.West) + "," + number(b.South) + "))"
}

// searchBoxes are the boxes to look for: each as it is and one turn of the earth
// to either side, because footprints keep unwrapped longitudes.
func searchBoxes(boxes []hazard.Box) []string {
	texts := make([]string, 0, 3*len(boxes))
	for _, b := range boxes {
		for _, turn := range []float64{-360, 0, 360} {
			moved := b
			moved.West += turn
			moved.East += turn
			texts = append(texts, pgBox(moved))
		}
	}
	return texts
}
