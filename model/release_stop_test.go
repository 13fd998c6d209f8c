package model_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
)

func stop(t *testing.T, b *modeltest.Bundle) {
	t.Helper()
	_, err := b.Service.StopReleases(t.Context(), b.Operator, model.StopRequest{Reason: "The bank called."})
	require.NoError(t, err)
}

func resume(t *testing.T, b *modeltest.Bundle, acknowledge bool) error {
	t.Helper()
	_, err := b.Service.ResumeReleases(t.Context(), b.Operator, model.ResumeRequest{Reason: "All is well.", Acknowledge: acknowledge})
	return err
}

func TestAStopHoldsEveryPayoutUntilReleasesAreResumed(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := owed(b)
	stop(t, b)
	_, err := b.Service.StopReleases(t.Context(), b.Operator, model.StopRequest{Reason: "Again."})
	require.Equal(t, apperr.CodeStateConflict, domainError(t, err).Code)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunJobs()
	b.Sweep()
	b.RunJobs()
	require.Empty(t, b.Rail.Orders, "nothing was sent")
	b.AdvanceClock(time.Minute)
	vitals := must(b.Service.HealthStats(t.Context(), b.Operator))
	require.GreaterOrEqual(t, vitals.SinceReleaseStop, time.Minute)
	require.GreaterOrEqual(t, vitals.SinceInvariantCheck, time.Minute)
	waits := only(t, b, claim)
	require.Equal(t, "pending", waits.Status)
	require.Nil(t, waits.NextAttemptAt)
	timeline := b.Timeline(claim.ID)
	require.Contains(t, timeline[len(timeline)-1].Summary, "stopped sending payouts", "and the payout says why, once")

	_, err = b.Service.ResumeReleases(t.Context(), b.Operator, model.ResumeRequest{Reason: " "})
	require.Equal(t, []string{"/reason"}, fieldPointers(domainError(t, err)))
	_, err = b.Service.ResumeReleases(t.Context(), b.Acme, model.ResumeRequest{Reason: "Please."})
	require.Equal(t, apperr.CodeInsufficientScope, domainError(t, err).Code)
	require.NoError(t, resume(t, b, false))
	require.Equal(t, apperr.CodeStateConflict, domainError(t, resume(t, b, false)).Code)
	b.Sweep()
	b.RunJobs()
	require.Equal(t, "released", only(t, b, claim).Status)
	require.Len(t, b.Rail.Orders, 1)
	require.Zero(t, must(b.Service.HealthStats(t.Context(), b.Operator)).SinceReleaseStop)
	stops := must(b.Service.ReleaseStops(t.Context(), b.Operator, 10))
	require.Len(t, stops, 1)
	require.Equal(t, "The bank called.", stops[0].Reason)
	require.Equal(t, "All is well.", *stops[0].ResumeReason)
	require.Equal(t, b.Operator.Name, *stops[0].ResumedBy)
}

func TestStopInquiresAboutPayoutsInDoubtWithoutResending(t *testing.T) {
	t.Parallel()
	b, claim, payout := newPayoutWithAnswer(t, modeltest.Unknown)
	stop(t, b)
	b.AdvanceClock(time.Hour)
	b.Rail.Answer = nil
	order, _, err := b.Service.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", payout.ID)
	require.NoError(t, err)
	require.True(t, order.InDoubt)
	require.True(t, order.InquireOnly)
	_, err = b.Service.EndRelease(t.Context(), modeltest.RailName, order, modeltest.Accepted)
	require.NoError(t, err)
	require.Equal(t, "released", only(t, b, claim).Status)
}

func TestAViolationStopsReleasesUntilItIsRepairedOrAcknowledged(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	claim := owed(b)
	require.NoError(t, b.Service.CheckInvariants(t.Context()))
	require.Empty(t, must(b.Service.ReleaseStops(t.Context(), b.Operator, 10)))
	forge(t, b, "update policies set limit_remaining = limit_remaining - 1")
	require.NoError(t, b.Service.CheckInvariants(t.Context()))
	require.NoError(t, b.Service.CheckInvariants(t.Context()))
	stops := must(b.Service.ReleaseStops(t.Context(), b.Operator, 10))
	require.Len(t, stops, 1)
	require.Equal(t, "parapet", stops[0].StoppedBy)
	require.Contains(t, stops[0].Reason, "inv_limits_not_exceeded (What is paid and reserved never exceeds")
	violations := must(b.Service.ListViolations(t.Context(), b.Operator, "inv_limits_not_exceeded", 10))
	require.Len(t, violations, 1)
	require.Equal(t, "acme", violations[0].Partner)
	vitals := must(b.Service.HealthStats(t.Context(), b.Operator))
	require.EqualValues(t, 1, vitals.Violations)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunJobs()
	require.Empty(t, b.Rail.Orders)

	refused := domainError(t, resume(t, b, false))
	require.Equal(t, apperr.CodeStateConflict, refused.Code)
	require.Contains(t, refused.Detail, "inv_limits_not_exceeded")
	require.NoError(t, resume(t, b, true))
	require.True(t, must(b.Service.ReleaseStops(t.Context(), b.Operator, 1))[0].Acknowledged)
	require.NoError(t, b.Service.CheckInvariants(t.Context()))
	b.Sweep()
	b.RunJobs()
	require.Len(t, b.Rail.Orders, 1, "what was acknowledged stops nothing")

	forge(t, b, "update policies set premium_amount = premium_amount + 1")
	b.QuoteAndBind("quake-circle", nil)
	require.NoError(t, b.Service.CheckInvariants(t.Context()))
	require.Len(t, must(b.Service.ReleaseStops(t.Context(), b.Operator, 10)), 2, "another one does")
	forge(t, b, "update policies set premium_amount = premium_amount - 1 where premium_amount <> (select premium_amount from quotes where id = quote_id)")
	forge(t, b, "update policies set limit_remaining = limit_remaining + 1 where limit_remaining + 1 < limit_amount")
	require.NoError(t, resume(t, b, false), "what was repaired is forgotten")
	require.Zero(t, must(b.Service.HealthStats(t.Context(), b.Operator)).Violations)
}

// forge changes rows, which no role may do.
func forge(t *testing.T, b *modeltest.Bundle, statement string) {
	t.Helper()
	tx, err := b.DB.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "set local session_replication_role = replica")
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), statement)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
}
