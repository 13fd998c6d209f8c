package occurrence

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"parapet/model/kernel/store"
	"parapet/model/underwriting/capacity"
)

// updateMoratoriaOfChanges updates the moratoria of the events in this batch to the
// present reports of their sources. A sandbox observation closes nothing, not even for
// its own partner.
func (r *ingestion) updateMoratoriaOfChanges(ctx context.Context) error {
	if r.scope != "" {
		return nil
	}
	var ids []uuid.UUID
	for _, o := range r.changed {
		if o.OccurrenceID != nil && o.Kind.Rules().Moratorium != nil && !slices.Contains(ids, *o.OccurrenceID) {
			ids = append(ids, *o.OccurrenceID)
		}
	}
	return updateEventMoratoria(ctx, r.Tx, ids)
}

// UpdateRecentMoratoria updates the moratoria of all recent events to the present rules.
func UpdateRecentMoratoria(ctx context.Context, tx *store.Tx) error {
	var ids []uuid.UUID
	err := tx.NewSelect().Model((*OccurrenceRow)(nil)).Column("id").Where("oc.scope = ''").Where("oc.merged_into is null").
		Where("oc.last_at > ?", tx.Now.Add(-capacity.MaxRuleDuration)).OrderExpr("oc.id").Scan(ctx, &ids)
	if err != nil {
		return fmt.Errorf("read recent occurrences: %w", err)
	}
	return updateEventMoratoria(ctx, tx, ids)
}

// updateEventMoratoria computes the moratorium of each occurrence from all of its
// readings, so that an old reading closes nothing after it was revised, moved, retracted
// or merged. A moratorium that an operator lifted stays lifted.
func updateEventMoratoria(ctx context.Context, tx *store.Tx, occurrences []uuid.UUID) error {
	if len(occurrences) == 0 {
		return nil
	}
	rules, err := capacity.LoadMoratoriumRules(ctx, tx)
	if err != nil || len(rules) == 0 {
		return err
	}
	var readings []ObservationRow
	err = tx.NewSelect().Model(&readings).Where("occurrence_id in (?)", bun.List(occurrences)).Where("occurred_at > ?", tx.Now.Add(-capacity.MaxRuleDuration)).
		Where("stage <> 'retracted'").OrderExpr("occurred_at, id").Scan(ctx)
	if err != nil {
		return fmt.Errorf("read observations: %w", err)
	}
	found := make(map[uuid.UUID]*capacity.MoratoriumRow)
	for i := range readings {
		addReading(tx, found, rules, &readings[i])
	}
	_, err = tx.NewRaw(`update moratoria as mo set ends_at = ?0, version = version + 1, updated_at = ?0
		where lifted_at is null and ends_at > ?0 and not occurrence_id = any(?1::uuid[])
			and occurrence_id in (select id from occurrences where id in (?2) or merged_into in (?2))`,
		tx.Now, pgdialect.Array(sortedIDs(found)), bun.List(occurrences)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("end moratoria: %w", err)
	}
	for _, id := range sortedIDs(found) { // all transactions write in the same order
		_, err := tx.NewInsert().Model(found[id]).On("conflict (occurrence_id) do update").
			Set("latitude = excluded.latitude, longitude = excluded.longitude, radius_km = excluded.radius_km, ends_at = excluded.ends_at").
			Set("readings = excluded.readings, reason = excluded.reason, version = mo.version + 1, updated_at = excluded.updated_at").
			Where("mo.lifted_at is null and (mo.radius_km, mo.readings::text, mo.ends_at) is distinct from (excluded.radius_km, excluded.readings::text, excluded.ends_at)").Exec(ctx)
		if err != nil {
			return fmt.Errorf("insert moratorium: %w", err)
		}
	}
	return nil
}

// sortedIDs returns the ids in ascending order.
func sortedIDs[V any](of map[uuid.UUID]V) []uuid.UUID {
	ids := slices.AppendSeq(make([]uuid.UUID, 0, len(of)), maps.Keys(of)) // not nil, which is null in SQL
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return ids
}

// addReading adds a reading to its occurrence's moratorium if a rule closes the places
// around it and its end is in the future. Call it with the oldest reading first.
func addReading(tx *store.Tx, found map[uuid.UUID]*capacity.MoratoriumRow, rules []capacity.MoratoriumRuleRow, o *ObservationRow) {
	at := slices.IndexFunc(rules, func(r capacity.MoratoriumRuleRow) bool { return r.Kind == o.Kind.Rules().Peril })
	if at < 0 || o.Body.Location == nil {
		return
	}
	rule := rules[at]
	measured, ends := o.measuredValue(rule.Measure), o.OccurredAt.Add(time.Duration(rule.Seconds)*time.Second)
	tooSmall := measured == nil && rule.Minimum.IsPositive() || measured != nil && measured.LessThan(rule.Minimum)
	if tooSmall || !tx.Now.Before(ends) {
		return
	}
	m := found[*o.OccurrenceID]
	if m == nil {
		m = &capacity.MoratoriumRow{
			ID: store.NewID(), Version: 1, CreatedAt: tx.Now, UpdatedAt: tx.Now, Kind: &rule.Kind, RadiusKM: &rule.RadiusKM,
			StartsAt: tx.Now, OccurrenceID: o.OccurrenceID, Author: rule.Author,
		}
		found[*o.OccurrenceID] = m
	}
	m.Readings = append(m.Readings, capacity.MoratoriumReading{Latitude: o.Body.Location.Latitude, Longitude: o.Body.Location.Longitude, EndsAt: ends.UTC()})
	m.Latitude, m.Longitude, m.EndsAt, m.Reason = &o.Body.Location.Latitude, &o.Body.Location.Longitude, ends, eventMoratoriumReason(o)
}

// eventMoratoriumReason returns the reason that rejected partners read.
func eventMoratoriumReason(o *ObservationRow) string {
	name := fmt.Sprintf("%s of %s", o.SourceEventID, o.Source)
	rules := o.Kind.Rules().Moratorium
	return rules.Reason(o.Body.Measures[rules.Measure], name, o.OccurredAt.UTC())
}
