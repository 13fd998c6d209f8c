package payouts_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/payouts"
	"parapet/model/wire"
)

// payoutRow reads a payout as it is stored.
func payoutRow(t *testing.T, b *modeltest.Bundle, id string) *claims.PayoutRow {
	t.Helper()
	row := new(claims.PayoutRow)
	require.NoError(t, b.DB.Bun.NewSelect().Model(row).Where("po.id = ?", modeltest.Must(store.ResourcePayout.ParseID(id))).Scan(t.Context()))
	return row
}

// Every column that a release changes is written to its own place. No payout has all of
// these values at once, so the test removes the constraints that say so.
func TestSavedPayoutsHaveEveryChangedColumn(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	claim := modeltest.NewApprovedClaim(b)
	id := modeltest.OnlyPayout(t, b, claim).ID
	want := payoutRow(t, b, id)
	modeltest.ExecSQL(t, b, `do $$ declare c text; begin
		for c in select conname from pg_constraint where conrelid = 'payouts'::regclass and contype = 'c' loop
			execute format('alter table payouts drop constraint %I', c);
		end loop; end $$`)
	at := b.Now().Truncate(time.Microsecond)
	err := b.Service.Payouts.InTx(t.Context(), actor.System(), func(ctx context.Context, tx *store.Tx) error {
		locked, err := payouts.LockPayouts(ctx, tx, "", []uuid.UUID{want.ID})
		if err != nil {
			return err
		}
		row := locked[0].Row
		row.BlockedReason, row.PreviousBlockReason = new(claims.BlockedOperator), new(claims.BlockedApproval)
		row.Attempts, row.IdempotencySeq = 3, 5
		row.Provider, row.ProviderReference = new("bank"), new("ref-7")
		row.NextAttemptAt, row.ReleasedAt, row.ReconciledAt = new(at.Add(time.Hour)), new(at.Add(2*time.Hour)), new(at.Add(3*time.Hour))
		tx.BumpVersion(&row.RowHeader)
		want = new(*row)
		payouts.SavePayouts(tx, locked)
		return tx.Flush(ctx)
	})
	require.NoError(t, err)
	got := payoutRow(t, b, id)
	for _, row := range []*claims.PayoutRow{want, got} {
		for _, at := range []*time.Time{row.NextAttemptAt, row.ReleasedAt, row.ReconciledAt, &row.UpdatedAt, &row.CreatedAt} {
			*at = at.UTC()
		}
	}
	require.Equal(t, want, got)
}

func TestUnchangedPayoutsAreNotWritten(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	id := modeltest.OnlyPayout(t, b, claim).ID
	before := payoutRow(t, b, id)
	require.NoError(t, b.Service.Payouts.InTx(t.Context(), actor.System(), func(ctx context.Context, tx *store.Tx) error {
		locked, err := payouts.LockPayouts(ctx, tx, "", []uuid.UUID{before.ID})
		if err != nil {
			return err
		}
		locked[0].Row.Attempts = 9
		payouts.SavePayouts(tx, locked)
		return nil
	}))
	require.Equal(t, before, payoutRow(t, b, id), "a change has a new version")
}

