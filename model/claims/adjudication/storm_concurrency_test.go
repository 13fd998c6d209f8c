package adjudication_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"parapet/model/claims/adjudication"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/modeltest"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// smallSlice is the size of slices of these tests: Evaluate decides the first slices of
// 100 policies itself and leaves the others to workers.
const smallSlice = 5

// newStormBundle returns a bundle with small slices and enough connections for many
// workers.
func newStormBundle(t *testing.T) *modeltest.Bundle {
	t.Helper()
	b := modeltest.New(t, modeltest.WithConnections(16))
	b.Service.Adjudication.SetSliceSize(smallSlice)
	return b
}

// bindPayable binds n policies. Every second one can be paid.
func bindPayable(b *modeltest.Bundle, n int) []*wire.Policy {
	policies := bindMany(b, "quake-circle", n)
	for i := 0; i < n; i += 2 {
		b.RecordPayoutMethod(modeltest.PolicyIBANMethod(policies[i].ID))
	}
	b.RunAccountChecks()
	return policies
}

// report records a reading and returns the job that matches its occurrence.
func report(t *testing.T, b *modeltest.Bundle, reading wire.ObservationInput) occurrence.EvaluateOccurrences {
	t.Helper()
	recorded, _, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Source, reading, false)
	require.NoError(t, err)
	return occurrence.EvaluateOccurrences{Occurrences: []string{*recorded.OccurrenceID}}
}

// runPass runs one pass of matching until no bind of another transaction delays it.
func runPass(ctx context.Context, b *modeltest.Bundle, job occurrence.EvaluateOccurrences) error {
	for {
		err := b.Service.Adjudication.Evaluate(ctx, job)
		if !errors.Is(err, adjudication.ErrBarrierPending) {
			return err
		}
	}
}

// decideWithWorkers starts workers that decide slices until the returned function is
// called. That function decides what is left.
func decideWithWorkers(ctx context.Context, b *modeltest.Bundle, workers int) (finish func() error) {
	var group errgroup.Group
	done := make(chan struct{})
	for range workers {
		group.Go(func() error {
			for {
				if _, err := b.Service.Adjudication.DecideSlices(ctx); err != nil {
					return err
				}
				select {
				case <-done:
					return nil
				case <-time.After(time.Millisecond):
				}
			}
		})
	}
	return func() error {
		close(done)
		return group.Wait()
	}
}

// requireClaimPerEvent checks that every policy has exactly one claim for each of the
// occurrences, and that its claims owe together as much as the determinations say, but
// never more than the limit. It returns how many policies have nothing left.
func requireClaimPerEvent(t *testing.T, b *modeltest.Bundle, policies []*wire.Policy, occurrences int) (exhausted int) {
	t.Helper()
	var rows []struct {
		Claims, Occurrences, Undecided          int
		Owed, Determined, Limit, Left, Reserved int64
	}
	require.NoError(t, b.DB.Bun.NewRaw(`select count(*) as claims, count(distinct c.occurrence_id) as occurrences,
			count(*) filter (where c.status not in ('approved', 'declined')) as undecided,
			coalesce(sum(c.amount), 0) as owed, sum(d.amount) as determined, p.limit_amount as limit, p.limit_remaining as left,
			(select coalesce(sum(po.amount), 0) from payouts po where po.policy_id = p.id) as reserved
		from policies p join claims c on c.policy_id = p.id join determinations d on d.id = c.determination_id group by p.id, p.partner`).Scan(t.Context(), &rows))
	require.Len(t, rows, len(policies))
	for _, row := range rows {
		require.Equal(t, []int{occurrences, occurrences, 0}, []int{row.Claims, row.Occurrences, row.Undecided})
		require.Equal(t, min(row.Limit, row.Determined), row.Owed)
		require.Equal(t, row.Owed, row.Reserved, "a payout for everything owed")
		require.Equal(t, row.Limit-row.Owed, row.Left)
		if row.Left == 0 {
			exhausted++
		}
	}
	require.Zero(t, modeltest.Must(b.Service.DB.NewSelect().Table("matchings").Where("completed_at is null").Count(t.Context())))
	return exhausted
}

