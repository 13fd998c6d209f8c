package model

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/trigger"
	"parapet/model/wire"
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

// MoratoriumRuleRequest makes, changes or takes away the rule of a kind of event.
type MoratoriumRuleRequest struct {
	Kind hazard.Kind     // earthquake, by magnitude; storm_fix, by wind in kn
	Rule *MoratoriumRule // nil takes it away
}

// MoratoriumRule stops sales around an event that reaches a minimum: the word of a
// quake or a storm is out before its claims are, and cover must not be bought on it.
// There is none until an operator sets one.
type MoratoriumRule struct {
	Minimum  decimal.Decimal // included
	RadiusKM float64         // around the place of the event, or the storm's latest fix
	Lasts    string          // ISO 8601, from the event
}

// ruled are the measures that rules look at.
var ruled = map[hazard.Kind]string{hazard.Earthquake: "magnitude", hazard.StormFix: "wind"}

// maxRule bounds how long a rule stops sales, maxRuleRadius how far around.
const (
	maxRule       = 30 * 24 * time.Hour
	maxRuleRadius = 5_000
)

func (in *MoratoriumRuleRequest) check(c *fieldCheck) (lasts time.Duration) {
	c.that(ruled[in.Kind] != "", "/kind", "enum", "Use earthquake or storm_fix.")
	if in.Rule == nil {
		return 0
	}
	start := time.Unix(0, 0)
	end, err := trigger.AddDuration(start, in.Rule.Lasts)
	lasts = end.Sub(start)
	c.that(err == nil && lasts > 0 && lasts <= maxRule, "/rule/lasts", "value", "Use an ISO 8601 duration of at most 30 days, such as PT72H.")
	c.that(in.Rule.RadiusKM > 0 && in.Rule.RadiusKM <= maxRuleRadius, "/rule/radius_km", "value", "Use more than 0 and at most 5000 km.")
	return lasts
}

// SetMoratoriumRule makes, changes or takes away the rule of a kind of event, from
// the next observation on; it answers nil when the rule is taken away. Operators
// only. Errors: validation_failed.
func (s *Service) SetMoratoriumRule(ctx context.Context, actor Actor, in MoratoriumRuleRequest) (*wire.MoratoriumRule, error) {
	if err := s.authorize(ctx, actor, ScopeOperator); err != nil {
		return nil, err
	}
	c := checking(ctx)
	lasts := in.check(c)
	if err := c.refusal(); err != nil {
		return nil, err
	}
	row := &moratoriumRuleRow{Kind: in.Kind, Measure: ruled[in.Kind], Seconds: int64(lasts.Seconds()), Author: actor.Name}
	var rule *wire.MoratoriumRule
	err := s.change(ctx, actor, func(ctx context.Context, u *unit) error {
		var err error
		if in.Rule == nil {
			_, err = u.NewDelete().Model(row).WherePK().Exec(ctx)
		} else {
			row.Minimum, row.RadiusKM, row.UpdatedAt = in.Rule.Minimum, in.Rule.RadiusKM, u.now
			_, err = u.NewInsert().Model(row).On("conflict (kind) do update").Set("minimum = excluded.minimum, radius_km = excluded.radius_km, " +
				"seconds = excluded.seconds, updated_at = excluded.updated_at, author = excluded.author").Exec(ctx)
			rule = row.public()
		}
		if err != nil {
			return fmt.Errorf("set moratorium rule: %w", err)
		}
		return u.answered(statusOK, "", rule)
	})
	return rule, err
}

// ListMoratoriumRules are the rules there are, one a kind at most. Operators only.
func (s *Service) ListMoratoriumRules(ctx context.Context, actor Actor) ([]wire.MoratoriumRule, error) {
	if err := s.authorize(ctx, actor, ScopeOperator); err != nil {
		return nil, err
	}
	var rows []moratoriumRuleRow
	if err := s.db.NewSelect().Model(&rows).OrderExpr("kind").Scan(ctx); err != nil {
		return nil, explain(fmt.Errorf("list moratorium rules: %w", err))
	}
	rules := make([]wire.MoratoriumRule, len(rows))
	for i := range rows {
		rules[i] = *rows[i].public()
	}
	return rules, nil
}

func (r *moratoriumRuleRow) public() *wire.MoratoriumRule {
	return &wire.MoratoriumRule{
		Kind: string(r.Kind), Measure: r.Measure, Minimum: r.Minimum, RadiusKM: r.RadiusKM,
		Lasts: iso(time.Duration(r.Seconds) * time.Second), UpdatedAt: r.UpdatedAt, Author: r.Author,
	}
}

// iso writes a time of whole seconds as ISO 8601 does, in hours where it has no less.
func iso(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("PT%dH", d/time.Hour)
	}
	return fmt.Sprintf("PT%dS", d/time.Second)
}

// moratoria stops sales around what was just observed, where a rule says so. A
// storm's moratorium follows its fixes, and a quake's the place where it is found to
// have been; a rehearsal stops nobody.
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
			Set("version = mo.version + 1, updated_at = excluded.updated_at").Where("mo.lifted_at is null and mo.ends_at <= excluded.ends_at").Exec(ctx)
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