func TestPayoutsAreLockedForThoseWhoMaySeeThem(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	mine := modeltest.NewApprovedClaim(b)
	their := b.ActingAs(b.Globex).QuoteAndBind("quake-circle", nil)
	b.Observe(modeltest.Quake("us2", b.Now(), modeltest.Epicentre, "6.4"))
	b.RunJobs()
	theirs := b.ActingAs(b.Globex).OnlyClaim(their)
	own, other := payoutRow(t, b, modeltest.OnlyPayout(t, b, mine).ID), payoutRow(t, b, theirs.Payouts[0].ID)
	lock := func(who actor.Actor, partner string, ids ...uuid.UUID) (locked []uuid.UUID) {
		require.NoError(t, b.Service.Payouts.InTx(t.Context(), who, func(ctx context.Context, tx *store.Tx) error {
			all, err := payouts.LockPayouts(ctx, tx, partner, ids)
			for _, each := range all {
				require.Equal(t, each.Claim.ID, each.Row.ClaimID)
				require.Equal(t, each.Version, each.Row.Version)
				locked = append(locked, each.Row.ID)
			}
			return err
		}))
		return locked
	}
	require.Equal(t, []uuid.UUID{own.ID, other.ID}, lock(b.Operator, "", other.ID, own.ID, uuid.New()), "in the order of their ids")
	require.Equal(t, []uuid.UUID{own.ID}, lock(b.Operator, "acme", other.ID, own.ID))
	require.Equal(t, []uuid.UUID{own.ID}, lock(b.Acme, "", other.ID, own.ID))
	require.Empty(t, lock(b.Acme, "globex", other.ID, own.ID))
	err := payouts.ChangePayout(t.Context(), b.Service.Payouts.Store, b.Acme, "", store.ResourcePayout.FormatID(other.ID), nil)
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)
	err = payouts.ChangePayout(t.Context(), b.Service.Payouts.Store, b.Operator, "", mine.ID, nil)
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code, "the id of a claim")
}

// requeued runs a sweep's step and returns the payouts that it enqueued.
func requeued(t *testing.T, b *modeltest.Bundle, step func(context.Context, *store.Tx) (int, error)) (jobs []payouts.ReleasePayout) {
	t.Helper()
	require.NoError(t, b.Service.Payouts.InTx(t.Context(), actor.System(), func(ctx context.Context, tx *store.Tx) error {
		n, err := step(ctx, tx)
		for _, job := range tx.Jobs {
			jobs = append(jobs, job.(payouts.ReleasePayout)) //nolint:forcetypeassert // the step enqueues no other
		}
		require.Len(t, jobs, n)
		return err
	}))
	return jobs
}

func TestOverduePayoutIsRequeuedOnceAMinute(t *testing.T) {
	t.Parallel()
	b, id := modeltest.NewReadyPayout(t, modeltest.WithoutChecks())
	wait := func(d time.Duration) { b.AdvanceClock(d) }
	modeltest.ExecSQL(t, b, "update payouts set next_attempt_at = business_now() - interval '20 seconds'")
	require.Empty(t, requeued(t, b, payouts.RequeuePendingPayouts), "its job may be in a long queue")
	wait(15 * time.Second)
	require.Empty(t, requeued(t, b, payouts.RequeuePayoutsInFlight), "it is not in flight")
	require.Equal(t, []payouts.ReleasePayout{{Partner: "acme", ID: id, Requeued: true}}, requeued(t, b, payouts.RequeuePendingPayouts))
	require.Empty(t, requeued(t, b, payouts.RequeuePendingPayouts), "it was requeued just now")
	wait(50 * time.Second)
	require.Empty(t, requeued(t, b, payouts.RequeuePendingPayouts))
	wait(11 * time.Second)
	require.Len(t, requeued(t, b, payouts.RequeuePendingPayouts), 1)
	modeltest.ExecSQL(t, b, "update payouts set next_attempt_at = business_now() - interval '1 second', requeued_at = business_now() - interval '2 seconds'")
	wait(30 * time.Second)
	require.Len(t, requeued(t, b, payouts.RequeuePendingPayouts), 1, "a new time is requeued at once")
}

// newBacklog returns a bundle with n payouts that are due, for a rail that accepts batches.
func newBacklog(t *testing.T, n int) *modeltest.Bundle {
	t.Helper()
	b := modeltest.New(t, modeltest.WithoutChecks())
	b.CopyPolicies(n)
	b.Observe(modeltest.Quake("us1", b.Now().Add(-time.Hour), modeltest.Epicentre, "6.9"))
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), b.LastJob().(occurrence.EvaluateOccurrences)))
	store.Local[payouts.ReleaseSettings](b.Service.Store).Batch = true
	return b
}

