package pricing

import (
	"fmt"
	"time"

	"parapet/model/hazard"
	"parapet/model/trigger"
)

// wholeYear is the shortest term that is priced on the whole calendar year.
const wholeYear = 365 * 24 * time.Hour

// season is the part of the year a shorter cover is priced on, in whole UTC
// days; nil is the whole year. A winter's cover must not be priced on summers.
type season struct{ from, to time.Time }

// seasonOf is the season of a term that starts at start, nil for a year or more.
func seasonOf(start time.Time, term string) (*season, error) {
	end, err := trigger.AddDuration(start, term)
	if err != nil {
		return nil, fmt.Errorf("term: %w", err)
	}
	if end.Sub(start) >= wholeYear {
		return nil, nil //nolint:nilnil // no season is the whole year, and says so in the basis
	}
	s := &season{from: midnight(start), to: midnight(end)}
	if !s.to.After(s.from) {
		s.to = s.from.AddDate(0, 0, 1)
	}
	return s, nil
}

func midnight(t time.Time) time.Time {
	year, month, day := t.UTC().Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// contains tells whether the month and day of t lie in the season, which may
// run over new year.
func (s *season) contains(t time.Time) bool {
	if s == nil {
		return true
	}
	from, to, day := monthDay(s.from), monthDay(s.to), monthDay(t.UTC())
	if from < to {
		return from <= day && day < to
	}
	return from <= day || day < to
}

// monthDay orders the days of a year: 0931 never exists, and needs not to.
func monthDay(t time.Time) int { return int(t.Month())*100 + t.Day() }

// public is the season as the basis shows it.
func (s *season) public() *Season {
	if s == nil {
		return nil
	}
	return &Season{From: s.from.Format("01-02"), To: s.to.Format("01-02")}
}

// history is the whole time of a dataset: its calendar years.
func history(data hazard.Dataset) trigger.Period {
	return trigger.Period{From: newYear(data.FirstYear), To: newYear(data.LastYear + 1)}
}

// covers are the as-if covers of a dataset: its whole time, or for a season one a
// year, each from the season's first day. A season over new year begins one year
// earlier, so that the first January is judged too.
func (s *season) covers(data hazard.Dataset) []trigger.Period {
	if s == nil {
		return []trigger.Period{history(data)}
	}
	var periods []trigger.Period
	over := s.to.Year() - s.from.Year()
	for year := data.FirstYear - over; year <= data.LastYear; year++ {
		periods = append(periods, trigger.Period{
			From: time.Date(year, s.from.Month(), s.from.Day(), 0, 0, 0, 0, time.UTC),
			To:   time.Date(year+over, s.to.Month(), s.to.Day(), 0, 0, 0, 0, time.UTC),
		})
	}
	return periods
}

func newYear(year int) time.Time { return time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC) }
