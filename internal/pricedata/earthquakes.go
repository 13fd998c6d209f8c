package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"parapet/model/hazard"
)

// The first and last year of the earthquakes, both included, and the first year in which
// the list of magnitude 5 and above is complete.
const (
	firstYear  = 1965
	lastYear   = 2022
	m5ListFrom = 2013
)

// quake is a row of one of the three lists; numbers keep the agency's digits.
type quake struct {
	occurredAt                 time.Time
	latitude, longitude, depth string
	magnitude, id, kind        string
	location                   hazard.Point
	magnitudeValue             float64
}

// convertQuakes merges the three lists, earthquakes only: magnitude 6 and above from the
// list since 1900; 5.5 to 5.99 from the old list to 2012 and from the list of magnitude 5
// and above since 2013. It omits old rows that repeat a larger event and old rows at
// nuclear test sites.
func convertQuakes(f sourceFolder) ([]byte, error) {
	six, err := readUSGS(f, "usgs-m6-1900-2023.csv")
	if err != nil {
		return nil, err
	}
	five, err := readUSGS(f, "usgs-m5-2013-2023.csv")
	if err != nil {
		return nil, err
	}
	old, err := readOldList(f, "significant-earthquakes-1965-2016.csv")
	if err != nil {
		return nil, err
	}
	return writeQuakes(mergeQuakes(old, six, five)), nil
}

func mergeQuakes(old, six, five []quake) []quake {
	var merged []quake
	for _, q := range six {
		if q.kind == "earthquake" && q.magnitudeValue >= 6 {
			merged = append(merged, q)
		}
	}
	for _, q := range five {
		if q.kind == "earthquake" && q.magnitudeValue >= 5.5 && q.magnitudeValue < 6 && q.occurredAt.Year() >= m5ListFrom {
			merged = append(merged, q)
		}
	}
	larger := slices.Concat(six, five)
	slices.SortFunc(larger, func(a, b quake) int { return a.occurredAt.Compare(b.occurredAt) })
	for _, q := range old {
		if q.magnitudeValue >= 5.5 && q.magnitudeValue < 6 && q.occurredAt.Year() < m5ListFrom && !q.isRepeated(larger) && !q.isAtTestSite() {
			merged = append(merged, q)
		}
	}
	merged = slices.DeleteFunc(merged, func(q quake) bool { return q.occurredAt.Year() < firstYear || q.occurredAt.Year() > lastYear })
	slices.SortStableFunc(merged, func(a, b quake) int {
		return cmp.Or(a.occurredAt.Compare(b.occurredAt), strings.Compare(a.id, b.id))
	})
	return merged
}

// isRepeated reports whether larger contains an event of any kind within 50 km, one day
// and 0.6 of the magnitude: the same earthquake, measured again. The old list has days
// without hours; midnight represents the day. larger is sorted by time.
func (q quake) isRepeated(larger []quake) bool {
	const day = 24 * time.Hour
	from, _ := slices.BinarySearchFunc(larger, q.occurredAt.Add(-day), func(other quake, at time.Time) int { return other.occurredAt.Compare(at) })
	for _, other := range larger[from:] {
		if other.occurredAt.Sub(q.occurredAt) > day {
			break
		}
		difference := math.Round((other.magnitudeValue-q.magnitudeValue)*1000) / 1000
		if difference > 0 && difference <= 0.6 && hazard.Distance(q.location, other.location) <= 50 {
			return true
		}
	}
	return false
}

// testSites are the places of underground nuclear tests, with the radius in kilometres
// that contains the explosions and no known earthquake.
var testSites = []struct {
	name      string
	latitude  float64
	longitude float64
	radiusKM  float64
}{
	{"Nevada", 37.1, -116.1, 60},
	{"Semipalatinsk", 49.9, 78.6, 60},
	{"Azgir", 47.85, 47.95, 30},
	{"Novaya Zemlya, north", 73.35, 54.8, 30},
	{"Novaya Zemlya, south", 70.8, 53.6, 30},
	{"Lop Nor", 41.6, 88.6, 30},
	{"Mururoa and Fangataufa", -21.95, -138.85, 60},
	{"Amchitka", 51.44, 179.14, 10},
}

