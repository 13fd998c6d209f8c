package trigger

import (
	"errors"
	"fmt"
	"math"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parapet/model/hazard"
)

// PlaceKind is the kind of the insured place.
type PlaceKind string

const (
	// Circle is a circle on the sphere around a point.
	Circle PlaceKind = "circle"
	// InBox is an area between two meridians and two parallels.
	InBox PlaceKind = "box"
	// AtStation is one weather station.
	AtStation PlaceKind = "station"
)

// Place is the insured place. A circle has a centre and a radius, a box has four borders in
// degrees, and a station has a name.
type Place struct {
	Kind      PlaceKind `json:"kind"`
	Latitude  float64   `json:"latitude,omitzero"`
	Longitude float64   `json:"longitude,omitzero"`
	RadiusKM  float64   `json:"radius_km,omitzero"`
	Borders
	Station string `json:"station,omitzero"`
}

// Borders are the meridians and parallels around a box in degrees; they belong to it. A
// box across the antimeridian has West above East; one of every longitude reaches from
// -180 to 180.
type Borders struct {
	West  float64 `json:"west,omitzero"`
	South float64 `json:"south,omitzero"`
	East  float64 `json:"east,omitzero"`
	North float64 `json:"north,omitzero"`
}

// MarshalJSON calls MarshalJSONTo, for other encoders.
func (p Place) MarshalJSON() ([]byte, error) { return json.Marshal(p) }

// MarshalJSONTo writes the members of the kind: a circle on the equator has a latitude
// of 0, not none.
func (p Place) MarshalJSONTo(out *jsontext.Encoder) error {
	switch p.Kind {
	case Circle:
		return json.MarshalEncode(out, struct {
			Kind      PlaceKind `json:"kind"`
			Latitude  float64   `json:"latitude"`
			Longitude float64   `json:"longitude"`
			RadiusKM  float64   `json:"radius_km"`
		}{p.Kind, p.Latitude, p.Longitude, p.RadiusKM})
	case InBox:
		return json.MarshalEncode(out, struct {
			Kind  PlaceKind `json:"kind"`
			West  float64   `json:"west"`
			South float64   `json:"south"`
			East  float64   `json:"east"`
			North float64   `json:"north"`
		}{p.Kind, p.West, p.South, p.East, p.North})
	case AtStation:
	}
	type bare Place
	return json.MarshalEncode(out, bare(p))
}

// Center returns the circle's centre, or the middle of the box.
func (p Place) Center() hazard.Point {
	if p.Kind == InBox {
		return p.Box().Center()
	}
	return hazard.Point{Latitude: p.Latitude, Longitude: p.Longitude}
}

// Box returns the box between the borders.
func (b Borders) Box() hazard.Box {
	box := hazard.Box{West: b.West, South: b.South, East: b.East, North: b.North}
	if box.East < box.West {
		box.East += 360
	}
	return box
}

// DistanceKM returns the distance in kilometres of a point from the place, 0 inside of it.
// The place must be a circle or a box.
func (p Place) DistanceKM(from hazard.Point) float64 {
	if p.Kind == InBox {
		return p.Box().Distance(from)
	}
	return math.Max(0, hazard.Distance(p.Center(), from)-p.RadiusKM)
}

// maxRadiusKM is half the circumference of the earth, the largest possible radius.
const maxRadiusKM = hazard.EarthRadiusKM * math.Pi

func (p Place) validate() error {
	switch {
	case p.Kind == AtStation && p.Station == "":
		return errors.New("the place needs a station")
	case p.Kind == AtStation:
		return nil
	case p.Kind == InBox:
		return p.Borders.validate()
	case p.Kind != Circle:
		return fmt.Errorf("place %q is none of %s, %s, %s", p.Kind, Circle, InBox, AtStation)
	case !(math.Abs(p.Latitude) <= 90):
		return fmt.Errorf("latitude %g is not between -90 and 90", p.Latitude)
	case !(math.Abs(p.Longitude) <= 180):
		return fmt.Errorf("longitude %g is not between -180 and 180", p.Longitude)
	case !(p.RadiusKM > 0), !(p.RadiusKM <= maxRadiusKM):
		return fmt.Errorf("radius %g km is not above 0 and at most half the earth's circumference", p.RadiusKM)
	default:
		return nil
	}
}

func (b Borders) validate() error {
	for _, border := range []struct {
		name         string
		degrees, end float64
	}{{"west", b.West, 180}, {"south", b.South, 90}, {"east", b.East, 180}, {"north", b.North, 90}} {
		switch inside := math.Abs(border.degrees) <= border.end; {
		case inside:
		case border.end == 90:
			return fmt.Errorf("%s %g is not between -90 and 90: a box ends at a pole", border.name, border.degrees)
		default:
			return fmt.Errorf("%s %g is not between -180 and 180: a box across the antimeridian has west above east", border.name, border.degrees)
		}
	}
	switch {
	case b.South >= b.North:
		return fmt.Errorf("south %g is not below north %g", b.South, b.North)
	case b.Box().West == b.Box().East:
		return fmt.Errorf("west %g and east %g are the same meridian: use -180 and 180 for every longitude", b.West, b.East)
	}
	return nil
}
