package trigger

import "parapet/model/hazard"

// Earthquake insures against the magnitude of earthquakes in a circle.
const Earthquake hazard.Peril = "earthquake"

var earthquakeRules = PerilRules{
	Peril: Earthquake, Kind: hazard.Earthquake,
	Indices:        map[string]Index{"magnitude": {"mw", "magnitude %s %s", 5}},
	contextMembers: func(Trigger) []string { return []string{"maximum_depth_km"} },
	validate:       func(Trigger) error { return nil },
}

// evaluateQuake evaluates a point in time and place. An earthquake without a depth
// counts as within the depth limit, because the partner must not lose by an incomplete
// source.
func (e *evaluation) evaluateQuake(q hazard.Quake) {
	km := hazard.Distance(e.cover.Place.Center(), q.Where)
	e.recordDistance(km, q.At)
	if e.cover.Trigger.isTooDeep(q) {
		return
	}
	e.measureIndex(km, q.At, q.Magnitude)
}

func (t Trigger) isTooDeep(q hazard.Quake) bool {
	return t.MaximumDepthKM != nil && q.DepthKM != nil && q.DepthKM.GreaterThan(*t.MaximumDepthKM)
}
