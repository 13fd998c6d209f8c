package receipt

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/wire"
)

// Data is what a receipt is verified with in addition to its own members. Without a part
// of it, what follows from that part is not checked.
type Data struct {
	History *hazard.History
	// ParseRecord reads a source's record of one observation. It fails for a source whose
	// format is unknown.
	ParseRecord func(source string, record []byte) ([]wire.ObservationInput, error)
}

// verifyRecords checks that the values of a reading are those of the source's records.
func (c *claimCheck) verifyRecords(at string, reading *Reading, facts *Facts) {
	if len(reading.Records) > 0 && c.data.ParseRecord == nil {
		c.notChecked(at+"/records", "it needs the formats of the sources")
		return
	}
	for i := range reading.Records {
		record, here := &reading.Records[i], fmt.Sprintf("%s/records/%d", at, i)
		place := slices.Index(facts.Observations, record.ObservationVersion)
		values, err := c.readRecord(facts.Source, record)
		c.requireTrue(here+"/id", place >= 0, record.ID, "an observation of the reading")
		c.requireTrue(here+"/record_base64", err == nil, "a record", fmt.Sprint(err))
		if place < 0 || err != nil {
			continue
		}
		if record.ReplayedFrom != nil {
			c.compare(here+"/replayed_from", record.ReplayedFrom, values.OccurredAt)
		}
		c.compareRecord(at+"/facts", facts, place, values, record.ReplayedFrom != nil)
	}
}

// readRecord returns the values that a record has.
func (c *claimCheck) readRecord(source string, record *SourceRecord) (*wire.ObservationInput, error) {
	text, err := base64.StdEncoding.Strict().DecodeString(record.Record)
	if err != nil {
		return nil, err
	}
	if sum, err := hex.DecodeString(record.FileSHA256); err != nil || len(sum) != sha256.Size {
		return nil, errors.New("its file_sha256 is no SHA-256 in hexadecimal")
	}
	read, err := c.data.ParseRecord(source, text)
	if err == nil && len(read) != 1 {
		err = fmt.Errorf("it has the values of %d observations", len(read))
	}
	if err != nil {
		return nil, err
	}
	return &read[0], nil
}

// compareRecord compares the values of the observation at a place with those of its
// record. The time of a replayed one is not the record's. Of several reports of one
// earthquake the best one counts, so none of them is compared alone.
func (c *claimCheck) compareRecord(at string, facts *Facts, place int, in *wire.ObservationInput, replayed bool) {
	days := facts.days()
	switch {
	case facts.Earthquake != nil && len(facts.Observations) > 1:
	case facts.Earthquake != nil && in.Location != nil:
		c.compareEarthquake(at, facts, in, replayed)
	case facts.Storm != nil && place < len(facts.Storm.Fixes) && in.Location != nil:
		c.compareFix(fmt.Sprintf("%s/storm/fixes/%d", at, place), &facts.Storm.Fixes[place], in, replayed)
	case place < len(days):
		c.compareDay(at+"/station"+days[place].pointer, days[place].Day, in, replayed)
	default:
		c.requireTrue(at, false, "readings", "a record of another kind")
	}
}

func (c *claimCheck) compareEarthquake(at string, facts *Facts, in *wire.ObservationInput, replayed bool) {
	computed := Earthquake{in.OccurredAt, *in.Location, decimal.Zero, measure(in, "depth")}
	if magnitude := measure(in, "magnitude"); magnitude != nil {
		computed.Magnitude = *magnitude
	}
	if replayed {
		computed.OccurredAt = facts.Earthquake.OccurredAt
	}
	c.compare(at+"/earthquake", facts.Earthquake, computed)
	c.compare(at+"/stage", facts.Stage, in.Stage)
	c.compare(at+"/unit", facts.Unit, in.Measures["magnitude"].Unit)
}

func (c *claimCheck) compareFix(at string, fix *Fix, in *wire.ObservationInput, replayed bool) {
	computed := Fix{in.OccurredAt, *in.Location, measure(in, "wind"), measure(in, "pressure")}
	if replayed {
		computed.At = fix.At
	}
	c.compare(at, fix, computed)
}

func (c *claimCheck) compareDay(at string, day Day, in *wire.ObservationInput, replayed bool) {
	computed := Day{
		formatDay(in.OccurredAt), in.Stage == trigger.Preliminary,
		measure(in, "precipitation"), measure(in, "temperature_max"), measure(in, "temperature_min"), measure(in, "wind"),
	}
	if replayed {
		computed.Date = day.Date
	}
	c.compare(at, day, computed)
}

func measure(in *wire.ObservationInput, name string) *decimal.Decimal {
	value, err := decimal.NewFromString(in.Measures[name].Value)
	if err != nil {
		return nil
	}
	return &value
}

// placedDay is a day of the facts with its pointer below the station.
type placedDay struct {
	Day

	pointer string
}

// days returns the days of a station in the order of their observations: by date.
func (f *Facts) days() []placedDay {
	if f.Station == nil {
		return nil
	}
	var all []placedDay
	for i, day := range f.Station.Days {
		all = append(all, placedDay{day, fmt.Sprintf("/days/%d", i)})
	}
	for i, day := range f.Station.DaysAfter {
		all = append(all, placedDay{day, fmt.Sprintf("/days_after/%d", i)})
	}
	return all
}
