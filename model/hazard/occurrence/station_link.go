package occurrence

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/store"
)

// stationDefinitionsQuery finds the definitions used by policies at stations. It needs
// one index step per definition, for any number of policies.
const stationDefinitionsQuery = `select s.station, d.definition from unnest(array[?]) as s (station) cross join lateral (
	with recursive each (definition) as (
		(select definition from policies where station = s.station and definition is not null and status <> 'archived' order by definition limit 1)
		union all
		select (select p.definition from policies p where p.station = s.station and p.definition > each.definition
			and p.status <> 'archived' order by p.definition limit 1) from each where each.definition is not null)
	select definition from each where definition is not null) d order by 1, 2`

// linkStations updates the occurrences at the stations whose days changed, for every
// definition used by policies there, and returns those that changed. The caller holds
// the lock of the source and has saved the days.
func (r *ingestion) linkStations(ctx context.Context, source string) ([]uuid.UUID, error) {
	changed := make(map[string]trigger.DayRun)
	for _, row := range r.changed {
		if !row.Kind.IsDaily() {
			continue
		}
		day := row.Day.UTC()
		run, known := changed[*row.Station]
		if !known {
			run = trigger.DayRun{First: day, Last: day}
		}
		changed[*row.Station] = run.Hull(trigger.DayRun{First: day, Last: day})
	}
	if len(changed) == 0 {
		return nil, nil
	}
	var counted []struct{ Station, Definition string }
	if err := r.NewRaw(stationDefinitionsQuery, bun.List(slices.Sorted(maps.Keys(changed)))).Scan(ctx, &counted); err != nil {
		return nil, fmt.Errorf("read definitions at stations: %w", err)
	}
	var touched []uuid.UUID
	for _, c := range counted {
		definition, ok := trigger.ParseDefinition(c.Definition)
		if !ok {
			return nil, fmt.Errorf("definition %q of policies at %s cannot be read", c.Definition, c.Station)
		}
		l := stationLinker{Tx: r.Tx, station: Station{r.scope, source, c.Station}, definition: definition, changedRun: changed[c.Station]}
		ids, err := l.linkDays(ctx)
		if err != nil {
			return nil, fmt.Errorf("link days of %s: %w", c.Station, err)
		}
		touched = append(touched, ids...)
	}
	return touched, nil
}

// stationLinker assigns occurrence ids to the wet spells or calendar periods of one
// station after days changed.
type stationLinker struct {
	*store.Tx

	station    Station
	definition trigger.Definition
	changedRun trigger.DayRun // from the first changed day to the last

	days       StationDays
	known      []*OccurrenceRow // oldest first
	changedIDs []uuid.UUID
}

