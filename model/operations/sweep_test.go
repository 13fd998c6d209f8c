package operations_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/operations"
	"parapet/model/payouts"
)

func TestSweepExpiresQuotesInOneBatch(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for range 3 {
		b.Quote("quake-circle", nil)
	}
	bound := b.QuoteAndBind("quake-circle", nil)
	b.AdvanceClock(25 * time.Hour)
	require.NoError(t, b.Service.Operations.SweepDue(t.Context(), "quotes"))
	count := func(from string, args ...any) (n int) {
		require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select count(*) from "+from, args...).Scan(&n))
		return n
	}
	require.Equal(t, 3, count("quotes where status = 'expired' and version = 2"))
	require.Equal(t, 3, count("events where type = 'quote.expired'"))
	require.Equal(t, 1, count("quotes where status = 'bound'"))
	b.AdvanceClock(366 * 24 * time.Hour)
	require.NoError(t, b.Service.Operations.SweepDue(t.Context(), "policies"))
	require.Equal(t, 1, count("events where type = 'policy.expired'"))
	policy, err := b.Service.Policies.Get(t.Context(), b.Acme, bound.ID)
	require.NoError(t, err)
	require.Equal(t, "expired", policy.Status)
}

// Half of the policies are due and of a status that the sweep does not change; of the others
// one is due.
func TestSweepOfPoliciesReadsOnlyThoseThatItChanges(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	b.CopyPolicies(400)
	for _, c := range []struct {
		sweep          func(context.Context, *store.Tx) (int, error)
		changed, other string
	}{{operations.ExpirePolicies, "active", "exhausted"}, {operations.ArchivePolicies, "exhausted", "active"}} {
		modeltest.ExecSQL(t, b, `update policies p set status = case when n % 2 = 0 then $1 else $2 end, expires_at = due, reportable_until = due
			from (select id, n, case when n % 2 = 1 or n = 2 then $3::timestamptz else $3::timestamptz + interval '1 day' end as due
				from (select id, row_number() over () as n from policies) numbered) x where x.id = p.id`, c.changed, c.other, b.Now())
		modeltest.ExecSQL(t, b, "vacuum analyze policies")
		require.NoError(t, b.Service.Operations.InTx(t.Context(), actor.System(), func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.NewRaw("set local enable_seqscan = off").Exec(ctx) // as it is for more policies
			require.NoError(t, err)
			read := modeltest.CountRowsRead(ctx, t, tx, "policies", func() {
				n, err := c.sweep(ctx, tx)
				require.NoError(t, err)
				require.Equal(t, 1, n, c.changed)
			})
			require.Less(t, read, 20, c.changed)
			return nil
		}))
	}
}

func TestSweepDueHoldsLockPerKind(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.Quote("quake-circle", nil)
	b.AdvanceClock(25 * time.Hour)
	other, err := b.DB.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = other.Exec(t.Context(), "select pg_advisory_xact_lock(hashtext('sweep'), hashtext('quotes'))")
	require.NoError(t, err)
	expired := func() (n int) {
		require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select count(*) from quotes where status = 'expired'").Scan(&n))
		return n
	}
	for _, work := range operations.DueWorkKinds() {
		require.NoError(t, b.Service.Operations.SweepDue(t.Context(), work))
	}
	require.Zero(t, expired(), "another process is at it")
	require.NoError(t, other.Commit(t.Context()))
	require.NoError(t, b.Service.Operations.SweepDue(t.Context(), "quotes"))
	require.Equal(t, 1, expired())
	require.NoError(t, b.Service.Operations.SweepDue(t.Context(), "unknown"))
}

func TestDeadlinesAreSweptEveryFewSeconds(t *testing.T) {
	t.Parallel()
	slow := []store.DueWork{"secrets", "partitions", "files"}
	for _, work := range operations.DueWorkKinds() {
		want := 5 * time.Second
		if slices.Contains(slow, work) {
			want = time.Minute
		}
		require.Equal(t, want, operations.SweepInterval(work), work)
	}
}

func TestPayoutOfDeadWorkerIsRequeuedAfterLease(t *testing.T) {
	t.Parallel()
	b, _ := modeltest.NewReadyPayout(t)
	asked := func() int {
		b.Sweep()
		return b.CountJobs("release_payout")
	}
	require.Equal(t, 1, asked())
	b.AdvanceClock(25 * time.Second)
	require.Equal(t, 1, asked(), "a pending payout may stand in a queue")
	b.AdvanceClock(10 * time.Second)
	require.Equal(t, 2, asked(), "its job was lost")
	var payout string
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select args ->> 'id' from modeltest_jobs where kind = 'release_payout' limit 1").Scan(&payout))
	order, _, err := b.Service.Releases.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", payout)
	require.NoError(t, err)
	require.Equal(t, payouts.ReleaseLease, order.Lease)
	b.AdvanceClock(payouts.ReleaseLease)
	require.Equal(t, 2, asked(), "the queue brings back what waits")
	b.AdvanceClock(10 * time.Second)
	require.Equal(t, 3, asked())
	b.AdvanceClock(10 * time.Second)
	require.Equal(t, 3, asked(), "once")
	b.RunJobs()
	require.Len(t, b.Rail.Orders, 1)
}

// TestStatisticsTakeATurnOfBulkWork collects them in a process that answers requests. Other
// due work takes no turn.
func TestStatisticsTakeATurnOfBulkWork(t *testing.T) {
	t.Parallel()
	for work, taken := range map[store.DueWork]int{"statistics": 1, "quotes": 0} {
		t.Run(string(work), func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			b.OccupyBulkWork()()
			blocked, ended := b.BlockTable("clock"), make(chan error, 1)
			go func() { ended <- b.Service.Operations.SweepDue(t.Context(), work) }()
			blocked.AwaitWaiter()
			require.Equal(t, modeltest.BulkTurns()-taken, b.FreeBulkTurns())
			blocked.Release()
			require.NoError(t, <-ended)
			require.Equal(t, modeltest.BulkTurns(), b.FreeBulkTurns(), "it gave its turn back")
		})
	}
}

// The order of the events about several claims of a policy must not depend on where their
// rows lie.
func TestClaimThatIsDueLongestIsReviewedFirst(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for range 3 {
		b.QuoteAndBind("quake-circle", nil)
	}
	modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	list := func(query string) (ids []string) {
		require.NoError(t, b.DB.Bun.NewRaw(query).Scan(t.Context(), &ids))
		return ids
	}
	want := list("select id::text from claims where status = 'deferred' order by id desc")
	require.Len(t, want, 3)
	modeltest.ExecSQL(t, b, "update claims c set next_review_at = business_now() - n * interval '1 hour' from (select id, row_number() over (order by id) as n from claims) o where o.id = c.id")
	modeltest.ExecSQL(t, b, "analyze claims") // a table of one page is read without its indexes
	b.Sweep()
	require.Equal(t, want, list("select subject_id::text from events where type = 'claim.updated' order by id"))
}
