package replica_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"parapet/internal/devpg"
	"parapet/model/dbconn"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/dbpool"
	"parapet/model/kernel/replica"
	"parapet/model/kernel/wal"
)

// pair is a primary with a table, a standby, and a set that observes them.
type pair struct {
	*replica.Set

	primary, standby *devpg.Server
	source           replica.Source // the primary
	onStandby        replica.Source
}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{}
	var err error
	p.primary, err = devpg.Start(t.Context(), devpg.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.primary.Stop(context.Background())) })
	exec(t, p.primary, "create table notes as select n from generate_series(1, 1000) n")
	exec(t, p.primary, "alter database postgres set synchronous_commit = on")
	p.standby, err = p.primary.StartStandby(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.standby.Stop(context.Background())) })
	p.source = open(t, p.primary.URL("postgres"))
	p.onStandby = open(t, p.standby.URL("postgres"), replica.Connect)
	p.Set = replica.New(newPool(t, p.primary.URL("postgres")))
	t.Cleanup(p.Close)
	require.NoError(t, p.Add("standby", p.onStandby, newPool(t, p.standby.URL("postgres"), replica.Observe)))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	p.awaitCurrent(t)
	return p
}

func (p *pair) awaitCurrent(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return p.Servers()[0].State == replica.ReasonCurrent }, time.Minute, 10*time.Millisecond)
}

func exec(t *testing.T, server *devpg.Server, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.URL("postgres"))
	require.NoError(t, err)
	for _, statement := range statements {
		_, err = conn.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	require.NoError(t, conn.Close(t.Context()))
}

func open(t *testing.T, url string, options ...dbconn.Option) replica.Source {
	t.Helper()
	db, err := dbpool.Open(t.Context(), url, 4, options...)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	return replica.Source{Pool: db.Pool, DB: db.Bun}
}

func newPool(t *testing.T, url string, options ...dbconn.Option) *pgxpool.Pool {
	t.Helper()
	config, err := dbconn.Config(url, options...)
	require.NoError(t, err)
	config.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	return pool
}

// serversOf returns which servers ran a read that fails on the replica with an error.
func (p *pair) serversOf(t *testing.T, ctx context.Context, fails error) (order []string, err error) { //nolint:revive // the context is the subject
	t.Helper()
	err = p.Read(ctx, p.source, func(_ context.Context, from replica.Source) error {
		if from == p.source {
			order = append(order, "primary")
			return nil
		}
		order = append(order, "replica")
		return fails
	})
	return order, err
}

func TestOnlyReadsThatAllowItRunOnAReplica(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	allowed := replica.Allow(t.Context())
	for name, tc := range map[string]struct {
		ctx   context.Context //nolint:containedctx // the subject of the test
		fails error
		want  []string
	}{
		"not allowed":       {t.Context(), nil, []string{"primary"}},
		"in a transaction":  {dbconn.MarkInTransaction(allowed), nil, []string{"primary"}},
		"allowed":           {allowed, nil, []string{"replica"}},
		"no row":            {allowed, pgx.ErrNoRows, []string{"replica"}},
		"refused":           {allowed, apperr.Fail(apperr.CodeCursorInvalid, "no"), []string{"replica"}},
		"unavailable":       {allowed, apperr.Fail(apperr.CodeUnavailable, "no"), []string{"replica", "primary"}},
		"unknown column":    {allowed, &pgconn.PgError{Code: "42703"}, []string{"replica", "primary"}},
		"another timeline":  {replica.Allow(replica.WithReadAfter(t.Context(), wal.Position{Timeline: 2, LSN: 1})), nil, []string{"primary"}},
		"replayed position": {replica.Allow(replica.WithReadAfter(t.Context(), wal.Position{Timeline: 1, LSN: 1})), nil, []string{"replica"}},
	} {
		p.awaitCurrent(t) // after a failure
		order, err := p.serversOf(t, tc.ctx, tc.fails)
		require.Equal(t, tc.want, order, name)
		if len(order) == 1 && order[0] == "replica" {
			require.ErrorIs(t, err, tc.fails, name)
		} else {
			require.NoError(t, err, name)
		}
	}
	p.awaitCurrent(t)
	_, err := p.serversOf(t, allowed, errors.New("the connection broke"))
	require.NoError(t, err)
	require.Equal(t, replica.ReasonUnreachable, p.Servers()[0].State)
	p.awaitCurrent(t)
}

