package controls_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/payouts/controls"
)

func TestControlsAreForOperatorsOnly(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	service := b.Service.Controls
	for name, read := range map[string]func(actor.Actor) error{
		"stop": func(a actor.Actor) error {
			_, err := service.StopReleases(t.Context(), a, controls.StopRequest{Reason: "r"})
			return err
		},
		"stops":       func(a actor.Actor) error { _, err := service.ReleaseStops(t.Context(), a, 1); return err },
		"resumptions": func(a actor.Actor) error { _, err := service.ReleaseResumptions(t.Context(), a, 1); return err },
		"resumption":  func(a actor.Actor) error { _, err := service.GetReleaseResumption(t.Context(), a, "x"); return err },
		"invariants":  func(a actor.Actor) error { _, err := service.ListInvariants(t.Context(), a); return err },
		"violations":  func(a actor.Actor) error { _, err := service.ListViolations(t.Context(), a, "", 1); return err },
	} {
		for _, who := range []actor.Actor{b.Acme, b.Source, {}} {
			require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, read(who)).Code, name)
		}
	}
	stopped, err := service.AreReleasesStopped(t.Context())
	require.NoError(t, err)
	require.False(t, stopped)
	_, err = service.StopReleases(t.Context(), b.Operator, controls.StopRequest{Reason: "  "})
	require.Equal(t, []string{"/reason"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
	_, err = service.GetReleaseResumption(t.Context(), b.Operator, "rrs_")
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)
	_, err = service.GetReleaseResumption(t.Context(), b.Operator, store.ResourceReleaseResumption.FormatID(store.NewID()))
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)
}

func TestStopsAndResumptionsAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for i := range 3 {
		_, err := b.Service.Controls.StopReleases(t.Context(), modeltest.OperatorNamed("ann"), controls.StopRequest{Reason: fmt.Sprintf("reason %d", i)})
		require.NoError(t, err)
		stopped, err := b.Service.Controls.AreReleasesStopped(t.Context())
		require.NoError(t, err)
		require.True(t, stopped)
		if i < 2 {
			require.NoError(t, modeltest.ResumeReleases(t, b, i == 1))
			b.Sweep()
			b.RunJobs()
		}
	}
	stops := modeltest.Must(b.Service.Controls.ReleaseStops(t.Context(), b.Operator, 10))
	require.Len(t, stops, 3)
	require.Equal(t, []string{"reason 2", "reason 1", "reason 0"}, []string{stops[0].Reason, stops[1].Reason, stops[2].Reason})
	require.Equal(t, []string{"ann", modeltest.Issuer}, []string{stops[0].StoppedBy, *stops[0].StoppedByIssuer})
	require.Nil(t, stops[0].ResumedAt)
	require.Nil(t, stops[0].ResumedBy)
	require.Equal(t, []bool{false, false}, []bool{stops[1].Acknowledged, stops[2].Acknowledged}, "nothing was violated")
	require.False(t, stops[2].ResumedAt.Before(stops[2].StoppedAt))
	require.Len(t, modeltest.Must(b.Service.Controls.ReleaseStops(t.Context(), b.Operator, 2)), 2)
	runs := modeltest.Must(b.Service.Controls.ReleaseResumptions(t.Context(), b.Operator, 10))
	require.Len(t, runs, 2)
	require.Equal(t, []bool{true, false}, []bool{runs[0].Acknowledge, runs[1].Acknowledge})
	require.Equal(t, runs[:1], modeltest.Must(b.Service.Controls.ReleaseResumptions(t.Context(), b.Operator, 1)))
	one, err := b.Service.Controls.GetReleaseResumption(t.Context(), b.Operator, runs[1].ID)
	require.NoError(t, err)
	require.Equal(t, runs[1], *one)
	require.Equal(t, "completed", one.State)
	require.NotNil(t, one.FinishedAt)
}

