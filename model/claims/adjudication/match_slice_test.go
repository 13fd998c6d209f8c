package adjudication_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims/adjudication"
	"parapet/model/claims/matching"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/insight/progress"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// decideUntilIsolated runs all matching jobs, and slices as they become due, until only
// slices of one policy that fails are left. It returns them.
func decideUntilIsolated(t *testing.T, b *modeltest.Bundle) (left []matching.SliceRow) {
	t.Helper()
	b.RunJobs()
	for range 30 {
		left = nil
		require.NoError(t, b.Service.DB.NewSelect().Model(&left).Where("done_at is null").OrderExpr("number").Scan(t.Context()))
		if !slices.ContainsFunc(left, func(slice matching.SliceRow) bool {
			return len(slice.Policies) > 1 || slice.Attempts < adjudication.UndecidableAfter
		}) {
			return left
		}
		b.AdvanceClock(time.Minute)
		_, err := b.Service.Adjudication.DecideSlices(t.Context())
		require.NoError(t, err)
	}
	require.FailNow(t, "the slices are not isolated", "%v", left)
	return nil
}

// bindMany binds n policies of a product.
func bindMany(b *modeltest.Bundle, product string, n int) []*wire.Policy {
	policies := make([]*wire.Policy, n)
	for i := range policies {
		policies[i] = b.QuoteAndBind(product, nil)
	}
	return policies
}

// requireOneFailure checks that only one of several policies failed, and that it is decided once
// it is repaired.
func requireOneFailure(t *testing.T, b *modeltest.Bundle, policies []*wire.Policy, bad *wire.Policy, want string, mend string) {
	t.Helper()
	left := decideUntilIsolated(t, b)
	require.Len(t, left, 1)
	require.Equal(t, []string{modeltest.DatabaseID(bad)}, []string{left[0].Policies[0].String()})
	require.Contains(t, *left[0].Error, want)
	stats, err := b.Service.Operations.HealthStats(t.Context(), actor.System())
	require.NoError(t, err)
	require.EqualValues(t, 1, stats.UndecidablePolicies)
	approved := func(p *wire.Policy) bool {
		var n int
		require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select count(*) from claims where policy_id = $1 and status = 'approved'", modeltest.DatabaseID(p)).Scan(&n))
		return n == 1
	}
	for _, p := range policies {
		require.Equal(t, p != bad, approved(p), "%s of %s", p.ID, bad.ID)
	}
	_, err = b.DB.Pool.Exec(t.Context(), mend)
	require.NoError(t, err)
	b.AdvanceClock(15 * time.Minute)
	b.Sweep()
	b.RunJobs()
	require.True(t, approved(bad), "the next attempt decides it")
}

func TestPolicyWhoseRowIsUnreadableHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policies := bindMany(b, "quake-circle", 5)
	bad := policies[2]
	_, err := b.DB.Pool.Exec(t.Context(), "update policies set cover = jsonb_set(cover::jsonb, '{limit}', '\"much\"')::json where id = $1", modeltest.DatabaseID(bad))
	require.NoError(t, err)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	requireOneFailure(t, b, policies, bad, "read candidates", fmt.Sprintf("update policies set cover = (select cover from policies where id = '%s') where id = '%s'", modeltest.DatabaseID(policies[0]), modeltest.DatabaseID(bad)))
}

func TestPolicyThatAConstraintRefusesHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policies := bindMany(b, "quake-circle", 5)
	bad := policies[4]
	_, err := b.DB.Pool.Exec(t.Context(), fmt.Sprintf("alter table claims add constraint broken check (policy_id <> '%s')", modeltest.DatabaseID(bad)))
	require.NoError(t, err)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	requireOneFailure(t, b, policies, bad, "broken", "alter table claims drop constraint broken")
}

func TestPolicyOverWhichARulePanicsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policies := bindMany(b, "quake-circle", 3)
	bad := policies[0]
	modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	_, err := b.DB.Pool.Exec(t.Context(), "update claims set determination_id = null where policy_id = $1", modeltest.DatabaseID(bad))
	require.NoError(t, err)
	report := modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.5")
	b.Observe(report)
	requireOneFailure(t, b, policies, bad, "panic", fmt.Sprintf("update claims set determination_id = (select id from determinations where policy_id = '%[1]s') where policy_id = '%[1]s'", modeltest.DatabaseID(bad)))
}

func TestPolicyAtAStationThatFailsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policies := make([]*wire.Policy, 3)
	for i := range policies {
		policies[i] = b.QuoteAndBind("rain-excess", modeltest.Context{"days": 1})
	}
	bad := policies[1]
	_, err := b.DB.Pool.Exec(t.Context(), "update policies set cover = jsonb_set(cover::jsonb, '{limit}', '\"much\"')::json where id = $1", modeltest.DatabaseID(bad))
	require.NoError(t, err)
	b.AdvanceClock(14 * 24 * time.Hour)
	day := policies[0].EffectiveAt.Truncate(24*time.Hour).AddDate(0, 0, 9)
	b.Observe(modeltest.RainSpell(policies[0], day, "180")...)
	requireOneFailure(t, b, policies, bad, "read candidates", fmt.Sprintf("update policies set cover = (select cover from policies where id = '%s') where id = '%s'", modeltest.DatabaseID(policies[0]), modeltest.DatabaseID(bad)))
}

func TestUnavailableDatabaseCountsNoAttempt(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policies := bindMany(b, "quake-circle", 2)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	job := b.LastJob().(occurrence.EvaluateOccurrences)
	_, err := b.DB.Pool.Exec(t.Context(), `create function shut() returns trigger language plpgsql as $$ begin raise exception 'shut' using errcode = '57P01'; end $$;
		create trigger shut before insert on claims for each row execute function shut()`)
	require.NoError(t, err)
	require.Equal(t, apperr.CodeUnavailable, apperr.CodeOf(b.Service.Adjudication.Evaluate(t.Context(), job)))
	var attempts int
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select sum(attempts) from matching_slices").Scan(&attempts))
	require.Zero(t, attempts, "no policy is the cause")
	_, err = b.DB.Pool.Exec(t.Context(), "drop trigger shut on claims")
	require.NoError(t, err)
	b.RunJobs()
	for _, p := range policies {
		require.Equal(t, "approved", b.OnlyClaim(p).Status)
	}
}

// Done slices are deleted after a day, and a later job writes new ones. One that fails is
// halved, and delays no other.
func TestNumbersOfDeletedSlicesAreNotUsedAgain(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.Service.Adjudication.SetSliceSize(1)
	policies := bindMany(b, "quake-circle", 3)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	b.RunJobs()
	b.AdvanceClock(25 * time.Hour)
	b.Sweep()
	b.RunJobs()
	require.Empty(t, slicesOf(t, b))
	b.Service.Adjudication.SetSliceSize(10)
	_, err := b.DB.Pool.Exec(t.Context(), `create function fails() returns trigger language plpgsql as $$ begin raise exception 'a fault of a rule'; end $$;
		create trigger fails before update of done_at on matching_slices for each row when (new.done_at is not null and cardinality(new.policies) > 1) execute function fails()`)
	require.NoError(t, err)
	again := adjudication.EvaluatePolicies{Occurrence: occurrenceID(t, b, "us1"), Policies: []string{policies[1].ID, policies[2].ID}}
	require.NoError(t, b.Service.Adjudication.EvaluatePolicies(t.Context(), again))
	require.Equal(t, 4, slicesOf(t, b)[0].Number)
	requireCounts(t, progressFor(t, b, b.Operator, "us1"), progress.Complete, 3, 3, 3)
	require.Empty(t, decideUntilIsolated(t, b))
	require.Len(t, slicesOf(t, b), 2, "it was halved")
	requireCounts(t, progressFor(t, b, b.Operator, "us1"), progress.Complete, 3, 3, 3)
}
