package adjudication

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/store"
	"parapet/model/underwriting"
)

// SourceEvent identifies an event by its source and the source's id.
type SourceEvent struct {
	Source string
	ID     string
}

// FindAliasedOccurrence returns the occurrence that a source's id refers to for a policy.
// An occurrence of the policy's peril takes precedence, then one in its partner's own
// scope.
func FindAliasedOccurrence(ctx context.Context, db bun.IDB, p *underwriting.PolicyRow, event SourceEvent) (uuid.UUID, error) {
	alias := new(occurrence.AliasRow)
	err := db.NewSelect().Model(alias).Where("source = ?", event.Source).Where("alias = ?", event.ID).
		Where("scope in ('', ?)", p.Partner).OrderExpr("(kind = ?) desc, scope desc", trigger.Trigger{Kind: p.Kind}.Rules().Kind).Limit(1).Scan(ctx)
	if store.IsNoRows(err) {
		return uuid.Nil, occurrence.EventNotFound()
	}
	if err != nil {
		return uuid.Nil, fmt.Errorf("read alias: %w", err)
	}
	return alias.OccurrenceID, nil
}

// FindStationDay returns the report of a day at a station that a source's id names for a
// policy: <station>/<day>, or the id under which a day at the policy's station was
// recorded. A rehearsed report of the policy's partner takes precedence over a real one.
// A source may record several days under one id: the latest that belongs to an occurrence
// of the policy's definition takes precedence. found is false for other ids, and for a
// policy that covers no station.
func FindStationDay(ctx context.Context, db bun.IDB, p *underwriting.PolicyRow, event SourceEvent) (row *occurrence.ObservationRow, found bool, err error) {
	if p.Station == nil {
		return nil, false, nil
	}
	reports := func() *bun.SelectQuery {
		row = new(occurrence.ObservationRow)
		return db.NewSelect().Model(row).Where("o.source = ?", event.Source).Where("o.scope in ('', ?)", p.Partner).OrderExpr("o.scope desc").Limit(1)
	}
	name, day, named := occurrence.ParseStationDay(event.ID)
	if named {
		err = reports().Where("o.station = ?", name).Where("o.day = ?", day).Scan(ctx)
	}
	if !named || store.IsNoRows(err) {
		err = reports().Where("o.station = ?", *p.Station).Where("o.source_event_id = ?", event.ID).
			OrderExpr("exists (?) desc, o.day desc", reportedOccurrences(db, p)).Scan(ctx)
	}
	if store.IsNoRows(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read station day: %w", err)
	}
	return row, true, nil
}

// reportedOccurrences selects the occurrences that contain the day of the report o.
func reportedOccurrences(db bun.IDB, p *underwriting.PolicyRow) *bun.SelectQuery {
	return standingOccurrences(db, nil, p).ColumnExpr("1").Where(occurrence.HoldsDaySQL)
}

// standingOccurrences selects the occurrences of a policy's definition, except merged and
// retracted ones.
func standingOccurrences(db bun.IDB, into *occurrence.OccurrenceRow, p *underwriting.PolicyRow) *bun.SelectQuery {
	return db.NewSelect().Model(into).Where("oc.definition = ?", p.Cover.Trigger.Definition().String()).
		Where("oc.merged_into is null").Where("oc.stage <> ?", trigger.Retracted)
}

// FindOccurrenceOn returns the occurrence of a policy's definition that contains a day
// at a station. For a day in no occurrence, because it was too dry, it returns an
// unrecorded occurrence of that day; recorded is false then.
func FindOccurrenceOn(ctx context.Context, db bun.IDB, p *underwriting.PolicyRow, at occurrence.Station, day time.Time) (row *occurrence.OccurrenceRow, recorded bool, err error) {
	row = new(occurrence.OccurrenceRow)
	err = standingOccurrences(db, row, p).Where("scope = ?", at.Scope).Where("source = ?", at.Source).Where("station = ?", at.Name).
		Where("occurred_at <= ? and last_at >= ?", day, day).OrderExpr("id").Limit(1).Scan(ctx)
	if err == nil {
		return row, true, nil
	}
	if !store.IsNoRows(err) {
		return nil, false, fmt.Errorf("read occurrence: %w", err)
	}
	return &occurrence.OccurrenceRow{
		ID: store.NewID(), Scope: at.Scope, Source: at.Source, SourceEventID: at.EventID(day), Kind: hazard.StationDay,
		OccurredAt: day, LastAt: day, Stage: trigger.Preliminary, Station: new(at.Name), Definition: new(p.Cover.Trigger.Definition().String()),
	}, false, nil
}
