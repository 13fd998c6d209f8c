package trigger

import "parapet/model/hazard"

// Footprint is a box around the place, for finding covers by where something
// happened; false for a station, which is found by its name. Whatever touches
// the place has a box of Boxes that overlaps it.
func Footprint(place Place) (hazard.Box, bool) {
	if place.Kind != Circle {
		return hazard.Box{}, false
	}
	return hazard.CircleBox(place.Center(), place.RadiusKM), true
}

// OccurrenceBoxes are around where the occurrence was: the point of a quake, each segment
// of a storm's track. Rain at a station has none.
func OccurrenceBoxes(o Occurrence) []hazard.Box {
	switch {
	case o.Quake != nil:
		return []hazard.Box{hazard.PointBox(o.Quake.Where)}
	case o.Storm != nil:
		return o.Storm.SegmentBoxes()
	default:
		return nil
	}
}
