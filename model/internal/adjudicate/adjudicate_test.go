package adjudicate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/internal/adjudicate"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	met := func(change func(*adjudicate.Facts)) adjudicate.Facts {
		f := adjudicate.Facts{Met: true, Reason: "threshold_met", Amount: 20, Remaining: 100, Settled: true}
		change(&f)
		return f
	}
	approve := func(amount int64, reasons ...string) adjudicate.Decision {
		return adjudicate.Decision{Outcome: adjudicate.Approve, Reasons: reasons, Amount: amount}
	}
	for name, tc := range map[string]struct {
		facts adjudicate.Facts
		want  adjudicate.Decision
	}{
		"owed in full":          {met(func(*adjudicate.Facts) {}), approve(20, "threshold_met")},
		"exactly what is left":  {met(func(f *adjudicate.Facts) { f.Remaining = 20 }), approve(20, "threshold_met")},
		"one more than is left": {met(func(f *adjudicate.Facts) { f.Remaining = 19 }), approve(19, "threshold_met", "limit_exhausted")},
		"nothing left": {
			met(func(f *adjudicate.Facts) { f.Remaining = 0 }),
			adjudicate.Decision{Outcome: adjudicate.Decline, Reasons: []string{"threshold_met", "limit_exhausted"}},
		},
		"provisional, met or not": {
			met(func(f *adjudicate.Facts) { f.Settled, f.Met, f.Remaining, f.PossibleDuplicate = false, false, 0, true }),
			adjudicate.Decision{Outcome: adjudicate.Defer, Reasons: []string{"source_preliminary"}},
		},
		"a second report": {
			met(func(f *adjudicate.Facts) { f.PossibleDuplicate = true }),
			adjudicate.Decision{Outcome: adjudicate.Defer, Reasons: []string{"duplicate_event"}},
		},
		"not met after all": {
			adjudicate.Facts{Reason: "outside_place", Remaining: 100, Settled: true, PossibleDuplicate: true},
			adjudicate.Decision{Outcome: adjudicate.Decline, Reasons: []string{"outside_place"}},
		},
	} {
		require.Equal(t, tc.want, adjudicate.Decide(tc.facts), name)
	}
}