func (q quake) isAtTestSite() bool {
	for _, site := range testSites {
		if hazard.Distance(q.location, hazard.Point{Latitude: site.latitude, Longitude: site.longitude}) <= site.radiusKM {
			return true
		}
	}
	return false
}

func writeQuakes(all []quake) []byte {
	var out bytes.Buffer
	out.WriteString("time,latitude,longitude,magnitude,depth_km,id\n")
	for _, q := range all {
		_, _ = fmt.Fprintf(&out, "%s,%s,%s,%s,%s,%s\n", q.occurredAt.Format("2006-01-02T15:04:05.999Z07:00"),
			q.latitude, q.longitude, q.magnitude, q.depth, q.id)
	}
	return out.Bytes()
}

// readUSGS reads the USGS event CSV, which has column names.
func readUSGS(f sourceFolder, name string) ([]quake, error) {
	content, err := f.readFile(name)
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(bytes.NewReader(content)).ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, errors.Join(err, fmt.Errorf("%s cannot be read", name))
	}
	column := make(map[string]int)
	for i, title := range rows[0] {
		column[title] = i
	}
	all := make([]quake, 0, len(rows))
	for _, row := range rows[1:] {
		at, err := time.Parse(time.RFC3339, row[column["time"]])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		q := quake{
			occurredAt: at.UTC(), latitude: row[column["latitude"]], longitude: row[column["longitude"]], depth: row[column["depth"]],
			magnitude: row[column["mag"]], id: row[column["id"]], kind: row[column["type"]],
		}
		if err := q.parseNumbers(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, q)
	}
	return all, nil
}

// readOldList reads the list without depths and ids. It builds an id from day and place:
// neic-19710819-23991N-121913E (thousandths of a degree), with suffix -2, -3 … if a day
// has the same place again.
func readOldList(f sourceFolder, name string) ([]quake, error) {
	content, err := f.readFile(name)
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(bytes.NewReader(content)).ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, errors.Join(err, fmt.Errorf("%s cannot be read", name))
	}
	all, seen := make([]quake, 0, len(rows)), make(map[string]int)
	for _, row := range rows[1:] {
		at, err := time.Parse("01/02/2006", row[0])
		if err != nil {
			at, err = time.Parse(time.RFC3339, row[0])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		q := quake{occurredAt: at.UTC(), latitude: row[1], longitude: row[2], magnitude: row[3], kind: "earthquake"}
		if err := q.parseNumbers(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		q.latitude, q.longitude = formatDegrees(q.location.Latitude), formatDegrees(q.location.Longitude)
		q.id = oldListID(q)
		if seen[q.id]++; seen[q.id] > 1 {
			q.id = fmt.Sprintf("%s-%d", q.id, seen[q.id])
		}
		all = append(all, q)
	}
	return all, nil
}

func (q *quake) parseNumbers() (err error) {
	var faults [3]error
	q.location.Latitude, faults[0] = strconv.ParseFloat(q.latitude, 64)
	q.location.Longitude, faults[1] = strconv.ParseFloat(q.longitude, 64)
	q.magnitudeValue, faults[2] = strconv.ParseFloat(q.magnitude, 64)
	return errors.Join(faults[:]...)
}

// formatDegrees writes degrees rounded to thousandths: the old list has
// 1.8630000000000002.
func formatDegrees(degrees float64) string {
	return strconv.FormatFloat(math.Round(degrees*1000)/1000, 'f', -1, 64)
}

func oldListID(q quake) string {
	vertical, horizontal := "N", "E"
	if q.location.Latitude < 0 {
		vertical = "S"
	}
	if q.location.Longitude < 0 {
		horizontal = "W"
	}
	return fmt.Sprintf("neic-%s-%05.0f%s-%06.0f%s", q.occurredAt.Format("20060102"),
		math.Abs(q.location.Latitude)*1000, vertical, math.Abs(q.location.Longitude)*1000, horizontal)
}
