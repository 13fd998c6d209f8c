package hazard

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// ParseGHCN reads stations from the columns location, date (YYYY-MM-DD), precipitation
// (mm), highest and lowest temperature (°C), wind (m/s) and weather, the last four
// optional. Stations are ordered by name, their days by date. A day without
// any measurement is omitted like every bad row, and returned as a RowError. -9999 and an empty field mean that a value is unknown. The
// error is the reader's; rows read before it are returned too.
func ParseGHCN(r io.Reader) ([]Station, []RowError, error) {
	rows, days := newRowReader(r), make(map[string]map[time.Time]Day)
	for rows.next("location") {
		name, day, err := rows.parseDay()
		if err != nil {
			rows.rejectRow(rows.line, "%s", err)
			continue
		}
		if days[name] == nil {
			days[name] = make(map[time.Time]Day)
		}
		if _, twice := days[name][day.Date]; twice {
			rows.rejectRow(rows.line, "%s has %s twice", name, day.Date.Format(time.DateOnly))
			continue
		}
		days[name][day.Date] = day
	}
	return sortStations(days), rows.rejected, rows.readError()
}

func sortStations(days map[string]map[time.Time]Day) []Station {
	stations := make([]Station, 0, len(days))
	for name, byDate := range days {
		station := Station{Name: name, Days: make([]Day, 0, len(byDate))}
		for _, day := range byDate {
			station.Days = append(station.Days, day)
		}
		slices.SortFunc(station.Days, func(a, b Day) int { return a.Date.Compare(b.Date) })
		stations = append(stations, station)
	}
	slices.SortFunc(stations, func(a, b Station) int { return strings.Compare(a.Name, b.Name) })
	return stations
}

func (r *rowReader) parseDay() (station string, day Day, err error) {
	fields := append(slices.Clone(r.fields), "", "", "")
	if len(r.fields) < 3 || fields[0] == "" {
		return "", Day{}, errors.New("a day has at least a location, a date and its precipitation")
	}
	if day.Date, err = r.parseTime(fields[1], time.DateOnly); err != nil {
		return "", Day{}, err
	}
	const unknown = "-9999"
	precipitation, err := r.parseOptionalDecimal("precipitation", fields[2], unknown)
	if err == nil && precipitation != nil && precipitation.IsNegative() {
		err = fmt.Errorf("precipitation of %s mm is impossible", fields[2])
	}
	if err != nil {
		return "", Day{}, err
	}
	day.PrecipitationMM, day.Line = precipitation, r.line
	if day.HighestC, err = r.parseOptionalDecimal("highest temperature", fields[3], unknown); err != nil {
		return "", Day{}, err
	}
	if day.LowestC, err = r.parseOptionalDecimal("lowest temperature", fields[4], unknown); err != nil {
		return "", Day{}, err
	}
	if day.WindMS, err = r.parseOptionalDecimal("wind", fields[5], unknown); err != nil {
		return "", Day{}, err
	}
	if day.PrecipitationMM == nil && day.HighestC == nil && day.LowestC == nil && day.WindMS == nil {
		return "", Day{}, errors.New("the day has no measurement")
	}
	return r.internString(fields[0]), day, nil
}