// Four events hit the same policies at once, and together owe more than the limit.
func TestStormsAtOnceNeverPayMoreThanTheLimit(t *testing.T) {
	t.Parallel()
	b := newStormBundle(t)
	policies := bindPayable(b, 60)
	b.AdvanceClock(modeltest.Day)
	var storms errgroup.Group
	finish := decideWithWorkers(t.Context(), b, 4)
	for i, magnitude := range []string{"6.4", "6.9", "6.4", "6.6"} {
		job := report(t, b, modeltest.Quake(fmt.Sprintf("us%d", i), b.Now().Add(-time.Duration(i+1)*time.Hour), modeltest.Epicentre, magnitude))
		storms.Go(func() error { return runPass(t.Context(), b, job) })
	}
	require.NoError(t, storms.Wait())
	require.NoError(t, finish())
	b.RunJobs()
	require.Equal(t, len(policies), requireClaimPerEvent(t, b, policies, 4))
}

// Policies are bound while events are reported and decided. A policy has a claim for
// every event after the beginning of its cover, and for no other.
func TestBindsDuringAStormAreDecidedOnce(t *testing.T) {
	t.Parallel()
	b := newStormBundle(t)
	const binders, each, events = 4, 15, 6
	bindPayable(b, 40)
	var binds, storms errgroup.Group
	finish := decideWithWorkers(t.Context(), b, 2)
	for range binders {
		quotes := make([]*wire.Quote, each)
		for i := range quotes {
			quotes[i] = b.Quote("quake-circle", nil)
		}
		binds.Go(func() error {
			for _, quote := range quotes {
				if _, err := b.Service.Policies.Bind(t.Context(), b.Acme, underwriting.BindRequest{QuoteID: quote.ID}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for i := range events {
		where := modeltest.Epicentre
		where.Latitude += float64(i) * 0.001
		job := report(t, b, modeltest.Quake(fmt.Sprintf("us%d", i), b.Now(), where, "6.4"))
		storms.Go(func() error { return runPass(t.Context(), b, job) })
	}
	require.NoError(t, errors.Join(binds.Wait(), storms.Wait(), finish()))
	b.RunJobs()
	var expected, missing, extra, repeated int
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), `with hit as (
			select p.id as policy, oc.id as occurrence from policies p cross join occurrences oc where p.effective_at <= oc.occurred_at),
		have as (select policy_id as policy, occurrence_id as occurrence, count(*) as n from claims group by 1, 2)
		select (select count(*) from hit), (select count(*) from hit left join have h using (policy, occurrence) where h.n is null),
			(select count(*) from have left join hit using (policy, occurrence) where hit.policy is null), (select count(*) from have where n > 1)`).
		Scan(&expected, &missing, &extra, &repeated))
	require.GreaterOrEqual(t, expected, 40*events)
	require.Equal(t, []int{0, 0, 0}, []int{missing, extra, repeated}, "of %d claims", expected)
	t.Logf("%d policies, %d claims", 40+binders*each, expected)
}

// The source revises its values while slices of the earlier values are decided. All
// claims are decided once, by the final values.
func TestRevisionsDuringAStormDecideByTheFinalValues(t *testing.T) {
	t.Parallel()
	b := newStormBundle(t)
	policies := bindPayable(b, 100)
	b.AdvanceClock(modeltest.Day)
	at := b.Now().Add(-time.Hour)
	var storms errgroup.Group
	finish := decideWithWorkers(t.Context(), b, 3)
	for i, magnitude := range []string{"6.4", "6.9", "5.6", "6.4", "6.6"} {
		reading := modeltest.Quake("us1", at, modeltest.Epicentre, magnitude)
		if i < 4 {
			reading.Stage = trigger.Preliminary
		}
		job := report(t, b, reading)
		storms.Go(func() error { return runPass(t.Context(), b, job) })
	}
	require.NoError(t, errors.Join(storms.Wait(), finish()))
	b.RunJobs()
	requireClaimPerEvent(t, b, policies, 1)
	var wrong int
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), `select count(*) from claims c join determinations d on d.id = c.determination_id
		where c.status <> 'approved' or d.body -> 'index' ->> 'value' <> '6.6' or c.amount <> d.amount`).Scan(&wrong))
	require.Zero(t, wrong)
}
