package hazard

import (
	"cmp"
	"slices"
)

// Names of the shipped sources in occurrences, quotes and feeds.
const (
	USGS = "usgs" // earthquakes
	NHC  = "nhc"  // tropical cyclones
	GHCN = "ghcn" // daily weather
)

// firstPressureYear is the first year in which most fixes of storms have a central
// pressure.
const firstPressureYear = 1992

// Records are the data of a history.
type Records struct {
	Quakes   []Quake
	Storms   []Storm
	Stations []Station

	QuakeData, StormData, RainData Dataset
	// PressureData describes the storms whose central pressure is known.
	PressureData Dataset
}

// History returns past events by place. It never changes, so that any number of
// goroutines may use it concurrently; callers must not change returned values.
type History struct {
	records      Records
	quakeGrid    pointGrid // of the earthquakes
	tracks       []track   // of the storms
	stationNames []string
}

// track holds a storm's precomputed boxes, because pricing a circle tests every storm.
type track struct {
	bounds   Box
	segments []Box
}

// NewHistory returns a history of the records. It sorts copies of the earthquakes by
// time and of the stations by name; the records themselves are shared.
func NewHistory(records Records) *History {
	h := &History{records: records}
	h.records.Quakes = slices.Clone(records.Quakes)
	slices.SortStableFunc(h.records.Quakes, func(a, b Quake) int { return a.At.Compare(b.At) })
	h.records.Stations = slices.Clone(records.Stations)
	slices.SortStableFunc(h.records.Stations, func(a, b Station) int { return cmp.Compare(a.Name, b.Name) })
	for i, quake := range h.records.Quakes {
		h.quakeGrid.addPoint(quake.Where, i)
	}
	for _, storm := range h.records.Storms {
		h.tracks = append(h.tracks, newTrack(storm))
	}
	for _, station := range h.records.Stations {
		h.stationNames = append(h.stationNames, station.Name)
	}
	return h
}

// Quakes returns all earthquakes in order of time.
func (h *History) Quakes() []Quake { return h.records.Quakes }

// Storms returns all tropical cyclones in the order of their file.
func (h *History) Storms() []Storm { return h.records.Storms }

// StationNames returns the names of the stations that have a history, in order.
func (h *History) StationNames() []string { return h.stationNames }

// Station returns the history of one station; false if there is none.
func (h *History) Station(name string) (Station, bool) {
	i, ok := slices.BinarySearch(h.stationNames, name)
	if !ok {
		return Station{}, false
	}
	return h.records.Stations[i], true
}

// QuakeData describes the source of the earthquakes.
func (h *History) QuakeData() Dataset { return h.records.QuakeData }

// StormData describes the source of the cyclones.
func (h *History) StormData() Dataset { return h.records.StormData }

// PressureData describes the source of the central pressures: cyclones of earlier years
// have too few.
func (h *History) PressureData() Dataset { return h.records.PressureData }

// RainData describes the source of the daily rain.
func (h *History) RainData() Dataset { return h.records.RainData }

// PricedStations returns the names of the stations with enough whole years of days for
// which isMeasured holds, in order.
func (h *History) PricedStations(isMeasured func(Day) bool) []string {
	var names []string
	for _, station := range h.records.Stations {
		if len(station.WholeYears(isMeasured)) >= MinimumStationYears {
			names = append(names, station.Name)
		}
	}
	return names
}

// QuakesNear returns the earthquakes in the circle's box, in order of time: all that
// are in the circle and a few that are not. The caller measures them exactly.
func (h *History) QuakesNear(center Point, radiusKM float64) []*Quake {
	box := CircleBox(center, radiusKM)
	var places []int
	for place := range h.quakeGrid.pointsIn(box) {
		if box.Overlaps(PointBox(h.records.Quakes[place].Where)) {
			places = append(places, place)
		}
	}
	slices.Sort(places)
	near := make([]*Quake, len(places))
	for i, place := range places {
		near[i] = &h.records.Quakes[place]
	}
	return near
}

// StormsNear returns the storms of which a fix or a segment between two fixes may touch
// a place in the box, in the order of their file: all that do and some that do not. Each is
// cut to the part from its first to its last such segment.
func (h *History) StormsNear(box Box) []Storm {
	var near []Storm
	for i, track := range h.tracks {
		if !track.bounds.Overlaps(box) {
			continue
		}
		if first := slices.IndexFunc(track.segments, box.Overlaps); first >= 0 {
			last := len(track.segments) - 1
			for !track.segments[last].Overlaps(box) {
				last--
			}
			storm := h.records.Storms[i]
			storm.Fixes, storm.Complete = storm.Fixes[first:min(last+2, len(storm.Fixes))], false
			near = append(near, storm)
		}
	}
	return near
}

// TrackPart is a part of a storm's track: neighbouring fixes, shared with the storm, and a
// box around each segment between them, or around the only fix.
type TrackPart struct {
	Storm *Storm
	Fixes []Fix
	Boxes []Box
}

// TrackPartsNear returns the parts of storm tracks near a place in the box, in the order of
// their file: the fixes at the ends of segments that may touch it. A storm that returns
// has several parts, in order of time.
func (h *History) TrackPartsNear(box Box) []TrackPart {
	var runs []TrackPart
	for i, track := range h.tracks {
		if track.bounds.Overlaps(box) {
			storm := &h.records.Storms[i]
			runs = TrackPart{storm, storm.Fixes, track.segments}.Parts(runs, func(i int) bool { return track.segments[i].Overlaps(box) })
		}
	}
	return runs
}

// Parts appends to parts the runs of neighbouring segments of r whose numbers satisfy
// keep. A part with only one fix has segment 0.
func (r TrackPart) Parts(parts []TrackPart, keep func(segment int) bool) []TrackPart {
	for at := 0; at < len(r.Boxes); at++ {
		first := at
		for at < len(r.Boxes) && keep(at) {
			at++
		}
		if at > first {
			parts = append(parts, TrackPart{r.Storm, r.Fixes[first:min(at+1, len(r.Fixes))], r.Boxes[first:at]})
		}
	}
	return parts
}

// SegmentBoxes returns one box per segment of the storm, or the box of its only fix.
// Together they contain every place of the track, however long the gaps between fixes.
func (s Storm) SegmentBoxes() []Box {
	if len(s.Fixes) == 1 {
		return []Box{PointBox(s.Fixes[0].Where)}
	}
	boxes := make([]Box, 0, max(0, len(s.Fixes)-1))
	for i := 1; i < len(s.Fixes); i++ {
		boxes = append(boxes, SegmentBox(s.Fixes[i-1].Where, s.Fixes[i].Where))
	}
	return boxes
}

// newTrack precomputes a storm's boxes. The box of a storm without fixes
// overlaps nothing.
func newTrack(s Storm) track {
	t := track{bounds: Box{South: 91, North: -91}, segments: s.SegmentBoxes()}
	for i, box := range t.segments {
		if i == 0 {
			t.bounds = box
		}
		t.bounds = t.bounds.union(box)
	}
	return t
}
