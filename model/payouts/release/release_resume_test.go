package release_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/payouts/controls"
)

// stopped makes a payout that waits for the end of a stop.
func stopped(t *testing.T, with ...modeltest.Option) *modeltest.Bundle {
	t.Helper()
	b := modeltest.New(t, append(with, modeltest.WithoutChecks())...)
	claim := modeltest.NewApprovedClaim(b)
	modeltest.StopReleases(t, b)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunJobs()
	require.Nil(t, modeltest.OnlyPayout(t, b, claim).NextAttemptAt)
	return b
}

func resumption(t *testing.T, b *modeltest.Bundle) controls.ReleaseResumption {
	t.Helper()
	return modeltest.Must(b.Service.Controls.ReleaseResumptions(t.Context(), b.Operator, 10))[0]
}

func TestResumptionIsFollowedToItsEnd(t *testing.T) {
	t.Parallel()
	b := stopped(t)
	resumed, err := b.Service.Releases.ResumeReleases(t.Context(), b.Operator, controls.ResumeRequest{Reason: "All is well."})
	require.NoError(t, err)
	require.NotNil(t, resumed.Stop.ResumedAt)
	run := resumed.Resumption
	require.Equal(t, "resuming", run.State)
	require.Equal(t, 1, run.Total)
	require.Zero(t, run.Done)
	require.Nil(t, run.FinishedAt)
	require.Equal(t, "All is well.", run.Reason)
	require.Equal(t, b.Operator.Name, run.StartedBy)
	b.RunJobs() // the run's job, without waiting for a sweep
	run, err = b.Service.Controls.GetReleaseResumption(t.Context(), b.Operator, run.ID)
	require.NoError(t, err)
	require.Equal(t, "completed", run.State)
	require.Equal(t, 1, run.Done)
	require.NotNil(t, run.FinishedAt)
	require.Len(t, b.Rail.Orders, 1)

	_, err = b.Service.Controls.GetReleaseResumption(t.Context(), b.Acme, run.ID)
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code)
	_, err = b.Service.Controls.ReleaseResumptions(t.Context(), b.Acme, 1)
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code)
	_, err = b.Service.Controls.GetReleaseResumption(t.Context(), b.Operator, "rrs_00000000000000000000000000")
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)
}

// TestNewStopEndsAResumption stops releases again before the run made anything due.
func TestNewStopEndsAResumption(t *testing.T) {
	t.Parallel()
	b := stopped(t)
	require.NoError(t, modeltest.ResumeReleases(t, b, false))
	modeltest.StopReleases(t, b)
	run := resumption(t, b)
	require.Equal(t, "stopped", run.State)
	require.NotNil(t, run.FinishedAt)
	b.Sweep()
	b.RunJobs()
	require.Empty(t, b.Rail.Orders, "it waits for the new stop")
	require.NoError(t, modeltest.ResumeReleases(t, b, false))
	b.RunJobs()
	require.Equal(t, "completed", resumption(t, b).State)
	require.Len(t, b.Rail.Orders, 1)
	require.Len(t, modeltest.Must(b.Service.Controls.ReleaseResumptions(t.Context(), b.Operator, 10)), 2)
}

func TestViolationEndsAResumption(t *testing.T) {
	t.Parallel()
	b := stopped(t)
	require.NoError(t, modeltest.ResumeReleases(t, b, false))
	modeltest.ChangeRows(t, b, "update policies set limit_remaining = limit_remaining - 1")
	require.NoError(t, controls.CheckChanged(t.Context(), b.Service.Store))
	require.Equal(t, "stopped", resumption(t, b).State)
}

func TestResumptionChecksWhatTheRequestCannotWaitFor(t *testing.T) {
	t.Parallel()
	b := stopped(t, modeltest.WithResumeCheck(100*time.Millisecond))
	check := b.BlockTable("invariant_violations")
	resumed, err := b.Service.Releases.ResumeReleases(t.Context(), b.Operator, controls.ResumeRequest{Reason: "All is well."})
	require.NoError(t, err)
	require.Equal(t, "checking", resumed.Resumption.State)
	require.Nil(t, resumed.Stop.ResumedAt, "the stop stands until then")
	modeltest.ChangeRows(t, b, "update policies set limit_remaining = limit_remaining - 1")
	check.Release()
	again := modeltest.DomainError(t, modeltest.ResumeReleases(t, b, false))
	require.Equal(t, apperr.CodeStateConflict, again.Code)
	b.RunJobs()
	run := resumption(t, b)
	require.Equal(t, "refused", run.State)
	require.Contains(t, *run.Refusal, "inv_limits_not_exceeded")
	require.Nil(t, modeltest.Must(b.Service.Controls.ReleaseStops(t.Context(), b.Operator, 1))[0].ResumedAt)
	require.Empty(t, b.Rail.Orders)

	check = b.BlockTable("invariant_violations")
	require.NoError(t, modeltest.ResumeReleases(t, b, true))
	check.Release()
	b.RunJobs()
	require.Equal(t, "completed", resumption(t, b).State)
	require.True(t, modeltest.Must(b.Service.Controls.ReleaseStops(t.Context(), b.Operator, 1))[0].Acknowledged)
	require.Len(t, b.Rail.Orders, 1)
}

func TestResumptionIsRefusedWhenItCannotBeChecked(t *testing.T) {
	t.Parallel()
	b := stopped(t, modeltest.WithResumeCheck(100*time.Millisecond))
	check := b.BlockTable("invariant_violations")
	defer check.Release()
	require.NoError(t, modeltest.ResumeReleases(t, b, false))
	sweep := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		return b.Service.Operations.SweepDue(ctx, "stopped_payouts")
	}
	require.Error(t, sweep())
	require.Equal(t, "checking", resumption(t, b).State)
	b.AdvanceClock(11 * time.Minute)
	require.Error(t, sweep())
	run := resumption(t, b)
	require.Equal(t, "refused", run.State)
	require.Contains(t, *run.Refusal, "could not be checked")
}
