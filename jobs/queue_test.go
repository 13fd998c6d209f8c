package jobs

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"parapet/model/claims/adjudication"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
)

// jobsOfEachKind returns one job of each kind that the domain enqueues, and two more.
var jobsOfEachKind = []store.Job{
	occurrence.EvaluateOccurrences{Occurrences: []string{"occ_1"}},
	occurrence.EvaluateOccurrences{Occurrences: []string{"occ_1"}, After: "700"},
	adjudication.DecideSlices{Worker: 1},
	adjudication.EvaluatePolicies{Occurrence: "occ_1", Policies: []string{"pol_01kajw6p5qfn1t7zbjy0yse3hv"}},
	payouts.VerifyPayoutMethod{Partner: "acme", ID: "pmt_1"},
	payouts.ReleasePayout{Partner: "acme", ID: "pay_1"},
	payouts.ReleasePayout{Partner: "acme", ID: "pay_1"},
}

// asking runs a function in a transaction of the domain, with its connection.
func (s *fixture) asking(do func(ctx context.Context, conn bun.Conn) error) error {
	conn, err := s.DB.Bun.Conn(s.t.Context())
	require.NoError(s.t, err)
	defer func() { require.NoError(s.t, conn.Close()) }()
	return conn.RunInTx(s.t.Context(), nil, func(ctx context.Context, _ bun.Tx) error { return do(ctx, conn) })
}

func TestJobsAreInsertedInTheSameTransaction(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	queue, err := NewQueue(s.pool)
	require.NoError(t, err)
	insert := func(then error) func(context.Context, bun.Conn) error {
		return func(ctx context.Context, conn bun.Conn) error {
			require.NoError(t, queue.Insert(ctx, conn, jobsOfEachKind))
			require.Zero(t, s.countRows("river.river_job"), "a job is invisible until its cause is committed") //nolint:contextcheck // this reads outside of the transaction
			return then
		}
	}

	failed := errors.New("the cause failed")
	require.ErrorIs(t, s.asking(insert(failed)), failed)
	require.Zero(t, s.countRows("river.river_job"))

	require.NoError(t, s.asking(insert(nil)))
	require.Equal(t, len(jobsOfEachKind), s.countRows("river.river_job where state = 'available'"))
	for kind, policy := range insertOptions {
		n := s.countRows("river.river_job where kind = $1", kind)
		require.Equal(t, n, s.countRows("river.river_job where kind = $1 and queue = $2 and max_attempts = $3", kind, policy.Queue, policy.MaxAttempts), kind)
	}
	require.Zero(t, s.countRows("river.river_job as other join river.river_job as event using (queue) where other.kind = 'evaluate_policies' and event.kind = 'evaluate_occurrences' and event.priority >= other.priority"),
		"new events go first")
	require.Equal(t, 1, s.countRows(`river.river_job where args = '{"occurrences": ["occ_1"], "after": "700"}'`))
}

func TestJobsAreRefusedOutsideATransaction(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	queue, err := NewQueue(s.pool)
	require.NoError(t, err)

	conn, err := s.DB.Bun.Conn(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, queue.Insert(t.Context(), conn, jobsOfEachKind), errNoTransaction)
	require.NoError(t, conn.PingContext(t.Context()), "the connection stays good")
	require.NoError(t, conn.Close())

	require.Error(t, s.asking(func(ctx context.Context, conn bun.Conn) error {
		_, err := conn.ExecContext(ctx, "select 1 / 0")
		require.Error(t, err)
		require.ErrorIs(t, queue.Insert(ctx, conn, jobsOfEachKind), errNoTransaction, "nor in one that failed")
		return err
	}))
	require.Zero(t, s.countRows("river.river_job"))
}

// The queue uses the domain's transaction and must not end it.
func TestQueueCannotEndDomainTransaction(t *testing.T) {
	t.Parallel()
	tx := domainTx{}
	_, err := tx.Begin(t.Context())
	require.ErrorIs(t, err, errDomainTx)
	require.ErrorIs(t, tx.Commit(t.Context()), errDomainTx)
	require.ErrorIs(t, tx.Rollback(t.Context()), errDomainTx)
}
