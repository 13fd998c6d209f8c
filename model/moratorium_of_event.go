package model

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
)

// closingReading is one reading that closes the places around it until a time.
type closingReading struct {
	Latitude  float64   `json:"latitude"`
	Longitude float64   `json:"longitude"`
	EndsAt    time.Time `json:"ends_at"`
}

// closeAroundChanges brings the moratoria of the events that were just observed in line
// with what their sources say now. A sandbox observation closes nothing, not even for
// its own partner.
func (r *recording) closeAroundChanges(ctx context.Context) error {
	if r.scope != "" {
		return nil
	}
	var ids []uuid.UUID
	for _, o := range r.changed {
		if o.OccurrenceID != nil && ruled[o.Kind] != "" && !slices.Contains(ids, *o.OccurrenceID) {
			ids = append(ids, *o.OccurrenceID)
		}
	}
	return r.closeAround(ctx, ids)
}

// closeAroundRecentEvents brings the moratoria of all recent events in line with the
// rules.
func (u *unit) closeAroundRecentEvents(ctx context.Context) error {
	var ids []uuid.UUID
	err := u.NewSelect().Model((*occurrenceRow)(nil)).Column("id").Where("oc.scope = ''").Where("oc.merged_into is null").
		Where("oc.last_at > ?", u.now.Add(-maxRule)).OrderExpr("oc.id").Scan(ctx, &ids)
	if err != nil {
		return fmt.Errorf("read recent occurrences: %w", err)
	}
	return u.closeAround(ctx, ids)
}

// closeAround computes the moratorium of each occurrence from all of its readings, so
// that one that is revised, moved, retracted or merged away closes nothing any more. A
// moratorium that an operator lifted stays lifted.
func (u *unit) closeAround(ctx context.Context, occurrences []uuid.UUID) error {
	if len(occurrences) == 0 {
		return nil
	}
	rules, err := moratoriumRules(ctx, u)
	if err != nil || len(rules) == 0 {
		return err
	}
	var readings []observationRow
	err = u.NewSelect().Model(&readings).Where("occurrence_id in (?)", bun.List(occurrences)).Where("occurred_at > ?", u.now.Add(-maxRule)).
		Where("stage <> 'retracted'").OrderExpr("occurred_at, id").Scan(ctx)
	if err != nil {
		return fmt.Errorf("read observations: %w", err)
	}
	found := make(map[uuid.UUID]*moratoriumRow)
	for i := range readings {
		u.addReading(found, rules, &readings[i])
	}
	_, err = u.NewRaw(`update moratoria as mo set ends_at = ?0, version = version + 1, updated_at = ?0
		where lifted_at is null and ends_at > ?0 and not occurrence_id = any(?1::uuid[])
			and occurrence_id in (select id from occurrences where id in (?2) or merged_into in (?2))`,
		u.now, textArray(keys(found)), bun.List(occurrences)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("end moratoria: %w", err)
	}
	for _, id := range keys(found) { // in one order, whoever else writes
		_, err := u.NewInsert().Model(found[id]).On("conflict (occurrence_id) do update").
			Set("latitude = excluded.latitude, longitude = excluded.longitude, radius_km = excluded.radius_km, ends_at = excluded.ends_at").
			Set("readings = excluded.readings, reason = excluded.reason, version = mo.version + 1, updated_at = excluded.updated_at").
			Where("mo.lifted_at is null and (mo.radius_km, mo.readings::text, mo.ends_at) is distinct from (excluded.radius_km, excluded.readings::text, excluded.ends_at)").Exec(ctx)
		if err != nil {
			return fmt.Errorf("insert moratorium: %w", err)
		}
	}
	return nil
}

// keys are the ids in order.
func keys[V any](of map[uuid.UUID]V) []uuid.UUID {
	ids := slices.Collect(maps.Keys(of))
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return ids
}

// addReading adds a reading to its occurrence's moratorium when a rule says that it
// closes the places around it and its time is not over. Readings come oldest first.
func (u *unit) addReading(found map[uuid.UUID]*moratoriumRow, rules []moratoriumRuleRow, o *observationRow) {
	at := slices.IndexFunc(rules, func(r moratoriumRuleRow) bool { return r.Kind == o.Kind })
	if at < 0 || o.Body.Location == nil {
		return
	}
	rule := rules[at]
	measured, ends := o.measure(rule.Measure), o.OccurredAt.Add(time.Duration(rule.Seconds)*time.Second)
	tooSmall := measured == nil && rule.Minimum.IsPositive() || measured != nil && measured.LessThan(rule.Minimum)
	if tooSmall || !u.now.Before(ends) {
		return
	}
	m := found[*o.OccurrenceID]
	if m == nil {
		m = &moratoriumRow{
			ID: newID(), Version: 1, CreatedAt: u.now, UpdatedAt: u.now, Kind: &rule.Kind, RadiusKM: &rule.RadiusKM,
			StartsAt: u.now, OccurrenceID: o.OccurrenceID, Author: rule.Author,
		}
		found[*o.OccurrenceID] = m
	}
	m.Readings = append(m.Readings, closingReading{o.Body.Location.Latitude, o.Body.Location.Longitude, ends.UTC()})
	m.Latitude, m.Longitude, m.EndsAt, m.Reason = &o.Body.Location.Latitude, &o.Body.Location.Longitude, ends, closingReason(o)
}

// closingReason is what partners read who are refused.
func closingReason(o *observationRow) string {
	name := fmt.Sprintf("%s of %s", o.SourceEventID, o.Source)
	if o.Kind == hazard.Earthquake {
		return fmt.Sprintf("An earthquake of magnitude %s (%s) happened near it on %s.", o.measure("magnitude"), name, o.OccurredAt.UTC().Format(time.DateOnly))
	}
	return fmt.Sprintf("A storm (%s) was near it at %s.", name, o.OccurredAt.UTC().Format(time.RFC3339))
}
