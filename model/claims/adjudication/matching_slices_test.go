package adjudication_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"parapet/model/claims/adjudication"
	"parapet/model/claims/matching"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/payouts"
)

// slicesOf returns the slices of the newest version of the only occurrence, by number.
func slicesOf(t *testing.T, b *modeltest.Bundle) (rows []matching.SliceRow) {
	t.Helper()
	require.NoError(t, b.Service.DB.NewSelect().Model(&rows).Where("version = (select max(version) from matchings)").OrderExpr("number").Scan(t.Context()))
	return rows
}

// requireOneClaimEach checks that every policy has one approved claim with one payout, and
// that nothing of the matching is left.
func requireOneClaimEach(t *testing.T, b *modeltest.Bundle, policies int) {
	t.Helper()
	var claims, policyIDs, payouts, incomplete int
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), `select count(*), count(distinct policy_id), (select count(*) from payouts),
		(select count(*) from matchings where completed_at is null) from claims where status = 'approved'`).Scan(&claims, &policyIDs, &payouts, &incomplete))
	require.Equal(t, []int{policies, policies, policies, 0}, []int{claims, policyIDs, payouts, incomplete})
}

func TestLargeEventIsDecidedInDisjointSlicesByManyWorkers(t *testing.T) {
	t.Parallel()
	const size = 20
	const policies = 100*size + 10
	b := modeltest.New(t, modeltest.WithoutChecks())
	b.Service.Adjudication.SetSliceSize(size)
	b.CopyPolicies(policies)
	b.Observe(modeltest.Quake("us1", b.Now().Add(-time.Hour), modeltest.Epicentre, "6.9"))
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), b.LastJob().(occurrence.EvaluateOccurrences)))
	require.Equal(t, 96, b.CountJobs("decide_slices"), "one for each slice, up to 96")
	seen := make(map[uuid.UUID]bool)
	done := 0
	for i, slice := range slicesOf(t, b) {
		require.Equal(t, i+1, slice.Number)
		require.LessOrEqual(t, len(slice.Policies), size)
		for j, id := range slice.Policies {
			require.False(t, seen[id], "the slices are disjoint")
			require.True(t, j == 0 || slice.Policies[j-1].String() < id.String(), "ids ascend")
			seen[id] = true
		}
		if slice.DoneAt != nil {
			done++
		}
	}
	require.Len(t, seen, policies)
	require.Zero(t, done, "a job that fails after this is repeated, and would write slices of what is decided")
	stored := readingsOf(t, b)
	require.Len(t, stored, 1, "slices that begin at the same time would wait for the one that stores it")
	decideConcurrently(t, b, 9)
	requireOneClaimEach(t, b, policies)
	require.Equal(t, stored, readingsOf(t, b), "the determinations refer to it")
}

// readingsOf returns the digests of all readings.
func readingsOf(t *testing.T, b *modeltest.Bundle) (digests []string) {
	t.Helper()
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select array_agg(digest order by digest) from occurrence_readings").Scan(&digests))
	return digests
}

func TestLargestLimitsOfEachCurrencyAreDecidedFirstOnRequest(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	store.Local[adjudication.MatchSettings](b.Service.Store).LargestFirst = true
	b.Service.Adjudication.SetSliceSize(2)
	var policies []uuid.UUID
	for _, limit := range []string{"100 USD", "400 USD", "300 USD", "200 EUR", "200 USD"} {
		var amount int64
		var currency string
		_, err := fmt.Sscan(limit, &amount, &currency)
		require.NoError(t, err)
		policy := b.QuoteAndBind("quake-circle", modeltest.Context{"limit": map[string]any{"amount": amount * 10_000, "currency": currency}})
		policies = append(policies, uuid.MustParse(modeltest.DatabaseID(policy)))
	}
	b.AdvanceClock(24 * time.Hour)
	b.Observe(modeltest.Quake("us1", b.Now().Add(-time.Hour), modeltest.Epicentre, "6.9"))
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), b.LastJob().(occurrence.EvaluateOccurrences)))
	var decided [][]uuid.UUID
	for _, slice := range slicesOf(t, b) {
		decided = append(decided, slice.Policies)
	}
	require.Equal(t, [][]uuid.UUID{{policies[1], policies[3]}, {policies[2], policies[4]}, {policies[0]}}, decided, "ids ascend in each")
	require.Equal(t, 3, b.CountJobs("decide_slices"))
}

