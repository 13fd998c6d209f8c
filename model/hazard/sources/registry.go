package sources

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
)

// rehearsalSources are agencies whose names development servers accept without a
// registration, so that a rehearsal can have a second source of every peril.
var rehearsalSources = []string{"cwa", "cwb", "geonet", "gfz", "ingv", "jma", "jtwc", "noaa"}

// Registry holds the registrations of some sources as a transaction read them.
type Registry struct {
	rows        map[string]*SourceRow
	development bool
}

// Load reads the registrations of sources by their names.
func Load(ctx context.Context, db bun.IDB, names []string, development bool) (Registry, error) {
	registry := Registry{rows: make(map[string]*SourceRow, len(names)), development: development}
	var valid []string
	for _, name := range names {
		if !slices.Contains(valid, name) && NamePattern.MatchString(name) {
			valid = append(valid, name)
		}
	}
	if len(valid) == 0 {
		return registry, nil
	}
	var rows []*SourceRow
	if err := db.NewSelect().Model(&rows).Where("s.name in (?)", bun.List(valid)).Scan(ctx); err != nil {
		return registry, store.TranslateError(fmt.Errorf("read sources: %w", err))
	}
	for _, row := range rows {
		registry.rows[row.Name] = row
	}
	return registry, nil
}

// Require returns why a source may not be used for one of some perils in a stage, nil if
// it may: by an observation of a caller, or without a caller by the terms of a product. A
// development server also accepts the agencies of rehearsals and every source that the
// caller's token names.
func (r Registry) Require(source string, perils []hazard.Peril, stage trigger.Stage, caller *actor.Actor) *apperr.FieldError {
	fault := func(pointer, code, format string, args ...any) *apperr.FieldError {
		e := apperr.NewFieldError(pointer, code, fmt.Sprintf(format, args...))
		return &e
	}
	row := r.rows[source]
	switch {
	case row == nil && r.development && (slices.Contains(rehearsalSources, source) || caller != nil && slices.Contains(caller.Sources, source)):
		return nil
	case row == nil:
		return fault("/source", "unknown", "No source has the name %q: use a name of GET /sources, or ask an operator to register it (registerSource).", source)
	case !row.Enabled:
		return fault("/source", "disabled", "The source %s is disabled: use an enabled one, or ask an operator to enable it again with registerSource.", source)
	case caller != nil && caller.Kind == actor.KindSource && len(row.TokenSubjects) > 0 && !slices.Contains(row.TokenSubjects, caller.Subject):
		return fault("/source", "forbidden", "The subject of this token may not report for %s: an operator adds it to its token_subjects with registerSource.", source)
	case stage == trigger.Retracted:
		return nil
	case !slices.ContainsFunc(perils, func(peril hazard.Peril) bool { return slices.Contains(row.Perils, string(peril)) }):
		return fault("/kind", "value", "The source %s is registered for %s only: use it for these, or ask an operator to register more.", source, joinNames(row.Perils))
	case !slices.Contains(row.Stages, string(stage)):
		return fault("/stage", "value", "The source %s is registered for the stage %s only.", source, joinNames(row.Stages))
	}
	return nil
}

// PerilsOf returns the perils that observations of a kind are evidence of.
func PerilsOf(kind hazard.Kind) (perils []hazard.Peril) {
	for _, peril := range trigger.Perils() {
		if (trigger.Trigger{Kind: peril}).Rules().Kind == kind {
			perils = append(perils, peril)
		}
	}
	return perils
}
