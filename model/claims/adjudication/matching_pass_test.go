package adjudication_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims/adjudication"
	"parapet/model/hazard/occurrence"
	"parapet/model/insight/progress"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// matchingLeft reports whether the matching of the only occurrence is not complete.
func matchingLeft(t *testing.T, b *modeltest.Bundle) (left bool) {
	t.Helper()
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select bool_or(completed_at is null) from matchings").Scan(&left))
	return left
}

// bindDuringFirstPass binds a policy that the first pass of an earthquake does not see. It
// returns the job of the second pass, which has not run.
func bindDuringFirstPass(t *testing.T, b *modeltest.Bundle) (policy string, second occurrence.EvaluateOccurrences) {
	t.Helper()
	second, finish := pauseBindDuringFirstPass(t, b)
	return modeltest.DatabaseID(finish()), second
}

func countApproved(t *testing.T, b *modeltest.Bundle, policy string) (n int) {
	t.Helper()
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select count(*) from claims where policy_id = $1 and status = 'approved'", policy).Scan(&n))
	return n
}

// loseJobs removes all jobs, as operators can who cancel them.
func loseJobs(t *testing.T, b *modeltest.Bundle) {
	t.Helper()
	_, err := b.DB.Pool.Exec(t.Context(), "delete from modeltest_jobs")
	require.NoError(t, err)
}

func TestMatchingIsCompleteAfterItsSecondPass(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, second := bindDuringFirstPass(t, b)
	require.True(t, matchingLeft(t, b), "the second pass is left")
	requireCounts(t, progressFor(t, b, b.Operator, "us1"), progress.Deciding, 0, 0, 0)
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), second))
	require.False(t, matchingLeft(t, b))
	require.Equal(t, 1, countApproved(t, b, policy))
	requireCounts(t, progressFor(t, b, b.Operator, "us1"), progress.Complete, 1, 1, 1)
	b.RunJobs()
}

func TestSweepRepeatsALostSecondPass(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, second := bindDuringFirstPass(t, b)
	loseJobs(t, b)
	b.AdvanceClock(9 * time.Minute)
	b.Sweep()
	require.Nil(t, b.TakeJobIfAny(), "the job may still come")
	b.AdvanceClock(time.Minute)
	b.Sweep()
	require.Equal(t, second, b.LastJob(), "with the transactions that it waits for")
	loseJobs(t, b)
	b.AdvanceClock(9 * time.Minute)
	b.Sweep()
	require.Nil(t, b.TakeJobIfAny(), "once in ten minutes")
	b.AdvanceClock(time.Minute)
	b.Sweep()
	b.RunJobs()
	require.Equal(t, 1, countApproved(t, b, policy))
	require.False(t, matchingLeft(t, b))
}

func TestSweepRepeatsALostFirstPass(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := modeltest.DatabaseID(b.QuoteAndBind("quake-circle", nil))
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	loseJobs(t, b)
	b.AdvanceClock(9 * time.Minute)
	b.Sweep()
	require.Nil(t, b.TakeJobIfAny(), "the job may still come")
	b.AdvanceClock(2 * time.Minute)
	b.Sweep()
	b.Sweep()
	require.NotNil(t, b.TakeJobIfAny())
	require.Nil(t, b.TakeJobIfAny(), "once in ten minutes")
	require.True(t, matchingLeft(t, b))
	b.AdvanceClock(10 * time.Minute)
	b.Sweep()
	b.RunJobs()
	require.Equal(t, 1, countApproved(t, b, policy))
	require.False(t, matchingLeft(t, b))
}

