package adjudication_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims/adjudication"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// runUntilIsolated runs all matching jobs until only policies that fail alone are left. It
// returns their jobs and errors.
func runUntilIsolated(t *testing.T, b *modeltest.Bundle) (left []adjudication.EvaluatePolicies, failures []error) {
	t.Helper()
	for next := b.TakeJobIfAny(); next != nil; next = b.TakeJobIfAny() {
		switch job := next.(type) {
		case occurrence.EvaluateOccurrences:
			require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), occurrence.EvaluateOccurrences{Occurrences: job.Occurrences}))
		case adjudication.EvaluatePolicies:
			if err := b.Service.Adjudication.EvaluatePolicies(t.Context(), job); err != nil {
				left, failures = append(left, job), append(failures, err)
			}
		}
	}
	return left, failures
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
	left, failures := runUntilIsolated(t, b)
	require.Len(t, left, 1)
	require.Equal(t, []string{bad.ID}, left[0].Policies)
	require.ErrorContains(t, failures[0], "policy "+bad.ID)
	require.ErrorContains(t, failures[0], want)
	approved := func(p *wire.Policy) bool {
		var n int
		require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select count(*) from claims where policy_id = $1 and status = 'approved'", modeltest.DatabaseID(p)).Scan(&n))
		return n == 1
	}
	for _, p := range policies {
		require.Equal(t, p != bad, approved(p), "%s of %s", p.ID, bad.ID)
	}
	_, err := b.DB.Pool.Exec(t.Context(), mend)
	require.NoError(t, err)
	require.NoError(t, b.Service.Adjudication.EvaluatePolicies(t.Context(), left[0]))
	require.True(t, approved(bad), "the retry decides it")
	require.NoError(t, b.Service.Adjudication.EvaluatePolicies(t.Context(), left[0]), "it is decided only once")
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

func TestDatabaseThatIsAwayFailsTheJobAndSplitsNothing(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policies := bindMany(b, "quake-circle", 2)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	job := b.LastJob().(occurrence.EvaluateOccurrences)
	_, err := b.DB.Pool.Exec(t.Context(), `create function shut() returns trigger language plpgsql as $$ begin raise exception 'shut' using errcode = '57P01'; end $$;
		create trigger shut before insert on claims for each row execute function shut()`)
	require.NoError(t, err)
	require.Equal(t, apperr.CodeUnavailable, apperr.CodeOf(b.Service.Adjudication.Evaluate(t.Context(), job)))
	require.Equal(t, store.Job(job), b.LastJob(), "no other job was enqueued")
	_, err = b.DB.Pool.Exec(t.Context(), "drop trigger shut on claims")
	require.NoError(t, err)
	b.RunJobs()
	for _, p := range policies {
		require.Equal(t, "approved", b.OnlyClaim(p).Status)
	}
}
