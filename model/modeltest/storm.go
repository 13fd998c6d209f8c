package modeltest

import (
	"fmt"

	"parapet/model/hazard"
)

// SmallBookName is the second database of a book of storms: see model/book_storm_test.go.
const SmallBookName = "small"

// StormCity is a city of a book of storms with a known number of policies: all that an
// earthquake at its centre pays.
type StormCity struct {
	Name   string
	Centre hazard.Point
}

// StormCities are these cities. The first has a tenth of the policies of each other one.
var StormCities = [4]StormCity{
	{"Wellington", hazard.Point{Latitude: -41.29, Longitude: 174.78}},
	{"Manila", hazard.Point{Latitude: 14.60, Longitude: 120.98}},
	{"Istanbul", hazard.Point{Latitude: 41.01, Longitude: 28.98}},
	{"Lima", hazard.Point{Latitude: -12.05, Longitude: -77.04}},
}

// StormPartners returns the partners of a book of storms, the largest first.
func StormPartners() []string {
	slugs := []string{"acme", "globex"}
	for i := len(slugs); i < 20; i++ {
		slugs = append(slugs, fmt.Sprintf("insurer-%02d", i+1))
	}
	return slugs
}
