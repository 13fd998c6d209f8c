package audit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/audit"
	"parapet/model/modeltest"
)

func TestAuditLogIsListedUpToATime(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	require.NoError(t, audit.RecordAction(t.Context(), b.Service.Store, b.Operator, "first"))
	b.AdvanceClock(time.Hour)
	require.NoError(t, audit.RecordAction(t.Context(), b.Service.Store, b.Operator, "second"))
	lines := modeltest.ListAudit(t, b, audit.Filter{})
	require.Len(t, lines, 2)
	until := lines[0].At
	before := modeltest.ListAudit(t, b, audit.Filter{To: &until})
	require.Len(t, before, 1)
	require.Equal(t, "first", *before[0].Reason)
	require.Len(t, modeltest.ListAudit(t, b, audit.Filter{From: &until}), 1, "the start is included")
}