// Other jobs may be the first to match a version whose own job is lost.
func TestOtherJobsDoNotHideALostFirstPass(t *testing.T) {
	t.Parallel()
	for name, match := range map[string]func(t *testing.T, b *modeltest.Bundle, policy *wire.Policy, second occurrence.EvaluateOccurrences){
		"some policies": func(t *testing.T, b *modeltest.Bundle, policy *wire.Policy, _ occurrence.EvaluateOccurrences) {
			t.Helper()
			require.NoError(t, b.Service.Adjudication.EvaluatePolicies(t.Context(), adjudication.EvaluatePolicies{Occurrence: occurrenceID(t, b, "us1"), Policies: []string{policy.ID}}))
		},
		"the second pass of the version before": func(t *testing.T, b *modeltest.Bundle, _ *wire.Policy, second occurrence.EvaluateOccurrences) {
			t.Helper()
			require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), second))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			policies := bindMany(b, "quake-circle", 2)
			at := b.Now()
			b.Observe(modeltest.Quake("us1", at, modeltest.Epicentre, "4.9"))
			b.RunJobs()
			b.Observe(modeltest.Quake("us1", at, modeltest.Epicentre, "6.4"))
			second := b.LastJob().(occurrence.EvaluateOccurrences)
			second.After = "9/9"
			loseJobs(t, b)
			match(t, b, policies[0], second)
			require.True(t, matchingLeft(t, b))
			require.Equal(t, string(progress.Waiting), progressFor(t, b, b.Operator, "us1").Status)
			b.AdvanceClock(10 * time.Minute)
			b.Sweep()
			b.RunJobs()
			for _, policy := range policies {
				require.Equal(t, "approved", b.OnlyClaim(policy).Status)
			}
			require.False(t, matchingLeft(t, b))
			requireCounts(t, progressFor(t, b, b.Operator, "us1"), progress.Complete, 2, 2, 2)
		})
	}
}

// The job of some policies does not end the second pass that is left.
func TestOtherJobsLeaveTheSecondPass(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, second := bindDuringFirstPass(t, b)
	other := bindMany(b, "quake-circle", 1)[0]
	require.NoError(t, b.Service.Adjudication.EvaluatePolicies(t.Context(), adjudication.EvaluatePolicies{Occurrence: occurrenceID(t, b, "us1"), Policies: []string{other.ID}}))
	require.True(t, matchingLeft(t, b))
	loseJobs(t, b)
	b.AdvanceClock(10 * time.Minute)
	b.Sweep()
	require.Equal(t, second, b.LastJob())
	b.RunJobs()
	require.Equal(t, 1, countApproved(t, b, policy))
	require.False(t, matchingLeft(t, b))
}

// A repeated first pass after a complete matching may find a bind that runs.
func TestRepeatedPassReopensTheMatchingOnlyForWhatIsLeft(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	job := b.LastJob().(occurrence.EvaluateOccurrences)
	b.RunJobs()
	completedAt := func() (at *time.Time) {
		require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select completed_at from matchings").Scan(&at))
		return at
	}
	before := completedAt()
	second := job
	second.After = "9/9"
	b.AdvanceClock(time.Minute)
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), second))
	require.Equal(t, before, completedAt(), "nothing was left")
	quote := b.Quote("quake-circle", nil)
	hold := modeltest.BeginOutsideTx(t, b)
	hold.Run("select from quotes for update")
	bound := bindInBackground(t, b, quote)
	awaitLock(t, b, "transactionid")
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), job))
	require.Nil(t, completedAt(), "the second pass is left")
	require.NoError(t, hold.Rollback(t.Context()))
	<-bound
	b.RunJobs()
	require.NotNil(t, completedAt())
}

// Another job inserts the matching while the first pass waits for its lock.
func TestFirstPassThatWaitedIsNotLeft(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	bindMany(b, "quake-circle", 1)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	hold := modeltest.BeginOutsideTx(t, b)
	hold.Run("insert into matchings (occurrence_id, version, candidates, started_at, pass_after, pass_due_at) select id, version, 0, business_now(), '', business_now() from occurrences")
	ended := make(chan error, 1)
	job := b.LastJob().(occurrence.EvaluateOccurrences)
	go func() { ended <- b.Service.Adjudication.Evaluate(t.Context(), job) }()
	awaitLock(t, b, "transactionid")
	require.NoError(t, hold.Commit(t.Context()))
	require.NoError(t, <-ended)
	require.False(t, matchingLeft(t, b))
	requireCounts(t, progressFor(t, b, b.Operator, "us1"), progress.Complete, 1, 1, 1)
	b.RunJobs()
}

