package operations_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

// TestRestoreSignsStayWithAnOpenRestore removes the evidence after the restore was
// recorded.
func TestRestoreSignsStayWithAnOpenRestore(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	require.Nil(t, modeltest.RecordHeartbeats(t, b.Service, 3))
	modeltest.ExecSQL(t, b, "update database_identity set heartbeat = heartbeat - 1")
	open := modeltest.RecordHeartbeats(t, b.Service, 1)
	require.NotNil(t, open)
	deleteHeartbeatFile(t, b)
	signs, err := b.Service.Operations.RestoreSigns(t.Context())
	require.NoError(t, err)
	require.Equal(t, open.Evidence, signs)
}
