package candidates

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/store"
)

// daysQuery finds the different numbers of days that policies of a definition at a
// station sum. It takes one index probe per different number, independent of the number
// of policies.
const daysQuery = `select s.station, s.definition, d.days from (values %s) as s (station, definition) cross join lateral (
	with recursive each (days) as (
		(select days from policies where station = s.station and definition = s.definition and days is not null and status <> 'archived' order by days limit 1)
		union all
		select (select p.days from policies p where p.station = s.station and p.definition = s.definition and p.days > each.days
			and p.status <> 'archived' order by p.days limit 1) from each where each.days is not null)
	select days from each where days is not null) d`

// stationQuery finds the policies that an index at a station can pay, by the mildest
// threshold of their terms: index bounds what any of their covers can measure. first is
// the first day and next the day after the last. For a spell that is not over, next is
// the first day without data, and only covers that end before that day ends are selected:
// the others wait for more readings.
const stationQuery = `select b.occurrence_id, p.partner, p.currency, p.id
from (values %s) as b (occurrence_id, scope, station, definition, days, index, first, next)
join policies p on p.station = b.station and p.definition = b.definition and p.days = b.days and p.status <> 'archived'
	and (b.scope = '' or p.partner = b.scope) and %s`

// These are the conditions of stationQuery.
const (
	rainEventReachesSQL = "p.threshold <= b.index and p.payable_from < b.next and p.expires_at > b.first"
	coverHasEndedSQL    = rainEventReachesSQL + " and p.expires_at < b.next + interval '1 day'"
	periodReachesSQL    = "p.threshold >= b.index and p.payable_from <= b.first and p.expires_at >= b.next"
	stationValuesSQL    = "(?::uuid, ?, ?, ?, ?::int, ?::numeric, ?::timestamptz, ?::timestamptz)"
)

// definitionAtStation is a definition of occurrences together with a station.
type definitionAtStation struct{ station, definition string }

// findAtStations adds the policies that occurrences at stations may pay to candidates by
// their occurrence.
func findAtStations(ctx context.Context, db bun.IDB, occurrences []occurrence.LoadedOccurrence, found map[uuid.UUID][]Candidate) error {
	counted, err := loadSummedDays(ctx, db, occurrences)
	if err != nil {
		return err
	}
	values := make(map[string][]string)
	args := make(map[string][]any)
	for _, h := range occurrences {
		rain := h.Facts.AtStation
		if rain == nil || len(rain.Days) == 0 && !rain.Ended {
			continue
		}
		condition, next := rainEventReachesSQL, rain.Last.AddDate(0, 0, 1)
		switch {
		case rain.Definition.Calendar() == "" && !rain.Definition.Grows() && !rain.IsOver():
			condition, next = coverHasEndedSQL, rain.NextUnknown()
		case rain.Definition.Calendar() != "":
			if !rain.IsOver() || !rain.HasFinalDays() && !rain.Ended {
				continue
			}
			condition = periodReachesSQL
		}
		for _, days := range counted[definitionAtStation{rain.Station, rain.Definition.String()}] {
			index := rain.Definition.LargestIndex(*rain, days)
			values[condition] = append(values[condition], stationValuesSQL)
			args[condition] = append(args[condition], h.Row.ID, h.Row.Scope, rain.Station, rain.Definition.String(), days, index.String(), rain.First, next)
		}
	}
	for _, condition := range []string{rainEventReachesSQL, coverHasEndedSQL, periodReachesSQL} {
		if len(values[condition]) == 0 {
			continue
		}
		query := fmt.Sprintf(stationQuery, strings.Join(values[condition], ", "), condition)
		if err := readGroups(ctx, db, db.NewRaw(query, args[condition]...), found); err != nil {
			return err
		}
	}
	return nil
}

// loadSummedDays returns the numbers of days that policies sum, by station and
// definition.
func loadSummedDays(ctx context.Context, db bun.IDB, occurrences []occurrence.LoadedOccurrence) (map[definitionAtStation][]int, error) {
	counted := make(map[definitionAtStation][]int)
	var values []string
	var args []any
	for _, h := range occurrences {
		if h.Facts.AtStation == nil {
			continue
		}
		at := definitionAtStation{h.Facts.AtStation.Station, h.Facts.AtStation.Definition.String()}
		if _, known := counted[at]; !known {
			counted[at] = nil
			values, args = append(values, "(?, ?)"), append(args, at.station, at.definition)
		}
	}
	if len(values) == 0 {
		return counted, nil
	}
	var rows []struct {
		Station, Definition string
		Days                int
	}
	if err := db.NewRaw(fmt.Sprintf(daysQuery, strings.Join(values, ", ")), args...).Scan(ctx, &rows); err != nil {
		return nil, store.TranslateError(fmt.Errorf("read numbers of days at stations: %w", err))
	}
	for _, row := range rows {
		at := definitionAtStation{row.Station, row.Definition}
		counted[at] = append(counted[at], row.Days)
	}
	return counted, nil
}
