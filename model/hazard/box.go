package hazard

import "math"

// Box is an area between two meridians and two parallels, in degrees, borders
// included. Longitudes are unwrapped: a box across the date line reaches beyond
// ±180, so West ≤ East always. The boxes that the functions below construct are supersets
// that pre-filter what is then measured exactly; an insured box is exact.
type Box struct{ West, South, East, North float64 }

// boxSlack widens boxes against rounding, in degrees: a tenth of a metre.
const boxSlack = 1e-6

// worldBox returns the box of the whole sphere.
func worldBox() Box { return Box{West: -180, South: -90, East: 180, North: 90} }

// CircleBox returns a box around the circle of radiusKM on the sphere.
func CircleBox(center Point, radiusKM float64) Box { return PointBox(center).Widened(radiusKM) }

// Widened returns a box around all points within km of the box. If it reaches a pole it
// has every longitude, -180 to 180. The half width of a circle is asin(sin δ / cos φ): the
// meridian tangent to the circle touches it poleward of the centre, not at its latitude.
func (b Box) Widened(km float64) Box {
	δ := km/EarthRadiusKM + boxSlack*radiansPerDegree
	box := Box{West: -180, South: b.South - δ/radiansPerDegree, East: 180, North: b.North + δ/radiansPerDegree}
	if box.South <= -90 || box.North >= 90 {
		box.South, box.North = math.Max(box.South, -90), math.Min(box.North, 90)
		return box
	}
	poleward := math.Max(math.Abs(b.South), math.Abs(b.North))
	width := math.Asin(math.Min(1, math.Sin(δ)/math.Cos(poleward*radiansPerDegree)))/radiansPerDegree + boxSlack
	if b.East-b.West+2*width < 360 {
		box.West, box.East = b.West-width, b.East+width
	}
	return box
}

// IsOnGlobe reports whether a box is one that a caller may give: on the globe, and with
// West above East only where it crosses the antimeridian.
func (b Box) IsOnGlobe() bool {
	within := func(degrees, limit float64) bool { return degrees >= -limit && degrees <= limit } // false for NaN
	return within(b.West, 180) && within(b.East, 180) && within(b.South, 90) && within(b.North, 90) && b.South <= b.North
}

// Unwrapped returns the box with West at most East, which reaches beyond 180 degrees when
// the box crosses the antimeridian.
func (b Box) Unwrapped() Box {
	if b.West > b.East {
		b.East += 360
	}
	return b
}

// PointBox returns the box of a single point.
func PointBox(p Point) Box { return Box{p.Longitude, p.Latitude, p.Longitude, p.Latitude} }

// SegmentBox returns a box around the great-circle segment from a to b, the shortest
// way round. It includes the bulge: a great circle between two points of one latitude
// runs poleward of both. The segment between antipodal ends may run anywhere.
func SegmentBox(a, b Point) Box {
	track := newArc(a, b)
	if track.antipodal {
		return worldBox()
	}
	width := math.Remainder(b.Longitude-a.Longitude, 360)
	box := Box{
		West:  a.Longitude + math.Min(0, width) - boxSlack,
		South: math.Min(a.Latitude, b.Latitude) - boxSlack,
		East:  a.Longitude + math.Max(0, width) + boxSlack,
		North: math.Max(a.Latitude, b.Latitude) + boxSlack,
	}
	if math.Abs(width) > 180-boxSlack { // over a pole, or so close that rounding decides
		box.West, box.East = -180, 180
	}
	box.includeBulge(track)
	box.South, box.North = math.Max(box.South, -90), math.Min(box.North, 90)
	return box
}

// includeBulge extends the box to the great circle's northernmost and
// southernmost points where the arc passes them.
func (b *Box) includeBulge(track arc) {
	if track.isDegenerate() {
		return
	}
	vertex := vector{z: 1}.plus(track.normal.times(-track.normal.z)) // the pole projected onto the plane
	latitude := math.Atan2(vertex.length(), math.Abs(track.normal.z))/radiansPerDegree + boxSlack
	if track.containsClosestPoint(vertex) {
		b.North = math.Max(b.North, latitude)
	}
	if track.containsClosestPoint(vertex.times(-1)) {
		b.South = math.Min(b.South, -latitude)
	}
}

// Overlaps reports whether the boxes share a point of the sphere, borders included,
// regardless of the turn in which their longitudes are written.
func (b Box) Overlaps(other Box) bool {
	if b.South > other.North || other.South > b.North {
		return false
	}
	for _, turn := range [...]float64{0, 360, -360} {
		if b.West <= other.East+turn && other.West+turn <= b.East {
			return true
		}
	}
	return false
}

// union returns a box around both. It first shifts the other box by whole turns to the
// nearest position, so that a track across the date line stays narrow.
func (b Box) union(other Box) Box {
	turn := 360 * math.Round((b.West+b.East-other.West-other.East)/2/360)
	joined := Box{
		West: math.Min(b.West, other.West+turn), South: math.Min(b.South, other.South),
		East: math.Max(b.East, other.East+turn), North: math.Max(b.North, other.North),
	}
	if joined.East-joined.West >= 360 {
		joined.West, joined.East = -180, 180
	}
	return joined
}
