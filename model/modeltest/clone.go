package modeltest

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/internal/devpg"
	"parapet/model/kernel/dbpool"
)

// Clone returns n bundles, each on a copy of this bundle's database with the same rows
// and the same clock, and ends the use of this bundle. New must have been called with
// WithoutChecks; the options are those of the copies.
func (b *Bundle) Clone(t testing.TB, n int, with ...Option) []*Bundle {
	t.Helper()
	b.Relay()
	shift := *b.shift
	b.DB.Close()
	config, err := pgx.ParseConfig(b.URL)
	require.NoError(t, err)
	copies := make([]*Bundle, n)
	for i := range copies {
		server, name := serverAddress(t), nextDatabaseName()
		require.NoError(t, devpg.CloneDatabase(t.Context(), server, name, config.Database))
		o := newOptions(with)
		url := registerDatabase(t, server, name)
		db, err := dbpool.Open(t.Context(), url, o.size)
		require.NoError(t, err)
		t.Cleanup(func() { closeDatabase(t, db, closeTimeout) })
		copies[i] = o.newBundle(t, db, url)
		*copies[i].shift = shift
	}
	return copies
}
