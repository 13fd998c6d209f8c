package feed

import (
	"bytes"
	"io"
	"time"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/wire"
)

// ParseNHC reads storm tracks in the NHC's HURDAT2 format; the rows of one storm stay
// together. It skips a fix with unknown wind because windstorm cover needs the wind
// speed.
func ParseNHC(r io.Reader) (Batch, error) {
	var lines fileLines
	storms, refused, err := hazard.ParseHURDAT2(io.TeeReader(r, &lines))
	batch := Batch{Errors: refused, FinalTracks: make(map[string]int)}
	for _, storm := range storms {
		read := 0
		for _, fix := range storm.Fixes {
			if fix.WindKN == nil {
				batch.Skipped++
				continue
			}
			batch.Observations = append(batch.Observations, fixObservation(storm.ID, fix, lines.record(storm.Line, fix.Line)))
			read++
		}
		if storm.Complete && read == len(storm.Fixes) {
			batch.FinalTracks[storm.ID] = read
		}
	}
	return batch, err
}

func fixObservation(storm string, fix hazard.Fix, record *hazard.Record) wire.ObservationInput {
	measures := map[string]wire.Measure{}
	addMeasure(measures, "wind", fix.WindKN, "kn")
	addMeasure(measures, "pressure", fix.PressureHPA, "hPa")
	where := fix.Where
	return wire.ObservationInput{
		Source: SourceNHC, SourceEventID: storm, Kind: hazard.StormFix, OccurredAt: fix.At,
		Stage: trigger.Final, Location: &where, Measures: measures, Record: record,
	}
}

// ParseGHCN reads daily station records. A day is a UTC day, dated by its midnight.
func ParseGHCN(r io.Reader) (Batch, error) {
	var lines fileLines
	stations, refused, err := hazard.ParseGHCN(io.TeeReader(r, &lines))
	batch := Batch{Errors: refused}
	for _, station := range stations {
		for _, day := range station.Days {
			batch.Observations = append(batch.Observations, dayObservation(station.Name, day, lines.record(day.Line)))
		}
	}
	return batch, err
}

func dayObservation(station string, day hazard.Day, record *hazard.Record) wire.ObservationInput {
	measures := map[string]wire.Measure{}
	addMeasure(measures, "precipitation", day.PrecipitationMM, "mm")
	addMeasure(measures, "temperature_max", day.HighestC, "degC")
	addMeasure(measures, "temperature_min", day.LowestC, "degC")
	addMeasure(measures, "wind", day.WindMS, "m/s")
	return wire.ObservationInput{
		Source: SourceGHCN, SourceEventID: dayID(station, day.Date), Kind: hazard.StationDay,
		OccurredAt: day.Date, Stage: trigger.Final, Station: station, Measures: measures, Record: record,
	}
}

// fileLines is the text of a file, from which records are cut.
type fileLines struct {
	bytes.Buffer
	lines [][]byte
}

// record returns lines of the file, counted from 1, as a record. The file is read whole.
func (l *fileLines) record(numbers ...int) *hazard.Record {
	if l.lines == nil {
		l.lines = bytes.Split(l.Bytes(), []byte("\n"))
	}
	record := new(hazard.Record)
	for _, number := range numbers {
		record.Text = append(append(record.Text, bytes.TrimRight(l.lines[number-1], "\r")...), '\n')
	}
	return record
}

// dayID identifies one day of a station: "Seattle/2012-01-02".
func dayID(station string, day time.Time) string { return station + "/" + day.Format(time.DateOnly) }
