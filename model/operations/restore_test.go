package operations_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/internal/devpg"
	"parapet/model"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/dbpool"
	"parapet/model/modeltest"
	"parapet/model/money"
	"parapet/model/operations"
	"parapet/model/payouts/reconciliation"
)

// deleteHeartbeatFile deletes the heartbeats in the file store.
func deleteHeartbeatFile(t *testing.T, b *modeltest.Bundle) {
	t.Helper()
	require.NoError(t, os.RemoveAll(filepath.Join(b.Files, "database")))
}

func TestHeartbeatDetectsRestoredDatabase(t *testing.T) {
	t.Parallel()
	const moved = "update database_identity set timeline = timeline - 1"
	for name, c := range map[string]struct {
		change  func(*testing.T, *modeltest.Bundle)
		noticed string // a part of the evidence; empty: no restore is noticed
	}{
		"goes on": {func(*testing.T, *modeltest.Bundle) {}, ""},
		"one behind": {func(t *testing.T, b *modeltest.Bundle) {
			t.Helper()
			modeltest.ExecSQL(t, b, "update database_identity set heartbeat = heartbeat - 1")
		}, "heartbeat"},
		"behind a heartbeat that a slow process replaced by an earlier one": {func(t *testing.T, b *modeltest.Bundle) {
			t.Helper()
			folder := filepath.Join(b.Files, "database")
			last := modeltest.Must(filepath.Glob(filepath.Join(folder, "*.json")))[0]
			late := modeltest.Must(os.ReadFile(last))
			require.Nil(t, modeltest.RecordHeartbeats(t, b.Service, 1))
			require.NoError(t, os.WriteFile(last, late, 0o600))
			modeltest.ExecSQL(t, b, "update database_identity set heartbeat = heartbeat - 1")
		}, "heartbeat"},
		"promoted": {func(t *testing.T, b *modeltest.Bundle) {
			t.Helper()
			modeltest.ExecSQL(t, b, moved)
		}, ""},
		"another cluster": {func(t *testing.T, b *modeltest.Bundle) {
			t.Helper()
			modeltest.ExecSQL(t, b, "update database_identity set system_identifier = '1'")
		}, ""},
		"promoted, no mark": {func(t *testing.T, b *modeltest.Bundle) {
			t.Helper()
			modeltest.ExecSQL(t, b, moved)
			deleteHeartbeatFile(t, b)
		}, "no heartbeat"},
		"new file store": {func(t *testing.T, b *modeltest.Bundle) {
			t.Helper()
			deleteHeartbeatFile(t, b)
		}, ""},
		"promoted, mark of the last write": {func(t *testing.T, b *modeltest.Bundle) {
			t.Helper()
			modeltest.ExecSQL(t, b, "update database_identity set timeline = timeline - 1, heartbeat = heartbeat + 3")
		}, ""},
		"promoted, old mark": {func(t *testing.T, b *modeltest.Bundle) {
			t.Helper()
			modeltest.ExecSQL(t, b, "update database_identity set timeline = timeline - 1, heartbeat = heartbeat + 4")
		}, "too old"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			require.Nil(t, modeltest.RecordHeartbeats(t, b.Service, 5))
			c.change(t, b)
			signs, err := b.Service.Operations.RestoreSigns(t.Context())
			require.NoError(t, err)
			open := modeltest.RecordHeartbeats(t, b.Service, 1)
			if c.noticed == "" {
				require.Empty(t, signs)
				require.Nil(t, open)
				require.Nil(t, modeltest.RecordHeartbeats(t, b.Service, 2))
				return
			}
			require.Contains(t, open.Evidence, c.noticed)
			require.Equal(t, open.Evidence, signs)
			require.Equal(t, open, modeltest.RecordHeartbeats(t, b.Service, 2), "it stays open")
		})
	}
}

