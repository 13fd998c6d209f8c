package model

import (
	"context"
	"fmt"
	"time"

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
	Author    personID
	Disabled  bool // an operator took the shipped rule away
}

// MoratoriumRuleRequest makes, changes or takes away the rule of a kind of event.
type MoratoriumRuleRequest struct {
	Kind hazard.Kind     // earthquake, by magnitude; storm_fix, by wind in kn
	Rule *MoratoriumRule // nil takes it away
}

// MoratoriumRule stops sales around an event that reaches a minimum: the word of a
// quake or a storm is out before its claims are, and cover must not be bought on it.
// Shipped rules hold until an operator sets another one or takes them away.
type MoratoriumRule struct {
	Minimum  decimal.Decimal // included; at 0 a reading without the measure counts too
	RadiusKM float64         // around the place of the event, or each fix of the storm
	Lasts    string          // ISO 8601, from the event
}

// ruleMeasures are the measures that rules look at.
var ruleMeasures = map[hazard.Kind]string{hazard.Earthquake: "magnitude", hazard.StormFix: "wind"}

// maxRuleDuration bounds how long a rule stops sales, maxRuleRadius how far around.
const (
	maxRuleDuration = 30 * 24 * time.Hour
	maxRuleRadius   = 5_000
)

func (in *MoratoriumRuleRequest) validate(v *validator) (lasts time.Duration) {
	v.require(ruleMeasures[in.Kind] != "", "/kind", "enum", "Use earthquake or storm_fix.")
	if in.Rule == nil {
		return 0
	}
	start := time.Unix(0, 0)
	end, err := trigger.AddDuration(start, in.Rule.Lasts)
	lasts = end.Sub(start)
	v.require(err == nil && lasts > 0 && lasts <= maxRuleDuration, "/rule/lasts", "value", "Use an ISO 8601 duration of at most 30 days, such as PT72H.")
	v.require(in.Rule.RadiusKM > 0 && in.Rule.RadiusKM <= maxRuleRadius, "/rule/radius_km", "value", "Use more than 0 and at most 5000 km.")
	return lasts
}

// SetMoratoriumRule makes, changes or takes away the rule of a kind of event; it
// answers nil when the rule is taken away. What was observed lately counts at once.
// Moratoria that hold by an earlier rule end when they would have, unless they are
// lifted. Operators only. Errors: validation_failed.
func (s *Service) SetMoratoriumRule(ctx context.Context, actor Actor, in MoratoriumRuleRequest) (*wire.MoratoriumRule, error) {
	if err := s.authorize(ctx, actor, ScopeOperator); err != nil {
		return nil, err
	}
	v := newValidator(ctx)
	lasts := in.validate(v)
	if err := v.err(); err != nil {
		return nil, err
	}
	row := &moratoriumRuleRow{Kind: in.Kind, Measure: ruleMeasures[in.Kind], Seconds: int64(lasts.Seconds()), Author: actor.personID()}
	var rule *wire.MoratoriumRule
	err := s.InTx(ctx, actor, func(ctx context.Context, tx *Tx) error {
		row.UpdatedAt, row.Disabled, rule = tx.now, in.Rule == nil, nil
		if in.Rule != nil {
			row.Minimum, row.RadiusKM = in.Rule.Minimum, in.Rule.RadiusKM
			rule = row.toRecord()
		}
		_, err := tx.NewInsert().Model(row).On("conflict (kind) do update").Set("minimum = excluded.minimum, radius_km = excluded.radius_km, " +
			"seconds = excluded.seconds, updated_at = excluded.updated_at, author = excluded.author, disabled = excluded.disabled").Exec(ctx)
		if err != nil {
			return fmt.Errorf("set moratorium rule: %w", err)
		}
		if err := tx.updateRecentMoratoria(ctx); err != nil {
			return err
		}
		return tx.storeResponse(statusOK, "", rule)
	})
	return rule, err
}

