package main

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/internal/devpg"
	"parapet/model/modeltest"
)

var failovers = flag.Int("failovers", 1, "how often TestJobsResumeAfterAFailover loses its primary")

// failoverFixture is a worker on a primary with a standby.
type failoverFixture struct {
	*processGroup

	primary, standby *devpg.Server
}

func newFailoverFixture(t *testing.T) *failoverFixture {
	t.Helper()
	f := &failoverFixture{}
	var err error
	f.primary, err = devpg.Start(t.Context(), devpg.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { f.stopServer(t, f.primary) })
	require.NoError(t, f.primary.CreateDatabase(t.Context(), "parapet"))
	bundle := modeltest.New(t, modeltest.OnServer(f.primary.URL("parapet")), modeltest.WithoutChecks())
	f.standby, err = f.primary.StartStandby(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { f.stopServer(t, f.standby) })
	bundle.URL = devpg.FailoverURL(f.primary, f.standby, "parapet")
	f.processGroup = newProcessGroupOn(t, bundle, "PARAPET_ROLES=workers")
	return f
}

func (f *failoverFixture) stopServer(t *testing.T, server *devpg.Server) {
	t.Helper()
	require.NoError(t, server.Stop(context.Background()))
}

// The primary hangs with every connection open, and the standby is promoted. Workers find
// the new primary and continue.
func TestJobsResumeAfterAFailover(t *testing.T) {
	t.Parallel()
	for range *failovers {
		f := newFailoverFixture(t)
		f.startProcess(t, "parapet")
		swept := func(server *devpg.Server) time.Time {
			var at *time.Time
			conn, err := pgx.Connect(t.Context(), server.URL("parapet"))
			require.NoError(t, err)
			defer func() { require.NoError(t, conn.Close(t.Context())) }()
			require.NoError(t, conn.QueryRow(t.Context(), "select max(finalized_at) from river.river_job where kind = 'sweep' and state = 'completed'").Scan(&at))
			if at == nil {
				return time.Time{}
			}
			return *at
		}
		require.Eventually(t, func() bool { return !swept(f.primary).IsZero() }, time.Minute, 50*time.Millisecond)
		thaw, err := f.primary.Suspend(t.Context())
		t.Cleanup(thaw) // before the server is stopped
		require.NoError(t, err)
		require.NoError(t, f.standby.Promote(t.Context()))
		promoted := time.Now()
		require.Eventually(t, func() bool { return swept(f.standby).After(promoted) }, 15*time.Second, 50*time.Millisecond, "no job ran")
		t.Logf("jobs resumed after %v", time.Since(promoted))
	}
}
