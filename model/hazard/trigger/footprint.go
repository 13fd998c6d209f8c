package trigger

import "parapet/model/hazard"

// Footprint returns a box around the place, to find covers by location, with the same
// centre; false for a station, which is found by name. Any occurrence that touches the
// place has a box in OccurrenceBoxes that overlaps it.
func Footprint(place Place) (hazard.Box, bool) {
	switch place.Kind {
	case Circle:
		return hazard.CircleBox(place.Center(), place.RadiusKM), true
	case InBox:
		return place.Box(), true
	case AtStation:
	}
	return hazard.Box{}, false
}

// OccurrenceBoxes returns boxes around an occurrence: the point of an earthquake, or
// each segment of a storm's track. Rain at a station has none.
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
