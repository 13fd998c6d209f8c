package model

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
)

// moratoriumRuleRow says which fresh events stop sales around them.
type moratoriumRuleRow struct {
	bun.BaseModel `bun:"table:moratorium_rules,alias:mr"`

	Kind      hazard.Kind `bun:",pk"`
	Measure   string
	Minimum   decimal.Decimal
	RadiusKM  float64 `bun:"radius_km"`
	Seconds   int64
	UpdatedAt time.Time
	Author    string
}

// MoratoriumRule stops sales around an event of a kind that reaches a minimum: the
// word of a quake or a storm is out before its claims are, and cover must not be
// bought on it. There is none until an operator sets one.
type MoratoriumRule struct {
	Kind     hazard.Kind     // earthquake, by magnitude; storm_fix, by wind in kn
	Minimum  decimal.Decimal // included
	RadiusKM float64         // around the place of the event, or the storm's latest fix
	Lasts    time.Duration   // from the event; zero takes the rule away
}

// ruled are the measures that rules look at.
var ruled = map[hazard.Kind]string{hazard.Earthquake: "magnitude", hazard.StormFix: "wind"}

// SetMoratoriumRule makes, changes or takes away the rule of a kind of event, from
// the next observation on. Operators only. Errors: validation_failed.
func (s *Service) SetMoratoriumRule(ctx context.Context, actor Actor, in MoratoriumRule) (*MoratoriumRule, error) {
	if err := s.authorize(ctx, actor, ScopeOperator); err != nil {
		return nil, err
	}
	c := checking(ctx)
	c.that(ruled[in.Kind] != "", "/kind", "enum", "Use earthquake or storm_fix.")
	c.that(in.RadiusKM > 0 && in.RadiusKM <= 5_000, "/radius_km", "value", "Use more than 0 and at most 5000 km.")
	c.that(in.Lasts >= 0 && in.Lasts <= 30*24*time.Hour, "/lasts", "value", "Use at most 30 days; 0 takes the rule away.")
	if err := c.refusal(); err != nil {
		return nil, err
	}
	return &in, s.change(ctx, actor, func(ctx context.Context, u *unit) error {
		row := &moratoriumRuleRow{
			Kind: in.Kind, Measure: ruled[in.Kind], Minimum: in.Minimum, RadiusKM: in.RadiusKM,
			Seconds: int64(in.Lasts.Seconds()), UpdatedAt: u.now, Author: u.actor.Name,
		}
		var err error
		if in.Lasts == 0 {
			_, err = u.NewDelete().Model(row).WherePK().Exec(ctx)
		} else {
			_, err = u.NewInsert().Model(row).On("conflict (kind) do update").Set("minimum = excluded.minimum, radius_km = excluded.radius_km, " +
				"seconds = excluded.seconds, updated_at = excluded.updated_at, author = excluded.author").Exec(ctx)
		}
		if err != nil {
			return fmt.Errorf("set moratorium rule: %w", err)
		}
		return nil
	})
}

// moratoria stops sales around what was just observed, where a rule says so. A
// storm's moratorium follows its fixes; a rehearsal stops nobody.
func (r *recording) moratoria(ctx context.Context) error {
	if r.scope != "" {
		return nil
	}
	var rules []moratoriumRuleRow
	if err := r.NewSelect().Model(&rules).Scan(ctx); err != nil || len(rules) == 0 {
		return err
	}
	last := make(map[uuid.UUID]*moratoriumRow)
	for _, o := range r.changed {
		for i := range rules {
			if m := r.stops(&rules[i], o); m != nil && (last[*m.OccurrenceID] == nil || last[*m.OccurrenceID].EndsAt.Before(m.EndsAt)) {
				last[*m.OccurrenceID] = m
			}
		}
	}
	for _, m := range last {
		_, err := r.NewInsert().Model(m).On("conflict (occurrence_id) do update").
			Set("latitude = excluded.latitude, longitude = excluded.longitude, radius_km = excluded.radius_km, ends_at = excluded.ends_at").
			Set("version = mo.version + 1, updated_at = excluded.updated_at").Where("mo.lifted_at is null and mo.ends_at < excluded.ends_at").Exec(ctx)
		if err != nil {
			return fmt.Errorf("insert moratorium: %w", err)
		}
	}
	return nil
}

// stops is the moratorium that an observation causes by a rule; nil without.
func (r *recording) stops(rule *moratoriumRuleRow, o *observationRow) *moratoriumRow {
	measured := o.measure(rule.Measure)
	ends := o.OccurredAt.Add(time.Duration(rule.Seconds) * time.Second)
	if o.Kind != rule.Kind || o.OccurrenceID == nil || o.Body.Location == nil || measured == nil || measured.LessThan(rule.Minimum) || !r.now.Before(ends) {
		return nil
	}
	return &moratoriumRow{
		ID: newID(), Version: 1, CreatedAt: r.now, UpdatedAt: r.now, Kind: &rule.Kind,
		Latitude: &o.Body.Location.Latitude, Longitude: &o.Body.Location.Longitude, RadiusKM: &rule.RadiusKM,
		StartsAt: r.now, EndsAt: ends, OccurrenceID: o.OccurrenceID, Author: rule.Author,
		Reason: fmt.Sprintf("%s of %s, %s on %s.", o.Source, o.SourceEventID, measured, o.OccurredAt.UTC().Format(time.DateOnly)),
	}
}
