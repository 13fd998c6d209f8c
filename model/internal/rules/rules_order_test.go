package rules_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"parapet/model/internal/rules"
)

// drawFacts generates any combination of facts, with amounts near each other.
func drawFacts(t *rapid.T) rules.Facts {
	flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
	return rules.Facts{
		Met: flag("met"), Reason: "below_threshold", Amount: rapid.Int64Range(1, 5).Draw(t, "amount"), Remaining: rapid.Int64Range(0, 6).Draw(t, "remaining"),
		Settled: flag("settled"), Incomplete: flag("incomplete"), Ongoing: flag("ongoing"), SameOccurrence: flag("same occurrence"), PossibleDuplicate: flag("possible duplicate"),
	}
}

// The rules apply in order: a later one decides only if no earlier one does.
func TestFirstRuleThatAppliesDecides(t *testing.T) {
	t.Parallel()
	order := []struct {
		applies func(rules.Facts) bool
		want    rules.Decision
	}{
		{func(f rules.Facts) bool { return f.SameOccurrence }, rules.Decision{Outcome: rules.Decline, Reasons: []string{"duplicate_event"}}},
		{func(f rules.Facts) bool { return f.Incomplete }, rules.Decision{Outcome: rules.Defer, Reasons: []string{"evidence_needed"}}},
		{func(f rules.Facts) bool { return !f.Settled }, rules.Decision{Outcome: rules.Defer, Reasons: []string{"source_preliminary"}}},
		{func(f rules.Facts) bool { return !f.Met && f.Ongoing }, rules.Decision{Outcome: rules.Defer, Reasons: []string{"source_preliminary"}}},
		{func(f rules.Facts) bool { return !f.Met }, rules.Decision{Outcome: rules.Decline, Reasons: []string{"below_threshold"}}},
		{func(f rules.Facts) bool { return f.PossibleDuplicate }, rules.Decision{Outcome: rules.Defer, Reasons: []string{"duplicate_event"}}},
	}
	rapid.Check(t, func(t *rapid.T) {
		facts := drawFacts(t)
		got := rules.Decide(facts)
		for _, rule := range order {
			if rule.applies(facts) {
				require.Equal(t, rule.want, got)
				return
			}
		}
		require.Equal(t, facts.Remaining == 0, got.Outcome == rules.Decline)
		require.Equal(t, facts.Remaining < facts.Amount, slices.Contains(got.Reasons, "limit_exhausted"))
		require.Equal(t, min(facts.Amount, facts.Remaining), got.Amount)
	})
}

func TestOnlyAnApprovalOwesMoney(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		facts := drawFacts(t)
		got := rules.Decide(facts)
		require.Equal(t, got.Outcome == rules.Approve, got.Amount > 0)
		require.LessOrEqual(t, got.Amount, facts.Remaining)
		require.NotEmpty(t, got.Reasons, "a decision says why")
	})
}

func TestMissingDaysAreEvidenceNeeded(t *testing.T) {
	t.Parallel()
	facts := rules.Facts{Met: true, Amount: 20, Remaining: 100, Settled: true, Incomplete: true}
	require.Equal(t, rules.Decision{Outcome: rules.Defer, Reasons: []string{"evidence_needed"}}, rules.Decide(facts))
	facts.SameOccurrence = true
	require.Equal(t, rules.Decision{Outcome: rules.Decline, Reasons: []string{"duplicate_event"}}, rules.Decide(facts), "no day changes it")
}

func TestOperatorApprovesAtMostTheRemainingLimit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		owed, remaining, amount int64
		reasons                 []string
	}{
		{20, 100, 20, []string{"goodwill"}},
		{20, 20, 20, []string{"goodwill"}},
		{20, 19, 19, []string{"goodwill", "limit_exhausted"}},
		{20, 0, 0, []string{"goodwill", "limit_exhausted"}},
	} {
		given := append(make([]string, 0, 2), "goodwill")
		got := rules.ApproveByOperator(tc.owed, tc.remaining, given)
		require.Equal(t, rules.Decision{Outcome: rules.Approve, Reasons: tc.reasons, Amount: tc.amount}, got)
		require.Equal(t, []string{"goodwill", ""}, given[:2], "the caller's reasons are unchanged")
	}
}
