package modeltest

import (
	"context"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/internal/filestore"
	"parapet/model"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/seal"
)

// NewServiceWithKeys returns the domain layer of a process with these keys.
func NewServiceWithKeys(t *testing.T, b *Bundle, keys seal.Keys) *model.Service {
	t.Helper()
	files, err := filestore.OpenFolder(b.Files)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	service, err := model.New(model.Config{DB: b.DB, Queue: Queue{}, Files: files, Development: true, Keys: keys})
	require.NoError(t, err)
	return service
}

// OutsideTx is a transaction that writes events by hand.
type OutsideTx struct {
	pgx.Tx

	T *testing.T
}

// BeginOutsideTx begins a transaction outside the domain layer.
func BeginOutsideTx(t *testing.T, b *Bundle) OutsideTx {
	t.Helper()
	tx, err := b.DB.Pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
	return OutsideTx{tx, t}
}

// Run executes a statement.
func (x OutsideTx) Run(text string, args ...any) {
	x.T.Helper()
	_, err := x.Exec(x.T.Context(), text, args...)
	require.NoError(x.T, err)
}

// WithKey returns the actor of a request with an idempotency key.
func WithKey(caller actor.Actor, key, request string) actor.Actor {
	sum := sha256.Sum256([]byte(request))
	caller.IdempotencyKey = &actor.IdempotencyKey{Operation: "POST /v1/quotes", Key: key, Request: sum[:]}
	return caller
}

// Day is a day without a change of the clock.
const Day = 24 * time.Hour

// CopyTables copies rows of one database to another one, in one transaction, as a backup
// of that moment would have them. The other may lack what they refer to.
func CopyTables(t *testing.T, from, to *Bundle, tables ...string) {
	t.Helper()
	tx, err := to.DB.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }() // an open one would block the end of the test
	_, err = tx.Exec(t.Context(), "set local session_replication_role = replica")
	require.NoError(t, err)
	for _, table := range tables {
		var rows string
		require.NoError(t, from.DB.Pool.QueryRow(t.Context(), "select coalesce(json_agg(r), '[]')::text from "+table+" r").Scan(&rows))
		_, err = tx.Exec(t.Context(), "insert into "+table+" overriding system value select * from json_populate_recordset(null::"+table+", $1::json)", rows)
		require.NoError(t, err)
	}
	require.NoError(t, tx.Commit(t.Context()))
}
