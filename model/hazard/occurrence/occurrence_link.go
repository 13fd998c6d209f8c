package occurrence

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/store"
)

// linker assigns observations to occurrences. It works in memory and writes at the end,
// because two reports of one batch may belong to one event.
type linker struct {
	*ingestion

	source           string
	occurrenceByName map[sourceName]uuid.UUID // the occurrence of each known name of the batch
	created          []OccurrenceRow
	newAliases       []AliasRow
	merges           []merge
	changedIDs       map[uuid.UUID]bool
}

// sourceName is a source's name for an event. Names of different kinds never collide: a
// storm may have the same id as an earthquake.
type sourceName struct {
	kind hazard.Kind
	name string
}

func (r *ObservationRow) sourceNames() []sourceName {
	names := []sourceName{{r.Kind, r.SourceEventID}}
	for _, alias := range r.Body.Aliases {
		names = append(names, sourceName{r.Kind, alias})
	}
	return names
}

// merge merges occurrences, losers, into another one that is the same event.
type merge struct {
	into   uuid.UUID
	losers []uuid.UUID
}

// link assigns an occurrence to every changed earthquake and fix, and returns the
// affected occurrences. All names that a source ever used for an event refer to one
// occurrence. When two occurrences are the same event, the older one gets the
// observations and names of the other.
func (r *ingestion) link(ctx context.Context, source string) ([]uuid.UUID, error) {
	known, err := r.loadAliases(ctx, source)
	if err != nil {
		return nil, err
	}
	l := linker{ingestion: r, source: source, occurrenceByName: known, changedIDs: make(map[uuid.UUID]bool)}
	for _, row := range r.changed {
		switch {
		case row.Kind.IsDaily():
		case row.isRetracted() && row.OccurrenceID != nil:
			l.changedIDs[*row.OccurrenceID] = true
		default:
			l.assign(row)
		}
	}
	if err := l.saveLinks(ctx); err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Keys(l.changedIDs), func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }), nil
}

func (l *linker) assign(row *ObservationRow) {
	names := row.sourceNames()
	id, found := oldestMatch(names, l.occurrenceByName)
	switch {
	case len(found) == 0:
		id = store.NewID()
		l.created = append(l.created, row.NewOccurrence(id))
	case len(found) > 1:
		l.mergeInto(id, slices.DeleteFunc(found, func(other uuid.UUID) bool { return other == id }))
	}
	for _, name := range names {
		if _, ok := l.occurrenceByName[name]; !ok {
			l.occurrenceByName[name] = id
			l.newAliases = append(l.newAliases, AliasRow{Scope: l.scope, Source: l.source, Kind: name.kind, Alias: name.name, OccurrenceID: id})
		}
	}
	l.changedIDs[id] = true
	row.OccurrenceID = &id
}

// mergeInto replaces the losers by the winner in all in-memory records.
func (l *linker) mergeInto(into uuid.UUID, losers []uuid.UUID) {
	lost := func(id uuid.UUID) bool { return slices.Contains(losers, id) }
	for name, id := range l.occurrenceByName {
		if lost(id) {
			l.occurrenceByName[name] = into
		}
	}
	for i := range l.newAliases {
		if lost(l.newAliases[i].OccurrenceID) {
			l.newAliases[i].OccurrenceID = into
		}
	}
	for i := range l.created {
		if c := &l.created[i]; lost(c.ID) || c.MergedInto != nil && lost(*c.MergedInto) {
			c.MergedInto = &into
		}
	}
	for _, row := range l.changed {
		if row.OccurrenceID != nil && lost(*row.OccurrenceID) {
			row.OccurrenceID = &into
		}
	}
	maps.DeleteFunc(l.changedIDs, func(id uuid.UUID, _ bool) bool { return lost(id) })
	l.merges = append(l.merges, merge{into, losers})
}

