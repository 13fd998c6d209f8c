package modeltest

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// failureCounter records what a test would report.
type failureCounter struct {
	testing.TB

	count int
}

func (f *failureCounter) Errorf(string, ...any) { f.count++ }

func TestMain(m *testing.M) { os.Exit(Main(m)) }

func TestCloseDatabaseReportsOpenTransaction(t *testing.T) {
	t.Parallel()
	db, _ := Database(t, 4)
	tx, err := db.Pool.Begin(t.Context())
	require.NoError(t, err)
	seen := &failureCounter{TB: t}
	closeDatabase(seen, db, time.Millisecond)
	require.Equal(t, 1, seen.count)
	require.NoError(t, tx.Rollback(t.Context()))
	closeDatabase(seen, db, time.Minute)
	require.Equal(t, 1, seen.count)
}
