package capacity

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// MoratoriumRuleRow is a rule that stops the sale of one peril around new events.
type MoratoriumRuleRow struct {
	bun.BaseModel `bun:"table:moratorium_rules,alias:mr"`

	Kind      hazard.Peril `bun:",pk"`
	Measure   string
	Minimum   decimal.Decimal
	RadiusKM  float64 `bun:"radius_km"`
	Seconds   int64
	UpdatedAt time.Time
	Author    actor.PersonID
	Disabled  bool // an operator removed the shipped rule
}

// MoratoriumRuleRequest sets or removes the rule of a peril.
type MoratoriumRuleRequest struct {
	Kind hazard.Peril    // earthquake, by magnitude; windstorm, by wind in kn
	Rule *MoratoriumRule // nil removes it
}

// MoratoriumRule stops sales around an event that reaches a minimum. An earthquake or a
// storm is known before its claims are made, and cover bought on that knowledge must be
// prevented. Shipped rules apply until an operator sets another rule or removes them.
type MoratoriumRule struct {
	Minimum  decimal.Decimal // inclusive; at 0 a reading without the measure counts too
	RadiusKM float64         // around the place of the event, or each fix of the storm
	Lasts    string          // ISO 8601 duration, from the time of the event
}

// shippedRules returns the shipped rule of each peril that has one.
func shippedRules() (rules []MoratoriumRuleRow) {
	for _, kind := range hazard.Kinds() {
		if m := kind.Rules().Moratorium; m != nil {
			rules = append(rules, MoratoriumRuleRow{
				Kind: kind.Rules().Peril, Measure: m.Measure, Minimum: m.Minimum, RadiusKM: m.RadiusKM, Seconds: int64(m.Lasts.Seconds()), Author: shippedAuthor,
			})
		}
	}
	return rules
}

// measureOf returns the measure that a peril's rule compares; empty if it has none.
func measureOf(peril hazard.Peril) string {
	for _, rule := range shippedRules() {
		if rule.Kind == peril {
			return rule.Measure
		}
	}
	return ""
}

// ruledPerils says which perils have rules and how sales of the others are stopped.
func ruledPerils() string {
	var ruled, others []string
	for _, peril := range trigger.Perils() {
		if measureOf(peril) != "" {
			ruled = append(ruled, string(peril))
		} else {
			others = append(others, string(peril))
		}
	}
	return fmt.Sprintf("Use %s. Observations of %s stop no sales: declare a moratorium instead.", strings.Join(ruled, " or "), strings.Join(others, " and "))
}

// MaxRuleDuration bounds how long a rule stops sales, maxRuleRadius how far around.
const (
	MaxRuleDuration = 30 * 24 * time.Hour
	maxRuleRadius   = 5_000
)

func (in *MoratoriumRuleRequest) validate(v *apperr.Validator) (lasts time.Duration) {
	v.Require(measureOf(in.Kind) != "", "/kind", "enum", ruledPerils())
	if in.Rule == nil {
		return 0
	}
	start := time.Unix(0, 0)
	end, err := trigger.AddDuration(start, in.Rule.Lasts)
	lasts = end.Sub(start)
	v.Require(err == nil && lasts > 0 && lasts <= MaxRuleDuration, "/rule/lasts", "value", "Use an ISO 8601 duration of at most 30 days, such as PT72H.")
	v.Require(in.Rule.RadiusKM > 0 && in.Rule.RadiusKM <= maxRuleRadius, "/rule/radius_km", "value", "Use more than 0 and at most 5000 km.")
	return lasts
}

// SetMoratoriumRule sets or removes the rule for a kind of event; the result is nil when
// the rule is removed. It applies at once to recent observations. Active moratoria of an
// earlier rule keep their end, unless they are lifted. Operators only. Errors:
// validation_failed.
func (s *Service) SetMoratoriumRule(ctx context.Context, caller actor.Actor, in MoratoriumRuleRequest) (*wire.MoratoriumRule, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	v := apperr.NewValidator(ctx)
	lasts := in.validate(v)
	if err := v.Err(); err != nil {
		return nil, err
	}
	row := &MoratoriumRuleRow{Kind: in.Kind, Measure: measureOf(in.Kind), Seconds: int64(lasts.Seconds()), Author: caller.PersonID()}
	var rule *wire.MoratoriumRule
	err := s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		row.UpdatedAt, row.Disabled, rule = tx.Now, in.Rule == nil, nil
		if in.Rule != nil {
			row.Minimum, row.RadiusKM = in.Rule.Minimum, in.Rule.RadiusKM
			rule = row.toRecord()
		}
		_, err := tx.NewInsert().Model(row).On("conflict (kind) do update").Set("minimum = excluded.minimum, radius_km = excluded.radius_km, " +
			"seconds = excluded.seconds, updated_at = excluded.updated_at, author = excluded.author, disabled = excluded.disabled").Exec(ctx)
		if err != nil {
			return fmt.Errorf("set moratorium rule: %w", err)
		}
		if err := store.Local[Settings](tx.Store).RulesChanged(ctx, tx); err != nil {
			return err
		}
		return tx.StoreResponse(store.StatusOK, "", rule)
	})
	return rule, err
}

// ListMoratoriumRules returns the active rules, at most one per kind. Operators only.
func (s *Service) ListMoratoriumRules(ctx context.Context, caller actor.Actor) ([]wire.MoratoriumRule, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	rows, err := LoadMoratoriumRules(ctx, s.DB)
	if err != nil {
		return nil, store.TranslateError(err)
	}
	rules := make([]wire.MoratoriumRule, len(rows))
	for i := range rows {
		rules[i] = *rows[i].toRecord()
	}
	return rules, nil
}

func (r *MoratoriumRuleRow) toRecord() *wire.MoratoriumRule {
	return &wire.MoratoriumRule{
		Kind: string(r.Kind), Measure: r.Measure, Minimum: r.Minimum, RadiusKM: r.RadiusKM,
		Lasts: formatISODuration(time.Duration(r.Seconds) * time.Second), UpdatedAt: r.UpdatedAt, Author: r.Author.Name(), AuthorIssuer: r.Author.Issuer(),
	}
}

// formatISODuration formats a duration of whole seconds in ISO 8601, in hours if it has
// no fraction of an hour.
func formatISODuration(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("PT%dH", d/time.Hour)
	}
	return fmt.Sprintf("PT%dS", d/time.Second)
}

// shippedAuthor is the author of shipped rules.
const shippedAuthor = "parapet"

// ApplyShippedMoratoriumRules writes the rules of this release for kinds whose rule no
// operator set or removed, and applies them to recent observations. With on false it
// removes them and ends their moratoria. It may run any number of times and in any number
// of processes.
func (s *Service) ApplyShippedMoratoriumRules(ctx context.Context, on bool) error {
	return s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		if !on {
			_, err := tx.NewRaw(`with gone as (delete from moratorium_rules where author = ?0)
				update moratoria set ends_at = ?1, version = version + 1, updated_at = ?1 where author = ?0 and lifted_at is null and ends_at > ?1`,
				shippedAuthor, tx.Now).Exec(ctx)
			return err
		}
		for _, rule := range shippedRules() {
			rule.UpdatedAt = tx.Now
			_, err := tx.NewInsert().Model(&rule).On("conflict (kind) do update").
				Set("minimum = excluded.minimum, radius_km = excluded.radius_km, seconds = excluded.seconds, updated_at = excluded.updated_at").
				Where("mr.author = excluded.author and (mr.minimum, mr.radius_km, mr.seconds) is distinct from (excluded.minimum, excluded.radius_km, excluded.seconds)").Exec(ctx)
			if err != nil {
				return fmt.Errorf("ship moratorium rules: %w", err)
			}
		}
		return store.Local[Settings](tx.Store).RulesChanged(ctx, tx)
	})
}

// LoadMoratoriumRules returns the active rules, ordered by kind.
func LoadMoratoriumRules(ctx context.Context, db bun.IDB) ([]MoratoriumRuleRow, error) {
	var rules []MoratoriumRuleRow
	if err := db.NewSelect().Model(&rules).Where("not disabled").OrderExpr("kind").Scan(ctx); err != nil {
		return nil, fmt.Errorf("read moratorium rules: %w", err)
	}
	return rules, nil
}