// linkDays reads the days around the changed ones and saves the resulting occurrences.
func (l *stationLinker) linkDays(ctx context.Context) ([]uuid.UUID, error) {
	found, err := l.findOccurrencesAround(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.lockKnownOccurrences(ctx, found); err != nil {
		return nil, err
	}
	taken := make(map[uuid.UUID]bool)
	for i := range found {
		if err := l.saveOccurrence(ctx, found, i, taken); err != nil {
			return nil, err
		}
	}
	for _, row := range l.known {
		if !taken[row.ID] && row.MergedInto == nil {
			if err := l.markEmpty(ctx, row); err != nil {
				return nil, err
			}
		}
	}
	return l.changedIDs, nil
}

// findOccurrencesAround returns the occurrences that the changed days may affect: those
// that contain one of them, or that one of them separates, joins or ends.
func (l *stationLinker) findOccurrencesAround(ctx context.Context) ([]trigger.StationOccurrence, error) {
	for reach := 2 * daysReadAfter; ; reach *= 2 {
		from, to := l.changedRun.First.AddDate(0, 0, -reach), l.changedRun.Last.AddDate(0, 0, reach)
		var err error
		if l.days, err = l.station.LoadDays(ctx, l, from, to); err != nil {
			return nil, err
		}
		margin := l.definition.DryDays() + 1
		inner := trigger.DayRun{First: from.AddDate(0, 0, margin), Last: to.AddDate(0, 0, -margin)}
		var found []trigger.StationOccurrence
		whole := true
		for _, o := range l.definition.Occurrences(l.station.Name, l.days.MeasuredDays(l.definition, false)) {
			reached := trigger.DayRun{First: o.First.AddDate(0, 0, -l.definition.DryDays()), Last: o.Last.AddDate(0, 0, daysReadBefore)}
			if !reached.Hull(trigger.DayRun{First: o.First, Last: lastKnownDay(o)}).Overlaps(l.changedRun) {
				continue
			}
			found = append(found, o)
			whole = whole && (l.definition.Calendar() != "" || inner.Contains(o.First) && inner.Contains(o.Last))
		}
		if whole {
			return found, nil
		}
	}
}

// lastKnownDay returns the last day that affects an occurrence.
func lastKnownDay(o trigger.StationOccurrence) time.Time {
	if len(o.After) == 0 {
		return o.Last
	}
	return o.After[len(o.After)-1].Date
}

// lockKnownOccurrences reads and locks the occurrences that share a day with a found
// one or with the changed days, and those named after one of their days, which may have
// been merged.
func (l *stationLinker) lockKnownOccurrences(ctx context.Context, found []trigger.StationOccurrence) error {
	reached, names := l.changedRun, []string{l.station.EventID(l.changedRun.First)}
	for _, o := range found {
		reached = reached.Hull(o.Run())
		for day := o.First; !day.After(o.Last); day = day.AddDate(0, 0, 1) {
			names = append(names, l.station.EventID(day))
		}
	}
	err := l.NewSelect().Model(&l.known).Where("scope = ?", l.station.Scope).Where("source = ?", l.station.Source).
		Where("station = ?", l.station.Name).Where("definition = ?", l.definition.String()).
		WhereGroup(" and ", func(q *bun.SelectQuery) *bun.SelectQuery {
			return q.Where("merged_into is null and occurred_at <= ? and last_at >= ?", reached.Last, reached.First).
				WhereOr("source_event_id in (?)", bun.List(names))
		}).OrderExpr("id").For("NO KEY UPDATE").Scan(ctx)
	if err != nil {
		return fmt.Errorf("read occurrences: %w", err)
	}
	return nil
}

// findContinued returns the recorded occurrences that a found one continues, oldest
// first.
func (l *stationLinker) findContinued(found []trigger.StationOccurrence, i int, taken map[uuid.UUID]bool) []*OccurrenceRow {
	var rows []*OccurrenceRow
	for _, row := range l.known {
		_, named, _ := ParseStationDay(row.SourceEventID)
		inAny := slices.ContainsFunc(found, func(o trigger.StationOccurrence) bool { return o.Run().Contains(named) })
		byName := found[i].Run().Contains(named)
		byDay := !inAny && !taken[row.ID] && row.MergedInto == nil && found[i].Run().Overlaps(row.DayRun())
		if byName || byDay {
			rows = append(rows, row)
		}
	}
	return rows
}

// saveOccurrence gives a found occurrence the identity of the oldest known one that it
// continues, and merges the others into that one.
func (l *stationLinker) saveOccurrence(ctx context.Context, found []trigger.StationOccurrence, i int, taken map[uuid.UUID]bool) error {
	o := found[i]
	known := l.findContinued(found, i, taken)
	row := l.newOccurrence(o)
	if len(known) == 0 {
		return l.insertOccurrence(ctx, row)
	}
	oldest := known[0]
	for _, other := range known {
		taken[other.ID] = true
		if other == oldest || other.MergedInto != nil && *other.MergedInto == oldest.ID {
			continue
		}
		if err := l.mergeOccurrence(ctx, oldest, other); err != nil {
			return err
		}
	}
	_, content, _ := strings.Cut(oldest.SourceVersion, ".")
	if oldest.MergedInto == nil && content == row.SourceVersion && oldest.Stage == row.Stage && oldest.DayRun() == row.DayRun() {
		return nil
	}
	oldest.OccurredAt, oldest.LastAt, oldest.Stage, oldest.MergedInto = row.OccurredAt, row.LastAt, row.Stage, nil
	return l.updateOccurrence(ctx, oldest, row.SourceVersion)
}

// insertOccurrence saves a new occurrence, named after its first day.
func (l *stationLinker) insertOccurrence(ctx context.Context, row *OccurrenceRow) error {
	row.ID, row.Version, row.CreatedAt, row.SourceEventID = store.NewID(), 1, l.Now, l.station.EventID(row.OccurredAt)
	row.SourceVersion = "1." + row.SourceVersion
	l.changedIDs = append(l.changedIDs, row.ID)
	_, err := l.NewInsert().Model(row).Exec(ctx)
	return err
}

// newOccurrence returns the row of a found occurrence, without an identity.
func (l *stationLinker) newOccurrence(o trigger.StationOccurrence) *OccurrenceRow {
	row := &OccurrenceRow{
		Scope: l.station.Scope, UpdatedAt: l.Now, Source: l.station.Source, Kind: hazard.StationDay,
		OccurredAt: o.First, LastAt: o.Last, Stage: trigger.Preliminary,
		Station: new(l.station.Name), Definition: new(l.definition.String()),
		SourceVersion: strconv.FormatInt(l.days.revisionSum(trigger.DayRun{First: o.First, Last: lastKnownDay(o)}), 10),
	}
	if o.IsFinal() {
		row.Stage = trigger.Final
	}
	return row
}

// mergeOccurrence merges two known occurrences that late or revised days joined.
func (l *stationLinker) mergeOccurrence(ctx context.Context, oldest, other *OccurrenceRow) error {
	_, err := l.NewRaw("update occurrences set merged_into = ?, version = version + 1, updated_at = ? where id = ? or merged_into = ?",
		oldest.ID, l.Now, other.ID, other.ID).Exec(ctx)
	if err != nil {
		return fmt.Errorf("merge occurrences: %w", err)
	}
	other.MergedInto = &oldest.ID
	oldest.SourceVersion = "" // marks it as changed, also if its days are the same
	return nil
}

// markEmpty keeps an occurrence without days for its claims and sets its stage:
// retracted, or final when revised to dry.
func (l *stationLinker) markEmpty(ctx context.Context, row *OccurrenceRow) error {
	standing := l.days.withinRun(row.DayRun()).MeasuredDays(l.definition, false)
	stage := trigger.Retracted
	for _, day := range standing {
		if stage = trigger.Final; day.Preliminary {
			stage = trigger.Preliminary
			break
		}
	}
	content := strconv.FormatInt(l.days.revisionSum(row.DayRun()), 10)
	if _, before, _ := strings.Cut(row.SourceVersion, "."); before == content && row.Stage == stage {
		return nil
	}
	row.Stage = stage
	return l.updateOccurrence(ctx, row, content)
}

// updateOccurrence saves a known occurrence under its next version. Its source version
// is that number and content.
func (l *stationLinker) updateOccurrence(ctx context.Context, row *OccurrenceRow, content string) error {
	row.Version, row.UpdatedAt = row.Version+1, l.Now
	row.SourceVersion = strconv.FormatInt(row.Version, 10) + "." + content
	_, err := l.NewUpdate().Model(row).Column("occurred_at", "last_at", "stage", "merged_into", "period_ended_at", "source_version", "version", "updated_at").WherePK().Exec(ctx)
	if err != nil {
		return fmt.Errorf("update occurrence: %w", err)
	}
	l.changedIDs = append(l.changedIDs, row.ID)
	return nil
}
