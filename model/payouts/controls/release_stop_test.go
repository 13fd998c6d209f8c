package controls_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/payouts/controls"
)

func TestAStopHoldsEveryPayoutUntilReleasesAreResumed(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	modeltest.StopReleases(t, b)
	_, err := b.Service.Controls.StopReleases(t.Context(), b.Operator, controls.StopRequest{Reason: "Again."})
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunJobs()
	b.Sweep()
	b.RunJobs()
	require.Empty(t, b.Rail.Orders, "nothing was sent")
	b.AdvanceClock(time.Minute)
	stats := modeltest.Must(b.Service.Operations.HealthStats(t.Context(), b.Operator))
	require.GreaterOrEqual(t, stats.SinceReleaseStop, time.Minute)
	require.GreaterOrEqual(t, stats.SinceInvariantCheck, time.Minute)
	waits := modeltest.OnlyPayout(t, b, claim)
	require.Equal(t, "pending", waits.Status)
	require.Nil(t, waits.NextAttemptAt)
	timeline := b.Timeline(claim.ID)
	require.Contains(t, timeline[len(timeline)-1].Summary, "stopped sending payouts", "and the payout says why, once")

	_, err = b.Service.Releases.ResumeReleases(t.Context(), b.Operator, controls.ResumeRequest{Reason: " "})
	require.Equal(t, []string{"/reason"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
	_, err = b.Service.Releases.ResumeReleases(t.Context(), b.Acme, controls.ResumeRequest{Reason: "Please."})
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code)
	require.NoError(t, modeltest.ResumeReleases(t, b, false))
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, modeltest.ResumeReleases(t, b, false)).Code)
	b.Sweep()
	b.RunJobs()
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
	require.Len(t, b.Rail.Orders, 1)
	require.Zero(t, modeltest.Must(b.Service.Operations.HealthStats(t.Context(), b.Operator)).SinceReleaseStop)
	stops := modeltest.Must(b.Service.Controls.ReleaseStops(t.Context(), b.Operator, 10))
	require.Len(t, stops, 1)
	require.Equal(t, "The bank called.", stops[0].Reason)
	require.Equal(t, "All is well.", *stops[0].ResumeReason)
	require.Equal(t, b.Operator.Name, *stops[0].ResumedBy)
}

func TestStopInquiresAboutPayoutsInDoubtWithoutResending(t *testing.T) {
	t.Parallel()
	b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Unknown)
	modeltest.StopReleases(t, b)
	b.AdvanceClock(time.Hour)
	b.Rail.Answer = nil
	order, _, err := b.Service.Releases.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", payout.ID)
	require.NoError(t, err)
	require.True(t, order.InDoubt)
	require.True(t, order.InquireOnly)
	_, err = b.Service.Releases.EndRelease(t.Context(), modeltest.RailName, order, modeltest.Accepted)
	require.NoError(t, err)
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
}

func TestAViolationStopsReleasesUntilItIsRepairedOrAcknowledged(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	claim := modeltest.NewApprovedClaim(b)
	require.NoError(t, b.Service.Controls.CheckInvariants(t.Context()))
	require.Empty(t, modeltest.Must(b.Service.Controls.ReleaseStops(t.Context(), b.Operator, 10)))
	modeltest.ChangeRows(t, b, "update policies set limit_remaining = limit_remaining - 1")
	require.NoError(t, b.Service.Controls.CheckInvariants(t.Context()))
	require.NoError(t, b.Service.Controls.CheckInvariants(t.Context()))
	stops := modeltest.Must(b.Service.Controls.ReleaseStops(t.Context(), b.Operator, 10))
	require.Len(t, stops, 1)
	require.Equal(t, "parapet", stops[0].StoppedBy)
	require.Contains(t, stops[0].Reason, "inv_limits_not_exceeded (What is paid and reserved never exceeds")
	violations := modeltest.Must(b.Service.Controls.ListViolations(t.Context(), b.Operator, "inv_limits_not_exceeded", 10))
	require.Len(t, violations, 1)
	require.Equal(t, "acme", violations[0].Partner)
	stats := modeltest.Must(b.Service.Operations.HealthStats(t.Context(), b.Operator))
	require.EqualValues(t, 1, stats.Violations)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunJobs()
	require.Empty(t, b.Rail.Orders)

	refused := modeltest.DomainError(t, modeltest.ResumeReleases(t, b, false))
	require.Equal(t, apperr.CodeStateConflict, refused.Code)
	require.Contains(t, refused.Detail, "inv_limits_not_exceeded")
	require.NoError(t, modeltest.ResumeReleases(t, b, true))
	require.True(t, modeltest.Must(b.Service.Controls.ReleaseStops(t.Context(), b.Operator, 1))[0].Acknowledged)
	require.NoError(t, b.Service.Controls.CheckInvariants(t.Context()))
	b.Sweep()
	b.RunJobs()
	require.Len(t, b.Rail.Orders, 1, "what was acknowledged stops nothing")

	modeltest.ChangeRows(t, b, "update policies set premium_amount = premium_amount + 1")
	b.QuoteAndBind("quake-circle", nil)
	require.NoError(t, b.Service.Controls.CheckInvariants(t.Context()))
	require.Len(t, modeltest.Must(b.Service.Controls.ReleaseStops(t.Context(), b.Operator, 10)), 2, "another one does")
	modeltest.ChangeRows(t, b, "update policies set premium_amount = premium_amount - 1 where premium_amount <> (select premium_amount from quotes where id = quote_id)")
	modeltest.ChangeRows(t, b, "update policies set limit_remaining = limit_remaining + 1 where limit_remaining + 1 < limit_amount")
	require.NoError(t, modeltest.ResumeReleases(t, b, false), "what was repaired is forgotten")
	require.Zero(t, modeltest.Must(b.Service.Operations.HealthStats(t.Context(), b.Operator)).Violations)
}