// TestBacklogOfBatchesGetsNoJobForEachPayout lets more payouts wait than a sweep requeues
// in addition to batches.
func TestBacklogOfBatchesGetsNoJobForEachPayout(t *testing.T) {
	t.Parallel()
	const waiting, alone = 40, 32
	b := newBacklog(t, waiting)
	sweep := func() (batches, singles int) {
		require.NoError(t, b.Service.Payouts.InTx(t.Context(), actor.System(), func(ctx context.Context, tx *store.Tx) error {
			n, err := payouts.RequeuePendingPayouts(ctx, tx)
			require.LessOrEqual(t, n, alone)
			for _, job := range tx.Jobs {
				switch job.(type) {
				case payouts.ReleaseBatch:
					batches++
				case payouts.ReleasePayout:
					singles++
				}
			}
			return err
		}))
		return batches, singles
	}
	b.AdvanceClock(40 * time.Second)
	for _, want := range [][2]int{{1, 0}, {1, 0}, {0, 0}} { // 32 payouts, the other 8, none
		batches, singles := sweep()
		require.Equal(t, want, [2]int{batches, singles}, "one batch releases all")
	}
	b.AdvanceClock(payouts.RequeueAgainAfter + time.Second)
	batches, singles := sweep()
	require.Equal(t, [2]int{0, alone}, [2]int{batches, singles}, "what batches leave is released alone, a few at a time")
}

// The table has no statistics yet, as at the beginning of a large event.
func TestRequeueReadsFewPayoutsOfABacklog(t *testing.T) {
	t.Parallel()
	const waiting, most = 800, 200
	b := newBacklog(t, waiting)
	b.AdvanceClock(40 * time.Second)
	require.NoError(t, b.Service.Payouts.InTx(t.Context(), actor.System(), func(ctx context.Context, tx *store.Tx) error {
		read := modeltest.CountRowsRead(ctx, t, tx, "payouts", func() {
			n, err := payouts.RequeuePendingPayouts(ctx, tx)
			require.NoError(t, err)
			require.Positive(t, n)
		})
		require.Less(t, read, most)
		return nil
	}))
}

func TestPayoutInFlightIsRequeuedAfterItsLease(t *testing.T) {
	t.Parallel()
	b, _, order := modeltest.NewPayoutInFlight(t)
	require.Empty(t, requeued(t, b, payouts.RequeuePayoutsInFlight), "a worker has it")
	b.AdvanceClock(payouts.ReleaseLease + 5*time.Second)
	require.Empty(t, requeued(t, b, payouts.RequeuePayoutsInFlight), "the queue's own retry comes first")
	b.AdvanceClock(3 * time.Second)
	require.Empty(t, requeued(t, b, payouts.RequeuePendingPayouts))
	require.Equal(t, []payouts.ReleasePayout{{Partner: "acme", ID: order.PayoutID, HighPriority: true, Requeued: true}}, requeued(t, b, payouts.RequeuePayoutsInFlight))
	require.Empty(t, requeued(t, b, payouts.RequeuePayoutsInFlight))
}

