package hazard

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"
)

// DataSet names a part of the price history.
type DataSet string

// The data sets, by the form of their events.
const (
	EarthquakeSet DataSet = "earthquakes"
	StormSet      DataSet = "storms"
	StationDaySet DataSet = "station_days"
)

// DataSets returns all data sets.
func DataSets() []DataSet { return []DataSet{EarthquakeSet, StormSet, StationDaySet} }

// Edition is one file of price history: lines "# key: value" that describe it, then the
// rows that ParseQuakes, ParseHURDAT2 or ParseGHCN read. Its digest covers all bytes.
type Edition struct {
	DataSet DataSet
	Dataset
	Rows int // earthquakes, fixes of storms, or days at stations

	quakes   []Quake
	storms   []Storm
	stations []Station
}

// The keys of the lines that describe an edition.
const (
	keyDataSet   = "data_set"
	keyName      = "name"
	keyFirstYear = "first_year"
	keyLastYear  = "last_year"
	keyMagnitude = "minimum_magnitude"
)

// minimumEditionYears is the minimum number of years of earthquakes and storms. Stations
// have MinimumStationYears.
const minimumEditionYears = 20

// ParseEdition reads a file of price history, in which every row must be good. asOf is the
// present: years that have not ended count in no price of earthquakes or storms. The faults
// are in order of their lines; line 1 stands for what is missing.
func ParseEdition(file []byte, asOf time.Time) (*Edition, []RowError) {
	digest := sha256.Sum256(file)
	p := editionParser{edition: &Edition{Dataset: Dataset{Digest: formatDigest(digest[:])}}}
	rows := p.readHeader(file)
	p.checkHeader(asOf)
	if p.edition.DataSet != "" {
		p.readRows(bytes.NewReader(rows))
	}
	slices.SortStableFunc(p.faults, func(a, b RowError) int { return cmp.Compare(a.Line, b.Line) })
	return p.edition, p.faults
}

type editionParser struct {
	edition *Edition
	lines   map[string]int // line of each key
	faults  []RowError
}

func (p *editionParser) fault(line int, format string, args ...any) {
	p.faults = append(p.faults, RowError{Line: max(line, 1), Reason: fmt.Sprintf(format, args...)})
}

// readHeader reads the describing lines, and returns the file with blank lines in their
// place, so that the rows keep their numbers.
func (p *editionParser) readHeader(file []byte) []byte {
	p.lines = make(map[string]int)
	rest, line := bytes.TrimPrefix(file, []byte("\ufeff")), 0
	for bytes.HasPrefix(rest, []byte("#")) {
		text, after, _ := bytes.Cut(rest, []byte("\n"))
		rest = after
		line++
		key, value, ok := strings.Cut(strings.TrimPrefix(string(text), "#"), ":")
		key = strings.TrimSpace(key)
		if !ok || p.lines[key] > 0 {
			p.fault(line, "write each line as \"# key: value\", and each key once")
			continue
		}
		p.lines[key] = line
		p.readKey(key, strings.TrimSpace(value))
	}
	return append(bytes.Repeat([]byte("\n"), line), rest...)
}

func (p *editionParser) readKey(key, value string) {
	e, line := p.edition, p.lines[key]
	switch key {
	case keyDataSet:
		if e.DataSet = DataSet(value); !slices.Contains(DataSets(), e.DataSet) {
			e.DataSet = ""
			p.fault(line, "data_set is earthquakes, storms or station_days, not %q", value)
		}
	case keyName:
		if e.Name = value; value == "" || len(value) > 128 || strings.ToValidUTF8(value, "") != value || strings.ContainsRune(value, 0) {
			p.fault(line, "name has 1 to 128 bytes: it is shown in the basis of quotes")
		}
	case keyFirstYear:
		e.FirstYear = p.readYear(key, value)
	case keyLastYear:
		e.LastYear = p.readYear(key, value)
	case keyMagnitude:
		var err error
		if e.MinimumMagnitude, err = decimal.NewFromString(value); err != nil || len(value) > 8 || !e.MinimumMagnitude.IsPositive() {
			p.fault(line, "minimum_magnitude is a positive decimal number such as 5.5")
		}
	default:
		p.fault(line, "there is no key %q; use data_set, name, first_year, last_year and, for earthquakes, minimum_magnitude", key)
	}
}

func (p *editionParser) readYear(key, value string) int {
	year, err := strconv.Atoi(value)
	if err != nil || year < EarliestYear || year > 9999 {
		p.fault(p.lines[key], "%s is a year from %d", key, EarliestYear)
	}
	return year
}