// TestFrequentWritesEnqueueNoJobEach keeps a reason for which jobs are inserted in the
// transaction of their cause: see package jobs.
func TestFrequentWritesEnqueueNoJobEach(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	store.Local[payouts.ReleaseSettings](b.Service.Store).Batch = true
	b.CopyPolicies(20)
	before := b.CountJobs("")
	b.QuoteAndBind("quake-circle", nil)
	require.Equal(t, before, b.CountJobs(""), "a quote and a bind")
	b.AdvanceClock(time.Hour)
	b.Observe(modeltest.Quake("us1", b.Now().Add(-time.Minute), modeltest.Epicentre, "6.9"))
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), b.LastJob().(occurrence.EvaluateOccurrences)))
	require.Equal(t, 1, b.CountJobs("release_batch"))
	require.Zero(t, b.CountJobs("release_payout"))
	require.Equal(t, before+2, b.CountJobs(""), "the evaluation and the batch")
}

func TestSmallEventGoesAheadOfLargeOne(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	b.AdvanceClock(24 * time.Hour)
	_, err := b.DB.Pool.Exec(t.Context(), "create function absent() returns trigger language plpgsql as $$ begin raise exception 'no' using errcode = '57P01'; end $$; create trigger absent before insert on claims execute function absent()")
	require.NoError(t, err)
	for i, name := range []string{"large", "small"} {
		b.Observe(modeltest.Quake(name, b.Now().Add(-time.Duration(i+1)*time.Hour), modeltest.Epicentre, "6.9"))
		require.Error(t, b.Service.Adjudication.Evaluate(t.Context(), b.LastJob().(occurrence.EvaluateOccurrences)))
	}
	_, err = b.DB.Pool.Exec(t.Context(), `drop trigger absent on claims;
		update matching_slices set candidates = 70000 where occurrence_id = (select id from occurrences where source_event_id = 'large')`)
	require.NoError(t, err)
	_, err = b.Service.Adjudication.DecideSlices(t.Context())
	require.NoError(t, err)
	var first string
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select source_event_id from claims c join occurrences oc on oc.id = c.occurrence_id where policy_id = $1 order by c.id limit 1",
		modeltest.DatabaseID(policy)).Scan(&first))
	require.Equal(t, "small", first)
}

// The slices of the first version were never decided; those of the second cover them.
func TestRevisionEndsSlicesOfOlderVersions(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	b.AdvanceClock(2 * 24 * time.Hour)
	at := b.Now()
	b.Observe(modeltest.Quake("us1", at, modeltest.Epicentre, "6.4"))
	hold := modeltest.BeginOutsideTx(t, b)
	hold.Run("select from policies for update")
	first := b.LastJob().(occurrence.EvaluateOccurrences)
	ended := make(chan error, 1)
	go func() { ended <- b.Service.Adjudication.Evaluate(t.Context(), first) }()
	awaitLock(t, b, "transactionid")
	_, err := b.DB.Pool.Exec(t.Context(), `insert into matching_slices (occurrence_id, version, number, candidates, policies, due_at)
		select occurrence_id, version, 7, 1, policies, due_at from matching_slices`)
	require.NoError(t, err)
	require.NoError(t, hold.Rollback(t.Context()))
	require.NoError(t, <-ended)
	b.Observe(modeltest.Quake("us1", at, modeltest.Epicentre, "6.5"))
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), b.LastJob().(occurrence.EvaluateOccurrences)))
	var left int
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select count(*) from matching_slices where done_at is null").Scan(&left))
	require.Zero(t, left)
	require.Equal(t, "approved", b.OnlyClaim(policy).Status)
	b.RunJobs()
}