// A vacuum on the primary removes rows that a snapshot of the replica needs; the replica
// cancels the read.
func TestReadThatConflictsWithRecoveryRunsOnThePrimary(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	exec(t, p.standby, "alter system set max_standby_streaming_delay = 0", "select pg_reload_conf()")
	vacuumed := make(chan error, 1)
	go func() { vacuumed <- p.vacuumDuringRead(t.Context()) }()
	var onReplica error
	count := 0
	err := p.Read(replica.Allow(t.Context()), p.source, func(ctx context.Context, from replica.Source) error {
		if from == p.source {
			return from.Pool.QueryRow(ctx, "select count(*) from notes").Scan(&count)
		}
		onReplica = from.Pool.QueryRow(ctx, "select count(*) from notes, lateral (select pg_sleep(0.1 + n * 0)) as slow").Scan(&count)
		return onReplica
	})
	require.NoError(t, err)
	require.NoError(t, <-vacuumed)
	require.Equal(t, 500, count)
	var refused *pgconn.PgError
	require.ErrorAs(t, onReplica, &refused)
	require.Equal(t, "40001", refused.Code)
	require.EqualValues(t, 1, p.Reads(replica.ReasonFailed))
}

// vacuumDuringRead removes rows on the primary while the standby runs a slow read.
func (p *pair) vacuumDuringRead(ctx context.Context) error {
	standby, err := pgx.Connect(ctx, p.standby.URL("postgres"))
	if err != nil {
		return err
	}
	defer standby.Close(ctx)
	for running := false; err == nil && !running; {
		err = standby.QueryRow(ctx, "select exists (select from pg_stat_activity where query like '%lateral (select pg_sleep%' and pid <> pg_backend_pid() and state = 'active')").Scan(&running)
	}
	_, deleted := p.source.Pool.Exec(ctx, "delete from notes where n % 2 = 0")
	_, vacuumed := p.source.Pool.Exec(ctx, "vacuum notes")
	return errors.Join(err, deleted, vacuumed)
}

func TestReplicaConnectionsRefuseWritesAlsoAfterAPromotion(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for _, promoted := range []bool{false, true} {
		if promoted {
			require.NoError(t, p.standby.Promote(t.Context()))
		}
		_, err := p.onStandby.Pool.Exec(t.Context(), "insert into notes values (1)")
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, "25006", refused.Code)
	}
	p.onStandby.Pool.Reset()
	require.Error(t, p.onStandby.Pool.Ping(t.Context()), "a promoted server is not connected to again")
}

// A standby that restarts after a crash may have replayed less than before: a read that
// relies on the observation before runs on the primary.
func TestConnectionToARestartedReplicaIsChecked(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for lsn, refused := range map[uint64]bool{1: false, 1 << 60: true} {
		ctx := replica.WithRequired(t.Context(), lsn, time.Now())
		p.onStandby.Pool.Reset() // the next connection is younger than the observation
		err := p.onStandby.Pool.QueryRow(ctx, "select 1").Scan(new(int))
		if refused {
			require.ErrorIs(t, err, replica.ErrBehindObservation)
			require.NoError(t, p.onStandby.Pool.QueryRow(replica.WithRequired(t.Context(), lsn, time.Now()), "select 1").Scan(new(int)), "it is older than this one")
			continue
		}
		require.NoError(t, err)
	}
}

// A set that has just started knows one position of the primary. Until a replica has
// replayed it, reads run on the primary, and the state says so.
func TestReplicaBehindTheFirstSampleIsShownAsLagging(t *testing.T) {
	t.Parallel()
	for replayed, want := range map[uint64]replica.Reason{99: replica.ReasonLagging, 100: replica.ReasonCurrent} {
		set := replica.NewObserved(wal.Position{Timeline: 1, LSN: 100}, wal.Position{Timeline: 1, LSN: replayed})
		require.Equal(t, want, set.Servers()[0].State, replayed)
		require.NoError(t, set.Read(replica.Allow(t.Context()), replica.Source{}, func(context.Context, replica.Source) error { return nil }))
		require.EqualValues(t, 1, set.Reads(want), replayed)
	}
}

// The role of the replicas' addresses needs no rights beyond reading tables.
func TestPlainRoleObservesAReplica(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	exec(t, p.primary, "create role reader login")
	as := func(server *devpg.Server) string {
		return strings.Replace(server.URL("postgres"), "//postgres@", "//reader@", 1)
	}
	set := replica.New(newPool(t, as(p.primary)))
	t.Cleanup(set.Close)
	require.Eventually(t, func() bool {
		conn, err := pgx.Connect(t.Context(), as(p.standby))
		return err == nil && conn.Close(t.Context()) == nil
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, set.Add("reader", open(t, as(p.standby), replica.Connect), newPool(t, as(p.standby), replica.Observe)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go set.Run(ctx)
	require.Eventually(t, func() bool { return set.Servers()[0].State == replica.ReasonCurrent }, time.Minute, 10*time.Millisecond)
}

func TestAddressOfSeveralServersIsRefused(t *testing.T) {
	t.Parallel()
	set := replica.New(newPool(t, "postgres://a@one/x"))
	t.Cleanup(set.Close)
	require.NoError(t, set.Add("one", open(t, "postgres://a@one/x?sslmode=prefer", replica.Connect), newPool(t, "postgres://a@one/x?sslmode=prefer", replica.Observe)))
	require.ErrorContains(t, set.Add("two", open(t, "postgres://a@one,two/x", replica.Connect), newPool(t, "postgres://a@one,two/x", replica.Observe)), "names one server")
}