func (p *editionParser) checkHeader(asOf time.Time) {
	e := p.edition
	required := []string{keyDataSet, keyName, keyFirstYear, keyLastYear}
	if e.DataSet == EarthquakeSet {
		required = append(required, keyMagnitude)
	}
	for _, key := range required {
		if p.lines[key] == 0 {
			p.fault(1, "the line \"# %s: …\" is missing", key)
		}
	}
	if len(p.faults) > 0 {
		return
	}
	switch last := p.lines[keyLastYear]; {
	case e.DataSet != EarthquakeSet && p.lines[keyMagnitude] > 0:
		p.fault(p.lines[keyMagnitude], "only earthquakes have a minimum_magnitude")
	case e.DataSet != StationDaySet && e.LastYear >= asOf.Year():
		p.fault(last, "last_year must have ended: a year without its last events lowers every price")
	case e.DataSet != StationDaySet && e.Years() < minimumEditionYears:
		p.fault(last, "give at least %d years; these are %d", minimumEditionYears, e.Years())
	case e.LastYear < e.FirstYear:
		p.fault(last, "last_year is before first_year")
	}
}

// readRows reads the rows and checks that they lie in the years of the edition.
func (p *editionParser) readRows(r io.Reader) {
	e, refused, err := p.edition, []RowError(nil), error(nil)
	switch e.DataSet {
	case EarthquakeSet:
		e.Source = USGS
		e.quakes, refused, err = ParseQuakes(r)
		e.Rows = len(e.quakes)
		for _, q := range e.quakes {
			p.checkYear(q.Line, q.At)
			if q.Magnitude.LessThan(e.MinimumMagnitude) {
				p.fault(q.Line, "the magnitude %s is below minimum_magnitude", q.Magnitude)
			}
		}
	case StormSet:
		e.Source, e.Basin = NHC, Atlantic()
		e.storms, refused, err = ParseHURDAT2(r)
		for _, s := range e.storms {
			p.checkYear(s.Line, s.Fixes[0].At)
			e.Rows += len(s.Fixes)
			if BasinCode(s.ID) != e.Basin.Code {
				p.fault(s.Line, "storm %s is not of the Atlantic (%s), the only basin with prices", s.ID, e.Basin.Code)
			}
		}
	case StationDaySet:
		e.Source = GHCN
		e.stations, refused, err = ParseGHCN(r)
		for _, s := range e.stations {
			e.Rows += len(s.Days)
			for _, day := range s.Days {
				p.checkYear(day.Line, day.Date)
			}
		}
	}
	p.faults = append(p.faults, refused...)
	switch {
	case err != nil:
		p.fault(1, "%s", err)
	case e.Rows == 0 && len(p.faults) == 0:
		p.fault(1, "the file has no rows")
	}
}

func (p *editionParser) checkYear(line int, at time.Time) {
	if year := at.Year(); year < p.edition.FirstYear || year > p.edition.LastYear {
		p.fault(line, "the year %d is not in %d to %d", year, p.edition.FirstYear, p.edition.LastYear)
	}
}

// WithEdition returns a history with the data set of an edition in place of its own.
func (h *History) WithEdition(e *Edition) *History {
	records := h.records
	switch e.DataSet {
	case EarthquakeSet:
		records.Quakes, records.QuakeData = e.quakes, e.Dataset
	case StormSet:
		records.Storms, records.StormData, records.PressureData = e.storms, e.Dataset, e.Dataset
		records.PressureData.Name += ", central pressure"
		records.PressureData.FirstYear = max(e.FirstYear, firstPressureYear)
	case StationDaySet:
		records.Stations, records.RainData = e.stations, e.Dataset
	}
	return NewHistory(records)
}

// WithoutStations returns a history without the stations of some names.
func (h *History) WithoutStations(names []string) *History {
	records := h.records
	records.Stations = slices.DeleteFunc(slices.Clone(records.Stations), func(s Station) bool { return slices.Contains(names, s.Name) })
	return NewHistory(records)
}

// Data returns the description of a data set.
func (h *History) Data(set DataSet) Dataset {
	return map[DataSet]Dataset{EarthquakeSet: h.QuakeData(), StormSet: h.StormData(), StationDaySet: h.RainData()}[set]
}

// CountRows returns the number of earthquakes, fixes of storms or days at stations.
func (h *History) CountRows(set DataSet) (count int) {
	switch set {
	case EarthquakeSet:
		return len(h.records.Quakes)
	case StormSet:
		for _, storm := range h.records.Storms {
			count += len(storm.Fixes)
		}
	case StationDaySet:
		for _, station := range h.records.Stations {
			count += len(station.Days)
		}
	}
	return count
}

// formatDigest returns the text of a SHA-256 by which files of history are found.
func formatDigest(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }
