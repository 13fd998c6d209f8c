package rules_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/internal/rules"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	met := func(change func(*rules.Facts)) rules.Facts {
		f := rules.Facts{Met: true, Reason: "threshold_met", Amount: 20, Remaining: 100, Settled: true}
		change(&f)
		return f
	}
	approve := func(amount int64, reasons ...string) rules.Decision {
		return rules.Decision{Outcome: rules.Approve, Reasons: reasons, Amount: amount}
	}
	for name, tc := range map[string]struct {
		facts rules.Facts
		want  rules.Decision
	}{
		"owed in full":          {met(func(*rules.Facts) {}), approve(20, "threshold_met")},
		"exactly what is left":  {met(func(f *rules.Facts) { f.Remaining = 20 }), approve(20, "threshold_met")},
		"one more than is left": {met(func(f *rules.Facts) { f.Remaining = 19 }), approve(19, "threshold_met", "limit_exhausted")},
		"nothing left": {
			met(func(f *rules.Facts) { f.Remaining = 0 }),
			rules.Decision{Outcome: rules.Decline, Reasons: []string{"threshold_met", "limit_exhausted"}},
		},
		"preliminary, met or not": {
			met(func(f *rules.Facts) { f.Settled, f.Met, f.Remaining, f.PossibleDuplicate = false, false, 0, true }),
			rules.Decision{Outcome: rules.Defer, Reasons: []string{"source_preliminary"}},
		},
		"a second report": {
			met(func(f *rules.Facts) { f.PossibleDuplicate = true }),
			rules.Decision{Outcome: rules.Defer, Reasons: []string{"duplicate_event"}},
		},
		"not met after all": {
			rules.Facts{Reason: "outside_place", Remaining: 100, Settled: true, PossibleDuplicate: true},
			rules.Decision{Outcome: rules.Decline, Reasons: []string{"outside_place"}},
		},
	} {
		require.Equal(t, tc.want, rules.Decide(tc.facts), name)
	}
}
