package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/modeltest"
)

func TestDismissRestoreRejectsUnknownPayments(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	simulateRestore(t, b)
	reportUnknown(t, b)
	in := model.RestoreRequest{Reason: "A promotion.", WithoutReports: true}
	_, err := b.Service.DismissRestore(t.Context(), b.Operator, in)
	require.ErrorContains(t, err, "1 payments")
	execSQL(t, b, "update reconciliation_exceptions set closed_at = now(), closed_by = 'olive', closed_reason = 'It was paid by hand.'")
	_, err = b.Service.DismissRestore(t.Context(), b.Operator, in)
	require.NoError(t, err)
}

// A stop that stood before the restore was noticed stays when the restore is dismissed.
func TestDismissRestoreResumesOnlyItsOwnReleaseStop(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	stop(t, b)
	require.Nil(t, recordHeartbeats(t, b.Service, 1))
	execSQL(t, b, "update database_identity set timeline = timeline - 1")
	deleteHeartbeatFile(t, b)
	require.NotNil(t, recordHeartbeats(t, b.Service, 1))
	_, err := b.Service.DismissRestore(t.Context(), b.Operator, model.RestoreRequest{Reason: "A promotion."})
	require.NoError(t, err, "no heartbeat is missing")
	require.True(t, must(b.Service.AreReleasesStopped(t.Context())))
	require.NoError(t, resume(t, b, false))
}