func TestSecondPassDecidesOnlyPoliciesOfNoSlice(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.QuoteAndBind("quake-circle", nil)
	late := b.QuoteAndBind("quake-circle", nil)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	job := b.LastJob().(occurrence.EvaluateOccurrences)
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), job))
	require.Len(t, slicesOf(t, b)[0].Policies, 2)
	_, err := b.DB.Pool.Exec(t.Context(), "update matching_slices set policies = array_remove(policies, $1)", modeltest.DatabaseID(late))
	require.NoError(t, err)
	job.After = "9/9"
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), job))
	require.Equal(t, []uuid.UUID{uuid.MustParse(modeltest.DatabaseID(late))}, slicesOf(t, b)[1].Policies)
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), job))
	require.Len(t, slicesOf(t, b), 2)
}

func TestSweepEnqueuesDueSlicesAndDeletesOldOnes(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	modeltest.ObserveQuake(b, "us1", "6.4", "final")
	b.RunJobs()
	require.Len(t, slicesOf(t, b), 1)
	_, err := b.DB.Pool.Exec(t.Context(), "update matching_slices set done_at = null, due_at = business_now() + interval '1 hour'; update matchings set completed_at = null")
	require.NoError(t, err)
	b.Sweep()
	require.Nil(t, b.TakeJobIfAny(), "the slice is not due")
	_, err = b.DB.Pool.Exec(t.Context(), "update matching_slices set due_at = business_now()")
	require.NoError(t, err)
	b.Sweep()
	for worker := range 96 { // more than slices: dead processes may hold some
		require.Equal(t, store.Job(adjudication.DecideSlices{Worker: worker}), b.TakeJob())
	}
	require.Nil(t, b.TakeJobIfAny())
	_, err = b.Service.Adjudication.DecideSlices(t.Context())
	require.NoError(t, err)
	requireOneClaimEach(t, b, 1)
	b.AdvanceClock(23 * time.Hour)
	b.Sweep()
	require.Len(t, slicesOf(t, b), 1)
	b.AdvanceClock(2 * time.Hour)
	b.Sweep()
	require.Empty(t, slicesOf(t, b))
	require.Equal(t, "approved", b.OnlyClaim(policy).Status)
}

// A row lock that slices of a large event share for a long time would never be free for a
// revision. The lock of the source is granted in the order of the requests.
func TestRevisionIsRecordedBetweenSlices(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.QuoteAndBind("quake-circle", nil)
	at := b.Now()
	b.Observe(modeltest.Quake("us1", at, modeltest.Epicentre, "6.4"))
	job := b.LastJob().(occurrence.EvaluateOccurrences)
	slice := modeltest.BeginOutsideTx(t, b)
	slice.Run("select pg_advisory_xact_lock_shared(hashtextextended(scope || '/' || source, 1)) from occurrences")
	revised, decided := make(chan string, 1), make(chan error, 1)
	go func() { revised <- b.Observe(modeltest.Quake("us1", at, modeltest.Epicentre, "7.1"))[0].Result }()
	awaitLock(t, b, "advisory")
	go func() { decided <- b.Service.Adjudication.Evaluate(t.Context(), job) }()
	require.Eventually(t, func() bool {
		var waiting int
		require.NoError(t, b.DB.Pool.QueryRow(t.Context(), `select count(*) from pg_locks l join pg_stat_activity a using (pid)
			where not l.granted and l.locktype = 'advisory' and a.datname = current_database()`).Scan(&waiting))
		return waiting == 2 // the next slice waits behind the revision
	}, 30*time.Second, 5*time.Millisecond)
	require.NoError(t, slice.Rollback(t.Context()))
	require.Equal(t, occurrence.ResultRevised, <-revised)
	require.NoError(t, <-decided)
	var amount, limit int64
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select c.amount, p.limit_amount from claims c join policies p on p.id = c.policy_id").Scan(&amount, &limit))
	require.Equal(t, limit, amount, "the slice was decided with the revised magnitude")
	b.RunJobs()
}