func TestResolutionThatContradictsItselfIsRefused(t *testing.T) {
	t.Parallel()
	b, _, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Unknown)
	require.Equal(t, "reconciling", payout.Status)
	long := string(slices.Repeat([]byte("x"), payouts.MaxRailReference+1))
	for name, tc := range map[string]struct {
		outcome   claims.PayoutStatus
		reference string
		settled   bool
		pointers  []string
	}{
		"another outcome":      {"pending", "", false, []string{"/outcome"}},
		"no reference":         {"released", "", false, []string{"/reference"}},
		"a long reference":     {"released", long, false, []string{"/reference"}},
		"a NUL":                {"released", "a\x00b", false, []string{"/reference"}},
		"reference, blocked":   {"blocked", "ref", false, []string{"/reference"}},
		"reference, cancelled": {"cancelled", "ref", true, []string{"/reference"}},
		"settled, blocked":     {"blocked", "", true, []string{"/settled"}},
		"settled, released":    {"released", "ref", true, []string{"/settled"}},
	} {
		_, err := modeltest.ResolvePayout(t, b, payout, tc.outcome, tc.reference, tc.settled)
		require.Equal(t, tc.pointers, modeltest.FieldPointers(modeltest.DomainError(t, err)), name)
	}
	_, err := modeltest.ResolvePayout(t, b, payout, claims.PayoutCancelled, "", true)
	require.ErrorContains(t, err, "Its outcome is unknown")
	_, err = b.Service.Payouts.Resolve(t.Context(), b.Operator, payouts.ResolutionRequest{PayoutID: payout.ID, Outcome: claims.PayoutReleased, Reference: "ref"})
	require.Equal(t, []string{"/note"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
	_, err = b.Service.Payouts.Resolve(t.Context(), b.Acme, payouts.ResolutionRequest{PayoutID: payout.ID, Outcome: claims.PayoutReleased, Reference: "ref", Note: "n"})
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code)
	released, err := modeltest.ResolvePayout(t, b, payout, claims.PayoutReleased, long[1:], false)
	require.NoError(t, err, "the longest reference")
	require.Equal(t, []string{"released", long[1:], modeltest.RailName}, []string{released.Status, *released.ProviderReference, *released.Provider})
	for _, outcome := range payouts.ResolutionOutcomes() {
		reference := map[claims.PayoutStatus]string{claims.PayoutReleased: "ref"}[outcome]
		_, err := modeltest.ResolvePayout(t, b, payout, outcome, reference, false)
		require.ErrorContains(t, err, "The payout is released; only one in doubt", outcome)
	}
	_, err = settleExternally(t, b, "ann", "bank-7", payout)
	require.ErrorContains(t, err, "only a pending or blocked payout can be settled externally")
}

func TestMethodsAreListedForTheClaimsThatTheyServe(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	policys := b.RecordPayoutMethod(modeltest.PolicyIBANMethod(claim.PolicyID))
	own := b.RecordPayoutMethod(modeltest.BritishIBAN(claim.ID))
	service := b.Service.Payouts
	ids := func(page *store.Page[wire.PayoutMethod], err error) (found []string) {
		require.NoError(t, err)
		for _, m := range page.Data {
			found = append(found, m.ID)
		}
		return found
	}
	both := []string{own.ID, policys.ID}
	require.Equal(t, both, ids(service.GetMethods(t.Context(), b.Acme, claim.ID, store.PageRequest{})), "newest first")
	require.Equal(t, both, ids(service.GetPolicyMethods(t.Context(), b.Acme, claim.PolicyID, store.PageRequest{})))
	for _, parent := range []string{claim.ID, claim.PolicyID} {
		pages, err := service.MethodsByParent(t.Context(), b.Acme, []string{parent}, store.PageRequest{Limit: 1})
		require.NoError(t, err)
		require.Equal(t, both[:1], ids(pages[parent], nil))
		require.True(t, pages[parent].HasMore)
		none, err := service.MethodsByParent(t.Context(), b.Globex, []string{parent}, store.PageRequest{})
		require.NoError(t, err)
		require.Empty(t, none[parent].Data)
	}
	require.Equal(t, both, ids(service.ListMethods(t.Context(), b.Operator, store.Filter{Status: "pending"}, store.PageRequest{})))
	require.Empty(t, ids(service.ListMethods(t.Context(), b.Operator, store.Filter{Status: "verified"}, store.PageRequest{})))
	require.Empty(t, ids(service.ListMethods(t.Context(), b.Globex, store.Filter{}, store.PageRequest{})))
	got, err := service.GetMethod(t.Context(), b.Acme, own.ID)
	require.NoError(t, err)
	require.Equal(t, own, got)
	_, err = service.GetMethod(t.Context(), b.Globex, own.ID)
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)
	many, err := service.MethodsByID(t.Context(), b.Acme, []string{own.ID, "pm_"})
	require.NoError(t, err)
	require.Len(t, many, 1)
}
