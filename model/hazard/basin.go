package hazard

import "slices"

// Basin is the area that track data covers: a polygon whose sides are straight in
// longitude and latitude. It must not cross the date line.
type Basin struct {
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

// Atlantic returns the North Atlantic with the Caribbean and the Gulf of Mexico. In
// Mexico and Central America the border follows the continental divide, so that the
// Pacific coast is outside: its storms are in other track data.
func Atlantic() *Basin {
	return &Basin{
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
}