// A payment after the last heartbeat that the database does not know shows a restore, if
// no worker has run since.
func TestReportOfUnknownPaymentOpensRestore(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	require.Nil(t, modeltest.RecordHeartbeats(t, b.Service, 1))
	reportUnknown(t, b)
	require.Nil(t, modeltest.RecordHeartbeats(t, b.Service, 1), "the workers were there")
	modeltest.ExecSQL(t, b, "update database_identity set heartbeat_at = now() - interval '2 minutes'")
	require.Contains(t, modeltest.RecordHeartbeats(t, b.Service, 1).Evidence, "1 payments")
}

// reportUnknown imports a report with an unknown payment.
func reportUnknown(t *testing.T, b *modeltest.Bundle) {
	t.Helper()
	_, err := b.Service.Reconciliation.Reconcile(t.Context(), b.Operator, reconciliation.Report{Rail: modeltest.RailName}, func(each func(reconciliation.ReportLine) error) error {
		return each(reconciliation.ReportLine{Key: "unknown", Reference: "r1", Amount: money.New(1, "USD"), Status: reconciliation.LineSettled, At: b.Now()})
	})
	require.NoError(t, err)
}

// simulateRestore sets a database back and makes the server notice it.
func simulateRestore(t *testing.T, b *modeltest.Bundle) {
	t.Helper()
	require.Nil(t, modeltest.RecordHeartbeats(t, b.Service, 2))
	modeltest.ExecSQL(t, b, "update database_identity set heartbeat = heartbeat - 1")
	require.NotNil(t, modeltest.RecordHeartbeats(t, b.Service, 1))
}

func TestOpenRestoreStopsPayoutsAndRelay(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	b.Relay()
	simulateRestore(t, b)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunJobs()
	b.Sweep()
	b.RunJobs()
	require.Empty(t, b.Rail.Orders, "nothing was sent")
	require.Zero(t, modeltest.Must(b.Service.Events.Relay(t.Context())), "nothing was numbered")
	require.ErrorContains(t, modeltest.ResumeReleases(t, b, true), "parapet restore")
	_, err := b.Service.Operations.FinishRestore(t.Context(), b.Operator, operations.RestoreRequest{Reason: "Compared."})
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code, "it was not begun")

	_, err = b.Service.Operations.DismissRestore(t.Context(), b.Operator, operations.RestoreRequest{Reason: " "})
	require.Equal(t, []string{"/reason"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
	_, err = b.Service.Operations.DismissRestore(t.Context(), b.Acme, operations.RestoreRequest{Reason: "Please."})
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code)
	_, err = b.Service.Operations.DismissRestore(t.Context(), b.Operator, operations.RestoreRequest{Reason: "A promotion."})
	require.ErrorContains(t, err, "lacks 1 heartbeats", "what was paid in that time may be made again in other parts")
	_, err = b.Service.Operations.DismissRestore(t.Context(), b.Operator, operations.RestoreRequest{Reason: "Compared.", WithoutReports: true})
	require.NoError(t, err)
	b.Sweep()
	b.RunJobs()
	require.Len(t, b.Rail.Orders, 1)
	require.Positive(t, modeltest.Must(b.Service.Events.Relay(t.Context())))
	require.Nil(t, modeltest.RecordHeartbeats(t, b.Service, 2), "it is not noticed again")
	_, err = b.Service.Operations.DismissRestore(t.Context(), b.Operator, operations.RestoreRequest{Reason: "Again."})
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
}

// A restored database may have no payment at all: the days count from its last heartbeat.
func TestReportsAreFetchedSinceLastHeartbeat(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	require.Nil(t, modeltest.RecordHeartbeats(t, b.Service, 1))
	require.Empty(t, modeltest.Must(b.Service.Reconciliation.MissingReportDays(t.Context(), scripted, time.Now())))
	modeltest.ExecSQL(t, b, "update database_identity set heartbeat_at = now() - interval '2 days'")
	require.Len(t, modeltest.Must(b.Service.Reconciliation.MissingReportDays(t.Context(), scripted, time.Now())), 2)
}

