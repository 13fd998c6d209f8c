package operations_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
	"parapet/model/operations"
)

func TestDismissRestoreRejectsUnknownPayments(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	simulateRestore(t, b)
	reportUnknown(t, b)
	in := operations.RestoreRequest{Reason: "A promotion.", WithoutReports: true}
	_, err := b.Service.Operations.DismissRestore(t.Context(), b.Operator, in)
	require.ErrorContains(t, err, "1 payments")
	modeltest.ExecSQL(t, b, "update reconciliation_exceptions set closed_at = now(), closed_by = 'olive', closed_reason = 'It was paid by hand.'")
	_, err = b.Service.Operations.DismissRestore(t.Context(), b.Operator, in)
	require.NoError(t, err)
}

// A stop from before the restore stays active when the restore is dismissed.
func TestDismissRestoreResumesOnlyItsOwnReleaseStop(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	modeltest.StopReleases(t, b)
	require.Nil(t, modeltest.RecordHeartbeats(t, b.Service, 1))
	modeltest.ExecSQL(t, b, "update database_identity set timeline = timeline - 1")
	deleteHeartbeatFile(t, b)
	require.NotNil(t, modeltest.RecordHeartbeats(t, b.Service, 1))
	_, err := b.Service.Operations.DismissRestore(t.Context(), b.Operator, operations.RestoreRequest{Reason: "A promotion."})
	require.NoError(t, err, "no heartbeat is missing")
	require.True(t, modeltest.Must(b.Service.Controls.AreReleasesStopped(t.Context())))
	require.NoError(t, modeltest.ResumeReleases(t, b, false))
}
