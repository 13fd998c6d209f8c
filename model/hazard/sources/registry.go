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

// Require returns why a caller may not report an observation of a kind and stage for a
// source, nil if it may. A development server also accepts the agencies of rehearsals and
// every source that the caller's token names.
func (r Registry) Require(caller actor.Actor, source string, kind hazard.Kind, stage trigger.Stage) *apperr.FieldError {
	fault := func(pointer, code, format string, args ...any) *apperr.FieldError {
		e := apperr.NewFieldError(pointer, code, fmt.Sprintf(format, args...))
		return &e
	}
	row := r.rows[source]
	switch {
	case row == nil && r.development && (slices.Contains(rehearsalSources, source) || slices.Contains(caller.Sources, source)):
		return nil
	case row == nil:
		return fault("/source", "unknown", "No source has the name %q: use a name of GET /sources, or ask an operator to register it (registerSource).", source)
	case !row.Enabled:
		return fault("/source", "disabled", "The source %s is disabled: an operator enables it again with registerSource.", source)
	case caller.Kind == actor.KindSource && len(row.TokenSubjects) > 0 && !slices.Contains(row.TokenSubjects, caller.Subject):
		return fault("/source", "forbidden", "The subject of this token may not report for %s: an operator adds it to its token_subjects with registerSource.", source)
	case stage != trigger.Retracted && !row.measures(kind):
		return fault("/kind", "value", "The source %s is registered for %s: report what measures these, or ask an operator to register more.", source, joinNames(row.Perils))
	case stage != trigger.Retracted && !slices.Contains(row.Stages, string(stage)):
		return fault("/stage", "value", "The source %s is registered for the stage %s only.", source, joinNames(row.Stages))
	}
	return nil
}

// measures reports whether observations of a kind are evidence of one of the perils.
func (r *SourceRow) measures(kind hazard.Kind) bool {
	return slices.ContainsFunc(r.Perils, func(peril string) bool {
		rules := trigger.Trigger{Kind: hazard.Peril(peril)}.Rules()
		return rules != nil && rules.Kind == kind
	})
}

// RequireForTerms returns why the terms of a product may not name a source for a peril and
// stage, nil if they may.
func (r Registry) RequireForTerms(source string, peril hazard.Peril, stage trigger.Stage) *apperr.FieldError {
	row, pointer := r.rows[source], "/source"
	var detail string
	switch {
	case row == nil && r.development && slices.Contains(rehearsalSources, source):
		return nil
	case row == nil:
		detail = fmt.Sprintf("No source has the name %q: register it first (registerSource), or use a registered one.", source)
	case !row.Enabled:
		detail = fmt.Sprintf("The source %s is disabled: use an enabled one.", source)
	case !slices.Contains(row.Perils, string(peril)):
		detail = fmt.Sprintf("The source %s is registered for %s, not for %s.", source, joinNames(row.Perils), peril)
	case !slices.Contains(row.Stages, string(stage)):
		pointer, detail = "/stage", fmt.Sprintf("The source %s is registered for the stage %s only.", source, joinNames(row.Stages))
	default:
		return nil
	}
	e := apperr.NewFieldError(pointer, "unknown", detail)
	return &e
}
