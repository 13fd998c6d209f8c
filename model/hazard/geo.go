package hazard

import "math"

// EarthRadiusKM is the mean radius of the earth in the contract's distances: (2a + b) /
// 3 of WGS84, IUGG.
const EarthRadiusKM = 6371.0088

const radiansPerDegree = math.Pi / 180

// Distance returns the great-circle distance of two points in kilometres, by the
// haversine formula (R. W. Sinnott, "Virtues of the Haversine", 1984), which is exact
// for close points where the law of cosines is not.
func Distance(a, b Point) float64 {
	φa, φb := a.Latitude*radiansPerDegree, b.Latitude*radiansPerDegree
	sinφ := math.Sin((φb - φa) / 2)
	sinλ := math.Sin((b.Longitude - a.Longitude) * radiansPerDegree / 2)
	h := sinφ*sinφ + math.Cos(φa)*math.Cos(φb)*sinλ*sinλ
	return 2 * EarthRadiusKM * math.Asin(math.Sqrt(math.Min(1, h)))
}

// Bearing returns the direction in which the great circle from a to b leaves a, in radians
// clockwise from north (Snyder, "Map Projections", 1987, formula 5-4b).
func Bearing(a, b Point) float64 {
	sinA, cosA := math.Sincos(a.Latitude * radiansPerDegree)
	sinB, cosB := math.Sincos(b.Latitude * radiansPerDegree)
	sin, cos := math.Sincos((b.Longitude - a.Longitude) * radiansPerDegree)
	return math.Atan2(cosB*sin, cosA*sinB-sinA*cosB*cos)
}

// Move returns the point at a great-circle distance from p in the direction of a
// bearing, in radians clockwise from north (the direct problem on the sphere; Snyder,
// "Map Projections", 1987, formulas 5-5 and 5-6).
func Move(p Point, bearing, km float64) Point {
	sinφ, cosφ := math.Sincos(p.Latitude * radiansPerDegree)
	sinδ, cosδ := math.Sincos(km / EarthRadiusKM)
	sin := math.Max(-1, math.Min(1, sinφ*cosδ+cosφ*sinδ*math.Cos(bearing)))
	λ := p.Longitude*radiansPerDegree + math.Atan2(math.Sin(bearing)*sinδ*cosφ, cosδ-sinφ*sin)
	return Point{Latitude: math.Asin(sin) / radiansPerDegree, Longitude: math.Remainder(λ/radiansPerDegree, 360)}
}

// SegmentDistance returns the distance in kilometres from p to the great-circle segment
// from a to b, and the position of the closest point on the segment: 0 at a, 1 at b,
// linear in arc. A storm moves between its fixes, so a place that neither fix touches
// may lie under the track.
//
// Equal ends are a point. Antipodal ends have no single shortest way; the one over the
// north pole is used (over 90° east when the ends are the poles).
func SegmentDistance(p, a, b Point) (km, along float64) {
	v, track := toVector(p), newArc(a, b)
	if !track.isDegenerate() && track.containsClosestPoint(v) {
		sin := math.Abs(v.dot(track.normal))
		cos := math.Hypot(v.dot(track.from), v.dot(track.forward))
		return EarthRadiusKM * math.Atan2(sin, cos), track.fractionAlong(v)
	}
	fromA, fromB := Distance(p, a), Distance(p, b)
	if fromB < fromA {
		return fromB, 1
	}
	return fromA, 0
}

// SegmentMayTouch reports whether the segment from a to b may come within radiusKM of a
// point, by the distances of that point from both ends: false is certain, true is not.
// By the triangle inequality no place of the segment is closer to the point than half
// of fromA + fromB − length, and the length is at most that of the way along a meridian
// and then along a parallel, of which no degree is longer than one of the equator.
func SegmentMayTouch(radiusKM float64, a, b Point, fromA, fromB float64) bool {
	length := math.Abs(b.Latitude-a.Latitude) + math.Abs(math.Remainder(b.Longitude-a.Longitude, 360))
	return fromA+fromB-length*radiansPerDegree*EarthRadiusKM <= 2*radiusKM+slackKM
}

// slackKM widens a bound against rounding: a metre.
const slackKM = 0.001

// vector is a point of the unit sphere: x towards 0°N 0°E, z towards the north pole.
type vector struct{ x, y, z float64 }

func toVector(p Point) vector {
	sinφ, cosφ := math.Sincos(p.Latitude * radiansPerDegree)
	sinλ, cosλ := math.Sincos(p.Longitude * radiansPerDegree)
	return vector{cosφ * cosλ, cosφ * sinλ, sinφ}
}

func (v vector) dot(w vector) float64 { return v.x*w.x + v.y*w.y + v.z*w.z }

func (v vector) plus(w vector) vector { return vector{v.x + w.x, v.y + w.y, v.z + w.z} }

func (v vector) times(f float64) vector { return vector{v.x * f, v.y * f, v.z * f} }

func (v vector) cross(w vector) vector {
	return vector{v.y*w.z - v.z*w.y, v.z*w.x - v.x*w.z, v.x*w.y - v.y*w.x}
}

func (v vector) length() float64 { return math.Sqrt(v.dot(v)) }

// minDirectionLength is the length in radians (a hundredth of a millimetre) below which
// two directions are too close to define a plane.
const minDirectionLength = 1e-12

// arc is the shorter great-circle arc between two points.
type arc struct {
	from, to          vector
	normal            vector  // of the arc's plane; zero when the ends are one point
	forward, backward vector  // in the plane: ahead of from, and behind to
	angle             float64 // radians between from and to
	antipodal         bool
}

func newArc(a, b Point) arc {
	from, to := toVector(a), toVector(b)
	// (a − b) × (a + b) = 2 a × b, without the cancellation for close ends.
	sum, difference := from.plus(to), from.plus(to.times(-1))
	normal := difference.cross(sum)
	r := arc{from: from, to: to, angle: math.Atan2(normal.length()/2, from.dot(to))}
	if difference.length() < minDirectionLength {
		return r
	}
	if sum.length() < minDirectionLength {
		r.antipodal = true
		if normal = from.cross(vector{z: 1}); normal.length() < minDirectionLength {
			normal = from.cross(vector{y: 1})
		}
	}
	r.normal = normal.times(1 / normal.length())
	r.forward, r.backward = r.normal.cross(from), to.cross(r.normal)
	return r
}

func (r arc) isDegenerate() bool { return r.normal == vector{} }

// containsClosestPoint reports whether the point of the whole great circle that is
// closest to v lies on the arc.
func (r arc) containsClosestPoint(v vector) bool {
	return v.dot(r.forward) >= 0 && v.dot(r.backward) >= 0
}

func (r arc) fractionAlong(v vector) float64 {
	share := math.Atan2(v.dot(r.forward), v.dot(r.from)) / r.angle
	return math.Max(0, math.Min(1, share))
}