// oldestMatch returns the oldest occurrence that any of the names refers to, and all such
// occurrences.
func oldestMatch(names []sourceName, known map[sourceName]uuid.UUID) (uuid.UUID, []uuid.UUID) {
	var found []uuid.UUID
	for _, name := range names {
		if id, ok := known[name]; ok && !slices.Contains(found, id) {
			found = append(found, id)
		}
	}
	if len(found) == 0 {
		return uuid.Nil, nil
	}
	return slices.MinFunc(found, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }), found
}

func (r *ingestion) loadAliases(ctx context.Context, source string) (map[sourceName]uuid.UUID, error) {
	var names []string
	for _, row := range r.changed {
		if !row.Kind.IsDaily() {
			names = append(append(names, row.SourceEventID), row.Body.Aliases...)
		}
	}
	known := make(map[sourceName]uuid.UUID, len(names))
	if len(names) == 0 {
		return known, nil
	}
	var rows []AliasRow
	err := r.NewSelect().Model(&rows).Where("scope = ?", r.scope).Where("source = ?", source).
		Where("alias in (?)", bun.List(names)).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read aliases: %w", err)
	}
	for _, row := range rows {
		known[sourceName{row.Kind, row.Alias}] = row.OccurrenceID
	}
	return known, nil
}

// saveLinks inserts new rows, then updates the merged ones.
func (l *linker) saveLinks(ctx context.Context) error {
	if len(l.created) > 0 {
		if _, err := l.NewInsert().Model(&l.created).Exec(ctx); err != nil {
			return fmt.Errorf("insert occurrences: %w", err)
		}
	}
	if len(l.newAliases) > 0 {
		if _, err := l.NewInsert().Model(&l.newAliases).Exec(ctx); err != nil {
			return fmt.Errorf("insert aliases: %w", err)
		}
	}
	for _, m := range l.merges {
		for _, set := range []string{
			"update occurrences set merged_into = ?0, version = version + 1, updated_at = ?2 where id in (?1) or merged_into in (?1)",
			"update observations set occurrence_id = ?0 where occurrence_id in (?1)",
			"update occurrence_aliases set occurrence_id = ?0 where occurrence_id in (?1)",
		} {
			if _, err := l.NewRaw(set, m.into, bun.List(m.losers), l.Now).Exec(ctx); err != nil {
				return fmt.Errorf("merge occurrences: %w", err)
			}
		}
	}
	return nil
}

// NewOccurrence returns a new occurrence that the observation begins.
func (r *ObservationRow) NewOccurrence(id uuid.UUID) OccurrenceRow {
	return OccurrenceRow{
		ID: id, Scope: r.Scope, Version: 0, CreatedAt: r.UpdatedAt, UpdatedAt: r.UpdatedAt,
		Source: r.Source, SourceEventID: r.SourceEventID, Kind: r.Kind,
		OccurredAt: r.OccurredAt, LastAt: r.OccurredAt, Stage: trigger.Stage(r.Stage),
	}
}

// refreshOccurrences updates occurrences from their observations. A storm is final when
// every fix is, and retracted when none is left. The source version consists of the
// source's revision, if it has one, and a number that grows with every report, because a
// source may change a value without a new revision.
func (r *ingestion) refreshOccurrences(ctx context.Context, ids []uuid.UUID) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := r.NewRaw(`update occurrences oc set occurred_at = coalesce(f.first, oc.occurred_at), last_at = coalesce(f.last, oc.last_at),
			stage = case when f.first is null then 'retracted' when f.final then 'final' else 'preliminary' end,
			source_version = f.version, version = oc.version + 1, updated_at = ?
		from (select occurrence_id, min(occurred_at) filter (where stage <> 'retracted') as first,
				max(occurred_at) filter (where stage <> 'retracted') as last,
				bool_and(stage = 'final') filter (where stage <> 'retracted') as final,
				coalesce(max(revision) || '.', '') || sum(version) as version
			from observations where occurrence_id in (?) group by occurrence_id) f
		where oc.id = f.occurrence_id`, r.Now, bun.List(ids)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("refresh occurrences: %w", err)
	}
	return nil
}