func TestFinishRestoreRequiresEveryPaymentAnswered(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunJobs()
	require.Len(t, b.Rail.Orders, 1)
	in := operations.RestoreRequest{Reason: "The disk broke."}
	restore, err := b.Service.Operations.BeginRestore(t.Context(), b.Operator, in)
	require.NoError(t, err)
	require.NotNil(t, restore.BegunAt)
	_, err = b.Service.Operations.BeginRestore(t.Context(), b.Operator, in)
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	_, err = b.Service.Operations.DismissRestore(t.Context(), b.Operator, in)
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code, "it was begun")
	require.True(t, modeltest.Must(b.Service.Controls.AreReleasesStopped(t.Context())))

	_, err = b.Service.Operations.FinishRestore(t.Context(), b.Operator, in)
	require.ErrorContains(t, err, "days have no report")
	reportUnknown(t, b)
	_, err = b.Service.Operations.FinishRestore(t.Context(), b.Operator, operations.RestoreRequest{Reason: "By hand.", WithoutReports: true})
	require.ErrorContains(t, err, "1 payments")
	modeltest.ExecSQL(t, b, "update reconciliation_exceptions set closed_at = now(), closed_by = 'olive', closed_reason = 'It was paid by hand.'")
	for _, ago := range []int{1, 0} { // the test may have begun before midnight
		reportDay(t, b, time.Now().AddDate(0, 0, -ago))
	}
	slow := in
	slow.SettlementDelay = 48 * time.Hour
	_, err = b.Service.Operations.FinishRestore(t.Context(), b.Operator, slow)
	require.ErrorContains(t, err, "2 days have no report", "its reports confirm late")
	other := in
	other.Rail.Name = "new"
	_, err = b.Service.Operations.FinishRestore(t.Context(), b.Operator, other)
	require.ErrorContains(t, err, "have no report, so payments after the backup may be unknown: new/", "the database has forgotten what it paid through it")
	_, err = b.Service.Operations.FinishRestore(t.Context(), b.Operator, in)
	require.NoError(t, err)
	require.True(t, modeltest.Must(b.Service.Controls.AreReleasesStopped(t.Context())), "an operator resumes")
	require.NoError(t, modeltest.ResumeReleases(t, b, false))
	require.Nil(t, modeltest.RecordHeartbeats(t, b.Service, 2))
}

// newServiceOnServer returns the domain on another server's copy of the database, with
// the same files.
func newServiceOnServer(t *testing.T, server *devpg.Server, folder string) (*model.Service, *dbpool.Database) {
	t.Helper()
	return modeltest.NewServiceAt(t, server.URL("quiet"), folder)
}

// A promoted standby that has everything continues by itself; a base backup that is
// started in its place does not.
func TestHeartbeatAcceptsPromotionAndDetectsBackup(t *testing.T) {
	t.Parallel()
	primary, err := devpg.Start(t.Context(), devpg.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, primary.Stop(context.Background())) })
	require.NoError(t, primary.CreateDatabase(t.Context(), "quiet"))
	b := modeltest.New(t, modeltest.OnServer(primary.URL("quiet")), modeltest.WithoutChecks())
	require.Nil(t, modeltest.RecordHeartbeats(t, b.Service, 2))
	restore, err := primary.Backup(t.Context())
	require.NoError(t, err)
	standby, err := primary.StartStandby(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, standby.Stop(context.Background())) })
	require.Nil(t, modeltest.RecordHeartbeats(t, b.Service, 2))
	var at string
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select pg_current_wal_insert_lsn()::text").Scan(&at))
	require.Eventually(t, func() bool { return standby.HasReplayed(t.Context(), at) }, time.Minute, 10*time.Millisecond)
	b.DB.Close()
	require.NoError(t, standby.Promote(t.Context()))
	promoted, db := newServiceOnServer(t, standby, b.Files)
	require.Nil(t, modeltest.RecordHeartbeats(t, promoted, 2))
	var timeline int
	require.NoError(t, db.Pool.QueryRow(t.Context(), "select timeline from database_identity").Scan(&timeline))
	require.Equal(t, 2, timeline)

	copied, err := restore(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, copied.Stop(context.Background())) })
	restored, _ := newServiceOnServer(t, copied, b.Files)
	require.Contains(t, modeltest.RecordHeartbeats(t, restored, 1).Evidence, "heartbeat")
}
