package modeltest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/internal/filestore"
	"parapet/model"
	"parapet/model/audit"
	"parapet/model/kernel/dbpool"
	"parapet/model/kernel/store"
	"parapet/model/payouts/controls"
)

// StopReleases stops releases as the operator.
func StopReleases(t *testing.T, b *Bundle) {
	t.Helper()
	_, err := b.Service.Controls.StopReleases(t.Context(), b.Operator, controls.StopRequest{Reason: "The bank called."})
	require.NoError(t, err)
}

// ResumeReleases resumes releases as the operator.
func ResumeReleases(t *testing.T, b *Bundle, acknowledge bool) error {
	t.Helper()
	_, err := b.Service.Releases.ResumeReleases(t.Context(), b.Operator, controls.ResumeRequest{Reason: "All is well.", Acknowledge: acknowledge})
	return err
}

// ChangeRows changes rows that no role may change.
func ChangeRows(t *testing.T, b *Bundle, statement string) {
	t.Helper()
	tx, err := b.DB.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "set local session_replication_role = replica")
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), statement)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
}

// RecordHeartbeats records heartbeats, and returns the restore that is open after the last.
func RecordHeartbeats(t *testing.T, s *model.Service, n int) (open *controls.Restore) {
	t.Helper()
	for range n {
		var err error
		open, err = s.Operations.RecordHeartbeat(t.Context())
		require.NoError(t, err)
	}
	return open
}

// ExecSQL runs a statement as the owner of the tables.
func ExecSQL(t *testing.T, b *Bundle, text string, args ...any) {
	t.Helper()
	_, err := b.DB.Pool.Exec(t.Context(), text, args...)
	require.NoError(t, err)
}

// CountRowsRead returns how many rows of a table read reads in the transaction, by scans and
// by indexes. The figures of Postgres also count what earlier transactions of the connection
// read and have not reported yet.
func CountRowsRead(ctx context.Context, t *testing.T, tx *store.Tx, table string, read func()) int {
	t.Helper()
	figure := func() (rows int) {
		err := tx.NewRaw("select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables where relname = ?", table).Scan(ctx, &rows)
		require.NoError(t, err)
		return rows
	}
	before := figure()
	read()
	return figure() - before
}

// NewServiceAt returns the domain layer of another process.
func NewServiceAt(t *testing.T, url, folder string) (*model.Service, *dbpool.Database) {
	t.Helper()
	db, err := dbpool.Open(t.Context(), url, 4)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	files, err := filestore.OpenFolder(folder)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	service, err := model.New(model.Config{DB: db, Queue: Queue{}, Files: files, Keys: Keys()})
	require.NoError(t, err)
	return service, db
}

// ListAudit returns the audit log, newest first.
func ListAudit(t *testing.T, b *Bundle, f audit.Filter) []audit.Entry {
	t.Helper()
	page, err := b.Service.Audit.List(t.Context(), b.Operator, f, store.PageRequest{Limit: store.MaxPageSize})
	require.NoError(t, err)
	return page.Data
}
