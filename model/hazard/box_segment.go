package hazard

import (
	"cmp"
	"math"
	"slices"
)

// borderSlack is the distance in degrees, a tenth of a millimetre, within which a point
// between two others counts as on the border of a box: rounding must not decide about it.
const borderSlack = 1e-9

// Contains reports whether the point lies in the box, borders included. A pole has every
// longitude. West must be within ±180.
func (b Box) Contains(p Point) bool { return b.containsWithin(0, p) }

func (b Box) containsWithin(slack float64, p Point) bool {
	return b.hasLatitude(slack, p) && (math.Abs(p.Latitude) >= 90-slack || b.hasLongitude(slack, p))
}

func (b Box) hasLatitude(slack float64, p Point) bool {
	return b.South-slack <= p.Latitude && p.Latitude <= b.North+slack
}

func (b Box) hasLongitude(slack float64, p Point) bool {
	for _, turn := range [...]float64{0, 360, -360} {
		if b.West-slack <= p.Longitude+turn && p.Longitude+turn <= b.East+slack {
			return true
		}
	}
	return false
}

// Center returns the middle of the box in degrees.
func (b Box) Center() Point {
	return Point{Latitude: (b.South + b.North) / 2, Longitude: math.Remainder((b.West+b.East)/2, 360)}
}

func (b Box) corners() [4]Point {
	return [...]Point{{b.South, b.West}, {b.South, b.East}, {b.North, b.East}, {b.North, b.West}}
}

// SidesKM returns the height of the box, and its width along the parallel nearest to the
// equator, where it is widest. A larger box around it has no shorter side.
func (b Box) SidesKM() (height, width float64) {
	nearest := math.Max(0, math.Max(b.South, -b.North))
	const kmPerDegree = EarthRadiusKM * radiansPerDegree
	return (b.North - b.South) * kmPerDegree, (b.East - b.West) * kmPerDegree * math.Cos(nearest*radiansPerDegree)
}

// Span is a part of a segment: shares of its length, 0 at its beginning and 1 at its end.
type Span struct{ From, To float64 }

// SpansOf returns the parts of the great-circle segment from a to z that lie in the box,
// in order, borders included; a part may be a single point. There may be two or more,
// because a great circle can leave the box over a parallel and return. The parts of the
// segment from z to a are the same, counted from the other end.
func (b Box) SpansOf(a, z Point) []Span {
	if !b.mayTouch(a, z) {
		return nil
	}
	if cmp.Or(cmp.Compare(a.Latitude, z.Latitude), cmp.Compare(a.Longitude, z.Longitude)) > 0 {
		spans := b.SpansOf(z, a)
		slices.Reverse(spans)
		for i, s := range spans {
			spans[i] = Span{1 - s.To, 1 - s.From}
		}
		return spans
	}
	track := newArc(a, z)
	if track.isDegenerate() {
		if b.Contains(a) {
			return []Span{{0, 1}}
		}
		return nil
	}
	var spans []Span
	before, cuts := math.NaN(), b.cuts(a, z, track)
	for _, cut := range cuts {
		last := len(spans) - 1
		switch between := (before + cut.share) / 2; {
		case cut.share > before && b.containsWithin(borderSlack, track.pointAt(between)):
			if last < 0 || spans[last].To < before {
				spans, last = append(spans, Span{From: before}), last+1
			}
			spans[last].To = cut.share
		case cut.inside && (last < 0 || spans[last].To < cut.share):
			spans = append(spans, Span{cut.share, cut.share})
		}
		before = cut.share
	}
	return spans
}

// cut is a position on a segment where it may enter or leave a box.
type cut struct {
	share  float64
	inside bool // the position belongs to the box
}

