package release_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/payouts/controls"
)

// TestReleaseIsNotDatedBeforeTheClaimsLastEntry lets the last timeline entry be of a
// server whose clock is ahead.
func TestReleaseIsNotDatedBeforeTheClaimsLastEntry(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	owedToTwo(t, b, 1, 0)
	var ahead time.Time
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "update claims set timeline_updated_at = timeline_updated_at + interval '1 minute' returning timeline_updated_at").Scan(&ahead))
	require.Equal(t, map[string]int{"acme": 1}, releasedBySlice(t, b, 1))
	var released time.Time
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select updated_at from payouts where status = 'released'").Scan(&released))
	require.False(t, released.Before(ahead), "released at %s, the last entry is of %s", released, ahead)
}

// TestArrivalBarsNoPayoutOfAnotherClaim releases two payouts under their second key; the
// money of one has arrived.
func TestArrivalBarsNoPayoutOfAnotherClaim(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	owedToTwo(t, b, 2, 0)
	modeltest.ExecSQL(t, b, "update payouts set idempotency_seq = 2")
	modeltest.ExecSQL(t, b, `insert into payout_arrivals (claim_id, partner, installment, idempotency_seq, created_at, reported_at)
		select claim_id, partner, installment, 1, now(), now() from payouts limit 1`)
	require.Equal(t, map[string]int{"acme": 1}, releasedBySlice(t, b, 2))
}

// TestStopDoesNotWaitForOtherLocks stops releases while a session holds another advisory
// lock.
func TestStopDoesNotWaitForOtherLocks(t *testing.T) {
	t.Parallel()
	waited := errors.New("it waited")
	b := modeltest.New(t, modeltest.WithSleep(func(context.Context, time.Duration) error { return waited }))
	other, err := b.DB.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = other.Exec(t.Context(), "select pg_advisory_xact_lock(hashtext('something else'), 0)")
	require.NoError(t, err)
	answer, err := b.Service.Controls.StopReleases(t.Context(), b.Operator, controls.StopRequest{Reason: "The bank called."})
	require.NoError(t, err)
	require.Nil(t, answer.Leaving)
	require.NoError(t, other.Rollback(t.Context()))
}

// TestRepeatedStopListsWhatIsLeavingNow repeats a stop that found nothing leaving while an
// order is on its way.
func TestRepeatedStopListsWhatIsLeavingNow(t *testing.T) {
	t.Parallel()
	b, payout := modeltest.NewReadyPayout(t, modeltest.WithSleep(func(context.Context, time.Duration) error { return nil }))
	order, _, err := b.Service.Releases.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", payout)
	require.NoError(t, err)
	operator := b.Operator
	operator.IdempotencyKey = &actor.IdempotencyKey{Operation: "stopReleases", Key: "one", Request: []byte("one")}
	request := controls.StopRequest{Reason: "The bank called."}
	require.Nil(t, modeltest.Must(b.Service.Controls.StopReleases(t.Context(), operator, request)).Leaving)
	sends, err := b.DB.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = sends.Exec(t.Context(), "select pg_advisory_xact_lock_shared(hashtext('release stop'), 1)")
	require.NoError(t, err)
	_, err = b.Service.Controls.StopReleases(t.Context(), operator, request)
	var again *store.Replay
	require.ErrorAs(t, err, &again)
	require.Contains(t, string(again.Body), order.Key)
	require.NoError(t, sends.Rollback(t.Context()))
}
