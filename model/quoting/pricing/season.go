package pricing

import (
	"fmt"
	"math/big"
	"time"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
)

// minimumWholeYear is the shortest term that is priced on the whole calendar year.
const minimumWholeYear = 365 * 24 * time.Hour

// LongestTerm is the longest priced term: the figures cover one year, and the later
// years of a longer term would be free.
const LongestTerm = "P366D"

// seasonWindow is the part of the year that prices a shorter cover: the UTC dates from
// its start's to its end's, end excluded; nil is the whole year. A cover in winter must
// not be priced on summers. Terms are whole days, so the dates of a cover within
// another are a subset of the other's.
type seasonWindow struct {
	from, to        time.Time
	newYearsCrossed int // 1 if it crosses new year
}

// seasonForTerm returns the season of a term that starts at start, nil for a year or
// more.
func seasonForTerm(start time.Time, term string) (*seasonWindow, error) {
	end, err := trigger.AddDuration(start, term)
	if err != nil {
		return nil, fmt.Errorf("term: %w", err)
	}
	if end.Sub(start) >= minimumWholeYear {
		return nil, nil //nolint:nilnil // no season means the whole year, also in the basis
	}
	s := &seasonWindow{from: utcMidnight(start), to: utcMidnight(end)}
	s.newYearsCrossed = s.to.Year() - s.from.Year()
	return s, nil
}

func utcMidnight(t time.Time) time.Time {
	year, month, day := t.UTC().Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// yearShare returns the season's part of a year, at most 1.
func (s *seasonWindow) yearShare() *big.Rat {
	if s == nil {
		return big.NewRat(1, 1)
	}
	days := int64(s.to.Sub(s.from) / (24 * time.Hour))
	return big.NewRat(min(days, 365), 365)
}

// contains reports whether the month and day of t lie in the season, which may cross
// new year.
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

// monthDay returns a number that orders the days of a year: month × 100 + day.
func monthDay(t time.Time) int { return int(t.Month())*100 + t.Day() }

// IsPricedFor reports whether the price holds for cover that starts at a time: it depends on
// the date, unless the term is a year.
func (b *Basis) IsPricedFor(start time.Time) bool {
	return b.Season == nil || b.Season.From == start.UTC().Format("01-02")
}

// toBasis returns the season as the basis shows it.
func (s *seasonWindow) toBasis() *Season {
	if s == nil {
		return nil
	}
	return &Season{From: s.from.Format("01-02"), To: s.to.Format("01-02")}
}

// parse parses the season of a basis.
func (s *Season) parse() (*seasonWindow, error) {
	if s == nil {
		return nil, nil //nolint:nilnil // no season means the whole year
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

// entireHistory is the period of a whole year's cover: all of history, not split at new
// year.
var entireHistory = trigger.Period{From: startOfYear(hazard.EarliestYear), To: startOfYear(9999)}

var entireHistoryPeriods = []trigger.Period{entireHistory}

// periodsBetween returns the season's periods of the years from first to last. A cover
// of a whole year has one period, which never ends.
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

// periodsOf returns the periods that overlap a part of a storm's track.
func (s *seasonWindow) periodsOf(run hazard.TrackPart) []trigger.Period {
	return s.periodsBetween(run.Fixes[0].At, run.Fixes[len(run.Fixes)-1].At)
}

// periodOf returns the period that begins in a year.
func (s *seasonWindow) periodOf(year int) trigger.Period {
	return trigger.Period{
		From: time.Date(year, s.from.Month(), s.from.Day(), 0, 0, 0, 0, time.UTC),
		To:   time.Date(year+s.newYearsCrossed, s.to.Month(), s.to.Day(), 0, 0, 0, 0, time.UTC),
	}
}

// waiting returns how long after its start a period begins to pay at a station. A cover
// of a season waits like a live one; a whole year's cover uses all of history without
// waiting.
func (s *seasonWindow) waiting(c *trigger.Cover) (wait trigger.Duration) {
	if s != nil {
		wait, _ = trigger.ParseDuration(c.WaitingPeriod) // an empty waiting period is zero
	}
	return wait
}

// span is a period of the season with the station days that a cover counts in it.
type span struct {
	trigger.Period
	payableFrom time.Time // the end of the waiting period
	first, last time.Time // a month or dekad must lie between these days: midnight UTC
}

// spans are the periods of a season in order of time, one per year, from a first year
// on.
type spans struct {
	season *seasonWindow
	year   int
	all    []span
}

// spans returns the periods from first to last.
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

// between returns the spans that overlap the time from first until next.
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