// cuts returns both ends of a segment and its crossings of the four borders, in order.
func (b Box) cuts(a, z Point, track arc) []cut {
	cuts := make([]cut, 0, 8)
	cuts = append(cuts, cut{0, b.Contains(a)}, cut{1, b.Contains(z)})
	add := func(angle float64, isOnBorder func(Point) bool) {
		angle = math.Mod(angle+4*math.Pi, 2*math.Pi)
		if share := angle / track.angle; share < 1 {
			cuts = append(cuts, cut{share, isOnBorder(track.pointAt(share))})
		}
	}
	// The height of the arc is from.z·cos θ + forward.z·sin θ = peak·cos(θ − top).
	peak, top := math.Hypot(track.from.z, track.forward.z), math.Atan2(track.forward.z, track.from.z)
	for _, latitude := range [...]float64{b.South, b.North} {
		if sin := math.Sin(latitude * radiansPerDegree); math.Abs(sin) <= peak {
			aside := math.Acos(sin / peak)
			add(top-aside, b.isOnParallel)
			add(top+aside, b.isOnParallel)
		}
	}
	for _, longitude := range [...]float64{b.West, b.East} {
		sin, cos := math.Sincos(longitude * radiansPerDegree)
		normal := vector{x: -sin, y: cos}
		angle := math.Atan2(-track.from.dot(normal), track.forward.dot(normal))
		for _, angle := range [...]float64{angle, angle + math.Pi} {
			at := track.from.times(math.Cos(angle)).plus(track.forward.times(math.Sin(angle)))
			if at.x*cos+at.y*sin >= -1e-14 { // not on the opposite meridian; a pole is on both
				add(angle, func(p Point) bool { return b.hasLatitude(borderSlack, p) })
			}
		}
	}
	slices.SortFunc(cuts, func(a, z cut) int { return cmp.Compare(a.share, z.share) })
	return cuts
}

// isOnParallel reports whether a point of the box's parallels belongs to the box.
func (b Box) isOnParallel(p Point) bool {
	return b.hasLongitude(borderSlack, p) || math.Abs(p.Latitude) >= 90-borderSlack
}

// mayTouch excludes most segments without trigonometry; a pole has every longitude. Between
// two points less than 30 degrees of longitude apart no great circle runs more than a degree
// poleward of both: atan(tan φ / cos 15°) − φ < 1° for every φ.
func (b Box) mayTouch(a, z Point) bool {
	width := math.Remainder(z.Longitude-a.Longitude, 360)
	if math.Abs(width) > 30 || math.Max(math.Abs(a.Latitude), math.Abs(z.Latitude)) >= 90-borderSlack {
		return true
	}
	return b.Overlaps(Box{
		West: a.Longitude + math.Min(0, width) - boxSlack, South: math.Min(a.Latitude, z.Latitude) - 1,
		East: a.Longitude + math.Max(0, width) + boxSlack, North: math.Max(a.Latitude, z.Latitude) + 1,
	})
}

// Distance returns the distance in kilometres of a point from the box, 0 inside. North or
// south of the box that is the way along the meridian; elsewhere the nearest point lies on
// the western or the eastern border, because the distance from a point to those of one
// parallel grows with the difference of longitude.
func (b Box) Distance(p Point) float64 {
	switch {
	case b.Contains(p):
		return 0
	case b.hasLongitude(0, p):
		return EarthRadiusKM * radiansPerDegree * math.Max(b.South-p.Latitude, p.Latitude-b.North)
	}
	km, middle := math.Inf(1), (b.South+b.North)/2
	for _, longitude := range [...]float64{b.West, b.East} {
		for _, end := range [...]float64{b.South, b.North} { // two halves, because between the poles any meridian is a shortest way
			half, _ := SegmentDistance(p, Point{end, longitude}, Point{middle, longitude})
			km = math.Min(km, half)
		}
	}
	return km
}

// SegmentDistance returns the distance in kilometres of the great-circle segment from a
// to z from the box, 0 if they touch. Outside of the box the closest position is an end, the
// northernmost or southernmost point of the great circle, or the point closest to a corner.
func (b Box) SegmentDistance(a, z Point) float64 {
	if len(b.SpansOf(a, z)) > 0 {
		return 0
	}
	km, track := math.Min(b.Distance(a), b.Distance(z)), newArc(a, z)
	if track.isDegenerate() {
		return km
	}
	vertex := vector{z: 1}.plus(track.normal.times(-track.normal.z))
	closest := []vector{vertex, vertex.times(-1)}
	for _, corner := range b.corners() {
		closest = append(closest, toVector(corner))
	}
	for _, v := range closest {
		if track.containsClosestPoint(v) {
			km = math.Min(km, b.Distance(track.pointAt(track.fractionAlong(v))))
		}
	}
	return km
}

// PointAlong returns the point at a share of the great-circle segment from a to z: 0 at a,
// 1 at z, linear in arc.
func PointAlong(a, z Point, share float64) Point {
	if track := newArc(a, z); !track.isDegenerate() {
		return track.pointAt(share)
	}
	return a
}

// pointAt returns the point at a share of the arc.
func (r arc) pointAt(share float64) Point {
	sin, cos := math.Sincos(share * r.angle)
	v := r.from.times(cos).plus(r.forward.times(sin))
	return Point{
		Latitude:  math.Atan2(v.z, math.Hypot(v.x, v.y)) / radiansPerDegree,
		Longitude: math.Atan2(v.y, v.x) / radiansPerDegree,
	}
}