// ListMoratoriumRules are the rules there are, one a kind at most. Operators only.
func (s *Service) ListMoratoriumRules(ctx context.Context, actor Actor) ([]wire.MoratoriumRule, error) {
	if err := s.authorize(ctx, actor, ScopeOperator); err != nil {
		return nil, err
	}
	rows, err := loadMoratoriumRules(ctx, s.db)
	if err != nil {
		return nil, translateError(err)
	}
	rules := make([]wire.MoratoriumRule, len(rows))
	for i := range rows {
		rules[i] = *rows[i].toRecord()
	}
	return rules, nil
}

func (r *moratoriumRuleRow) toRecord() *wire.MoratoriumRule {
	return &wire.MoratoriumRule{
		Kind: string(r.Kind), Measure: r.Measure, Minimum: r.Minimum, RadiusKM: r.RadiusKM,
		Lasts: formatISODuration(time.Duration(r.Seconds) * time.Second), UpdatedAt: r.UpdatedAt, Author: r.Author.name(), AuthorIssuer: r.Author.issuer(),
	}
}

// formatISODuration writes a time of whole seconds as ISO 8601 does, in hours where it has no less.
func formatISODuration(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("PT%dH", d/time.Hour)
	}
	return fmt.Sprintf("PT%dS", d/time.Second)
}

// shippedAuthor is the author of shipped rules.
const shippedAuthor = "parapet"

// shippedRules close the places within 1,000 km of each fix of a storm for 48 hours,
// whatever its wind, and those within 300 km of a quake of magnitude 6 for three days.
var shippedRules = []moratoriumRuleRow{
	{Kind: hazard.Earthquake, Minimum: decimal.NewFromInt(6), RadiusKM: 300, Seconds: 72 * 3600},
	{Kind: hazard.StormFix, Minimum: decimal.Zero, RadiusKM: 1_000, Seconds: 48 * 3600},
}

// ApplyShippedMoratoriumRules writes the rules of this release where no operator set or took
// away one, and applies them to what was observed lately. Switched off, it takes them
// away and ends what they closed. It may run any number of times and in any number of
// processes.
func (s *Service) ApplyShippedMoratoriumRules(ctx context.Context, on bool) error {
	return s.InTx(ctx, System(), func(ctx context.Context, tx *Tx) error {
		if !on {
			_, err := tx.NewRaw(`with gone as (delete from moratorium_rules where author = ?0)
				update moratoria set ends_at = ?1, version = version + 1, updated_at = ?1 where author = ?0 and lifted_at is null and ends_at > ?1`,
				shippedAuthor, tx.now).Exec(ctx)
			return err
		}
		for _, rule := range shippedRules {
			rule.Measure, rule.UpdatedAt, rule.Author = ruleMeasures[rule.Kind], tx.now, shippedAuthor
			_, err := tx.NewInsert().Model(&rule).On("conflict (kind) do update").
				Set("minimum = excluded.minimum, radius_km = excluded.radius_km, seconds = excluded.seconds, updated_at = excluded.updated_at").
				Where("mr.author = excluded.author and (mr.minimum, mr.radius_km, mr.seconds) is distinct from (excluded.minimum, excluded.radius_km, excluded.seconds)").Exec(ctx)
			if err != nil {
				return fmt.Errorf("ship moratorium rules: %w", err)
			}
		}
		return tx.updateRecentMoratoria(ctx)
	})
}

// loadMoratoriumRules are the rules that hold, in order of their kinds.
func loadMoratoriumRules(ctx context.Context, db bun.IDB) ([]moratoriumRuleRow, error) {
	var rules []moratoriumRuleRow
	if err := db.NewSelect().Model(&rules).Where("not disabled").OrderExpr("kind").Scan(ctx); err != nil {
		return nil, fmt.Errorf("read moratorium rules: %w", err)
	}
	return rules, nil
}