// A revision is matched while the first pass of the version before waits for a lock.
func TestSupersededPassWritesNoSlices(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	bindMany(b, "quake-circle", 2)
	at := b.Now()
	b.Observe(modeltest.Quake("us1", at, modeltest.Epicentre, "6.4"))
	first := b.LastJob().(occurrence.EvaluateOccurrences)
	hold := modeltest.BeginOutsideTx(t, b)
	hold.Run("insert into matchings (occurrence_id, version, candidates, started_at) select id, version, 0, business_now() from occurrences")
	ended := make(chan error, 1)
	go func() { ended <- b.Service.Adjudication.Evaluate(t.Context(), first) }()
	awaitLock(t, b, "transactionid")
	b.Observe(modeltest.Quake("us1", at, modeltest.Epicentre, "6.5"))
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), b.LastJob().(occurrence.EvaluateOccurrences)))
	require.NoError(t, hold.Rollback(t.Context()))
	require.NoError(t, <-ended)
	var versions []int
	require.NoError(t, b.Service.DB.NewRaw("select distinct version from matching_slices").Scan(t.Context(), &versions))
	require.Equal(t, []int{2}, versions)
	b.RunJobs()
	requireOneClaimEach(t, b, 2)
}

// The newest version finds what an older one would have found.
func TestRevisionEndsPassesOfOlderVersions(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, _ := bindDuringFirstPass(t, b)
	loseJobs(t, b)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.5"))
	b.RunJobs()
	require.Equal(t, 1, countApproved(t, b, policy))
	require.False(t, matchingLeft(t, b))
}

func TestInvariantFindsAPassThatIsLeft(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	_, second := bindDuringFirstPass(t, b)
	require.Empty(t, b.Violations())
	b.AdvanceClock(25 * time.Hour)
	require.Contains(t, b.Violations()["inv_matchings"][0], "was not completed within a day")
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), second))
	b.RunJobs()
}

// A second pass holds the matching and writes slices while the last slice of the first
// ends.
func TestMatchingWithNewSlicesIsNotCompleted(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := modeltest.DatabaseID(b.QuoteAndBind("quake-circle", nil))
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	b.RunJobs()
	hold := modeltest.BeginOutsideTx(t, b)
	hold.Run("update matchings set completed_at = null")
	require.NoError(t, hold.Commit(t.Context()))
	hold = modeltest.BeginOutsideTx(t, b)
	hold.Run("update matchings set candidates = candidates + 1")
	hold.Run(`insert into matching_slices (occurrence_id, version, number, candidates, policies, due_at) select occurrence_id, version, 99, 1, array[$1::uuid], due_at from matching_slices`, policy)
	swept := make(chan struct{})
	go func() {
		defer close(swept)
		b.Sweep()
	}()
	awaitLock(t, b, "transactionid")
	require.NoError(t, hold.Commit(t.Context()))
	<-swept
	require.True(t, matchingLeft(t, b))
	b.Sweep()
	b.RunJobs()
	b.Sweep()
	require.False(t, matchingLeft(t, b))
}

// A worker may have read relations that an operator changes while it decides.
func TestPoliciesOfASliceInWorkAreDecidedAgain(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.QuoteAndBind("quake-circle", nil)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	job := b.LastJob().(occurrence.EvaluateOccurrences)
	b.RunJobs()
	const reopen = "update matching_slices set done_at = null"
	_, err := b.DB.Pool.Exec(t.Context(), reopen)
	require.NoError(t, err)
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), job))
	require.Len(t, slicesOf(t, b), 1, "a slice that waits is not written again")
	_, err = b.DB.Pool.Exec(t.Context(), reopen)
	require.NoError(t, err)
	hold := modeltest.BeginOutsideTx(t, b)
	hold.Run("select from matching_slices for update")
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), job))
	require.Len(t, slicesOf(t, b), 2, "one in work is")
	require.NoError(t, hold.Rollback(t.Context()))
	b.Sweep()
	b.RunJobs()
}

func TestSliceThatTakesTooLongIsHalved(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policies := bindMany(b, "quake-circle", 3)
	_, err := b.DB.Pool.Exec(t.Context(), `create function slow() returns trigger language plpgsql as $$ begin raise exception 'canceling statement due to statement timeout' using errcode = '57014'; end $$;
		create trigger slow before insert on claims for each row when (new.policy_id = '`+modeltest.DatabaseID(policies[1])+`') execute function slow()`)
	require.NoError(t, err)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	requireOneFailure(t, b, policies, policies[1], "statement timeout", "drop trigger slow on claims")
}
