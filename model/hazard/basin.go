package hazard

import (
	"slices"
	"strings"
)

// Basin is the area that track data covers: a polygon whose sides are straight in
// longitude and latitude. It must not cross the date line.
type Basin struct {
	Code   string  // of its storms: the letters with which their ATCF ids begin
	Name   string  // shown to a partner whose place lies outside
	Border []Point // in order; the last corner joins the first
}

// Contains reports whether p lies in the polygon, by the number of sides that a ray
// along the parallel crosses (M. Shimrat, "Algorithm 112", 1962).
func (b *Basin) Contains(p Point) bool {
	inside := false
	for i, to := range b.Border {
		from := b.Border[(i+len(b.Border)-1)%len(b.Border)]
		if (from.Latitude > p.Latitude) == (to.Latitude > p.Latitude) {
			continue
		}
		along := (p.Latitude - from.Latitude) / (to.Latitude - from.Latitude)
		if p.Longitude < from.Longitude+along*(to.Longitude-from.Longitude) {
			inside = !inside
		}
	}
	return inside
}

// ContainsBox reports whether the centre and all corners of the box lie in the polygon.
func (b *Basin) ContainsBox(box Box) bool {
	corners := box.corners()
	return b.Contains(box.Center()) && !slices.ContainsFunc(corners[:], func(p Point) bool { return !b.Contains(p) })
}

// HasStorm reports whether the storm belongs to the basin: by the letters of its ATCF id,
// and without such an id by the place of its earliest fix. A storm keeps its id when it
// crosses into another basin. One without a fix belongs to any basin.
func (b *Basin) HasStorm(s *Storm) bool {
	switch code := BasinCode(s.ID); {
	case code != "":
		return code == b.Code
	case len(s.Fixes) == 0:
		return true
	default:
		return b.Contains(s.FirstFix().Where)
	}
}

// FirstFix returns the earliest fix of the storm, which must have one.
func (s *Storm) FirstFix() Fix {
	return slices.MinFunc(s.Fixes, func(a, b Fix) int { return a.At.Compare(b.At) })
}

// atcfBasins are the basins of ATCF ids: Atlantic, eastern, central and western Pacific,
// Indian Ocean, southern hemisphere, and the two codes of the South Atlantic.
var atcfBasins = []string{"AL", "EP", "CP", "WP", "IO", "SH", "SL", "LS"}

// BasinCode returns the letters of the basin in a storm's ATCF id in capitals, and "" for
// any other id: EP of ep092027. A hyphen and what follows it are no part of the ATCF id:
// replays of a past storm add them. ATCF is the Automated Tropical Cyclone Forecasting
// System of the warning centres; C. R. Sampson and A. J. Schrader, "The Automated Tropical
// Cyclone Forecasting System (Version 3.2)", Bull. Amer. Meteor. Soc. 81 (2000).
func BasinCode(id string) string {
	id, _, _ = strings.Cut(id, "-")
	if id = strings.ToUpper(id); !isStormID(id) || !slices.Contains(atcfBasins, id[:2]) {
		return ""
	}
	return id[:2]
}

// Atlantic returns the North Atlantic with the Caribbean and the Gulf of Mexico. In
// Mexico and Central America the border follows the continental divide, so that the
// Pacific coast is outside: its storms are in other track data.
func Atlantic() *Basin { return &atlantic }

var atlantic = Basin{
	Code: "AL",
	Name: "the North Atlantic with the Caribbean and the Gulf of Mexico",
	Border: []Point{
		{60, -100},
		{20, -100},
		{17.6, -97.5},
		{16.75, -95},
		{16.2, -93},
		{15.2, -91.5},
		{14.75, -90},
		{14.3, -88.5},
		{13.6, -87},
		{12.9, -86},
		{11.6, -85},
		{10.4, -84.2},
		{9.2, -83},
		{8.75, -82},
		{8.7, -80.5},
		{9.15, -79.6},
		{9.25, -78.5},
		{8.3, -77.4},
		{7, -77},
		{5, -76.5},
		{5, -5},
		{60, -5},
	},
}