func TestNewStopEndsARunningResumption(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	modeltest.StopReleases(t, b)
	inTx := func(do func(context.Context, *store.Tx) error) {
		require.NoError(t, b.Service.Controls.InTx(t.Context(), b.Operator, do))
	}
	inTx(func(ctx context.Context, tx *store.Tx) error {
		standing, err := controls.LockActiveStop(ctx, tx)
		require.NoError(t, err)
		run := &controls.ResumptionRow{ID: store.NewID(), StopID: standing.ID, State: controls.ResumptionResuming, StartedAt: tx.Now, StartedBy: tx.Actor.PersonID(), Reason: "r", Total: 7}
		modeltest.Must(tx.NewInsert().Model(run).Exec(ctx))
		_, err = tx.NewRaw("update release_stops set resumed_at = ?0, resumed_by = ?1, resume_reason = 'r' where id = ?2", tx.Now, tx.Actor.PersonID(), standing.ID).Exec(ctx)
		return err
	})
	modeltest.StopReleases(t, b)
	runs := modeltest.Must(b.Service.Controls.ReleaseResumptions(t.Context(), b.Operator, 10))
	require.Len(t, runs, 1)
	require.Equal(t, "stopped", runs[0].State)
	require.Equal(t, 7, runs[0].Total)
	require.NotNil(t, runs[0].FinishedAt)
	inTx(func(ctx context.Context, tx *store.Tx) error {
		run, err := controls.UnfinishedResumption(ctx, tx)
		require.Nil(t, run)
		return err
	})
}

func TestOpenRestoreForbidsWhatCouldPayTwice(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	check := func() error {
		return b.Service.Controls.InTx(t.Context(), b.Operator, controls.RequireNoRestore)
	}
	require.NoError(t, check())
	modeltest.ExecSQL(t, b, "insert into database_restores (id, noticed_at, noticed_by, evidence, file_store_heartbeat) values (gen_random_uuid(), now(), 'parapet', 'The heartbeat went back.', 1)")
	refused := modeltest.DomainError(t, check())
	require.Equal(t, apperr.CodeStateConflict, refused.Code)
	require.Contains(t, refused.Detail, "parapet restore dismiss. The heartbeat went back.")
	open := modeltest.Must(controls.LoadOpenRestore(t.Context(), b.DB.Bun)).ToRecord()
	require.Equal(t, "The heartbeat went back.", open.Evidence)
	require.Nil(t, open.BegunAt)
	modeltest.ExecSQL(t, b, "update database_restores set ended_at = now(), ended_by = 'ann', end_reason = 'none', outcome = 'dismissed'")
	require.NoError(t, check())
	require.Nil(t, modeltest.Must(controls.LoadOpenRestore(t.Context(), b.DB.Bun)))
}

func TestViolationsAreListedOldestFirst(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	at := b.Now().Truncate(time.Second)
	for i, name := range []string{"inv_b", "inv_a", "inv_b"} {
		modeltest.ExecSQL(t, b, "insert into invariant_violations (name, subject, partner, message, found_at) values ($1, gen_random_uuid(), 'acme', $2, $3)", name, fmt.Sprintf("m%d", i), at.Add(-time.Duration(i)*time.Hour))
	}
	messages := func(name string, limit int) (said []string) {
		for _, v := range modeltest.Must(b.Service.Controls.ListViolations(t.Context(), b.Operator, name, limit)) {
			said = append(said, v.Message)
		}
		return said
	}
	require.Equal(t, []string{"m2", "m1", "m0"}, messages("", 10))
	require.Equal(t, []string{"m2", "m1"}, messages("", 2))
	require.Equal(t, []string{"m2", "m0"}, messages("inv_b", 10))
	var said string
	require.NoError(t, b.Service.Controls.InTx(t.Context(), b.Operator, func(ctx context.Context, tx *store.Tx) (err error) {
		said, err = controls.DescribeViolations(ctx, tx)
		return err
	}))
	require.Equal(t, "inv_a of 1 records; inv_b of 2 records.", said)
	for _, each := range modeltest.Must(b.Service.Controls.ListInvariants(t.Context(), b.Operator)) {
		require.NotEmpty(t, each.Description, each.Name)
	}
	modeltest.ExecSQL(t, b, "update invariant_violations set acknowledged_at = now(), acknowledged_by = 'ann' where name = 'inv_b'")
	require.NoError(t, b.Service.Controls.InTx(t.Context(), b.Operator, func(ctx context.Context, tx *store.Tx) (err error) {
		said, err = controls.DescribeViolations(ctx, tx)
		return err
	}))
	require.Equal(t, "inv_a of 1 records.", said, "acknowledged ones stop nothing")
}
