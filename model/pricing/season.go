package pricing

import (
	"fmt"
	"math/big"
	"time"

	"parapet/model/hazard"
	"parapet/model/trigger"
)

// minimumWholeYear is the shortest term that is priced on the whole calendar year.
const minimumWholeYear = 365 * 24 * time.Hour

// LongestTerm is the longest term that is priced: the figures are those of one
// year, and a longer term would get its later years for nothing.
const LongestTerm = "P366D"

// seasonWindow is the part of the year a shorter cover is priced on: the UTC dates from its
// start's to its end's, which is not in it; nil is the whole year. A winter's cover
// must not be priced on summers. Terms are whole days, so a cover within another has
// no date that the other lacks.
type seasonWindow struct {
	from, to        time.Time
	newYearsCrossed int // 1 when it runs over new year
}

// seasonForTerm is the season of a term that starts at start, nil for a year or more.
func seasonForTerm(start time.Time, term string) (*seasonWindow, error) {
	end, err := trigger.AddDuration(start, term)
	if err != nil {
		return nil, fmt.Errorf("term: %w", err)
	}
	if end.Sub(start) >= minimumWholeYear {
		return nil, nil //nolint:nilnil // no season is the whole year, and says so in the basis
	}
	s := &seasonWindow{from: utcMidnight(start), to: utcMidnight(end)}
	s.newYearsCrossed = s.to.Year() - s.from.Year()
	return s, nil
}

func utcMidnight(t time.Time) time.Time {
	year, month, day := t.UTC().Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// yearShare is the part of a year that the season lasts, at most 1.
func (s *seasonWindow) yearShare() *big.Rat {
	if s == nil {
		return big.NewRat(1, 1)
	}
	days := int64(s.to.Sub(s.from) / (24 * time.Hour))
	return big.NewRat(min(days, 365), 365)
}

// contains tells whether the month and day of t lie in the season, which may
// run over new year.
func (s *seasonWindow) contains(t time.Time) bool {
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

// toBasis is the season as the basis shows it.
func (s *seasonWindow) toBasis() *Season {
	if s == nil {
		return nil
	}
	return &Season{From: s.from.Format("01-02"), To: s.to.Format("01-02")}
}

// parse is a season as a basis shows it.
func (s *Season) parse() (*seasonWindow, error) {
	if s == nil {
		return nil, nil //nolint:nilnil // no season is the whole year
	}
	from, errFrom := time.Parse("2006-01-02", "2000-"+s.From)
	to, errTo := time.Parse("2006-01-02", "2000-"+s.To)
	if errFrom != nil || errTo != nil {
		return nil, fmt.Errorf("season %s to %s", s.From, s.To)
	}
	again := &seasonWindow{from: from, to: to}
	if !to.After(from) {
		again.newYearsCrossed = 1
	}
	return again, nil
}

// entireHistory is the period of a whole year's cover: all of history, nothing split at
// new year.
var entireHistory = trigger.Period{From: startOfYear(hazard.EarliestYear), To: startOfYear(9999)}

var entireHistoryPeriods = []trigger.Period{entireHistory}

// periodsBetween are the season's periods of the years in which something lasted from
// first to last. A cover of a whole year has one period, which never ends.
func (s *seasonWindow) periodsBetween(first, last time.Time) []trigger.Period {
	if s == nil {
		return entireHistoryPeriods
	}
	var periods []trigger.Period
	for year := first.Year() - s.newYearsCrossed; year <= last.Year(); year++ {
		p := s.periodOf(year)
		if p.From.After(last) || !p.To.After(first) {
			continue
		}
		periods = append(periods, p)
	}
	return periods
}

// periodsOf are those in which a run of a storm's track lasted.
func (s *seasonWindow) periodsOf(run hazard.TrackPart) []trigger.Period {
	return s.periodsBetween(run.Fixes[0].At, run.Fixes[len(run.Fixes)-1].At)
}

// periodOf is the period that begins in a year.
func (s *seasonWindow) periodOf(year int) trigger.Period {
	return trigger.Period{
		From: time.Date(year, s.from.Month(), s.from.Day(), 0, 0, 0, 0, time.UTC),
		To:   time.Date(year+s.newYearsCrossed, s.to.Month(), s.to.Day(), 0, 0, 0, 0, time.UTC),
	}
}

// waiting is how long after its start a period begins to pay at a station. A cover of a
// season waits as a live one does; a whole year's cover has all of history.
func (s *seasonWindow) waiting(c *trigger.Cover) (wait trigger.Duration) {
	if s != nil {
		wait, _ = trigger.ParseDuration(c.WaitingPeriod) // no waiting period is no duration
	}
	return wait
}

// span is a period of the season as a cover counts the days of a station in it.
type span struct {
	trigger.Period
	payableFrom time.Time // the end of the waiting period
	first, last time.Time // the days between which a month or dekad must lie: midnight UTC
}

// spans are the periods of a season in order of time, one of each year from a year on.
type spans struct {
	season *seasonWindow
	year   int
	all    []span
}

// spans are those from first to last.
func (s *seasonWindow) spans(c *trigger.Cover, first, last time.Time) spans {
	periods := s.periodsBetween(first, last)
	wait := s.waiting(c)
	all := make([]span, len(periods))
	for i, p := range periods {
		payable := wait.After(p.From)
		all[i] = span{p, payable, utcMidnight(payable), utcMidnight(p.To).AddDate(0, 0, -1)}
	}
	if len(all) == 0 {
		return spans{season: s}
	}
	return spans{s, all[0].From.Year(), all}
}

// between are the spans in which something happened that lasted from first until next.
func (s *spans) between(first, next time.Time) []span {
	if s.season == nil {
		return s.all
	}
	from := max(0, first.Year()-s.season.newYearsCrossed-s.year)
	to := min(len(s.all), next.Year()-s.year+1)
	for from < to && !s.all[from].To.After(first) {
		from++
	}
	for from < to && s.all[to-1].From.After(next) {
		to--
	}
	return s.all[min(from, to):max(0, to)]
}

func startOfYear(year int) time.Time { return time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC) }
