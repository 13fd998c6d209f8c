package events_test

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"parapet/internal/devpg"
	"parapet/model/events"
	"parapet/model/modeltest"
)

var (
	relayFor     = flag.Duration("relay-for", 3*time.Second, "how long TestNoEventIsLostWhileManyCommitInAnyOrder writes")
	relayWriters = flag.Int("relay-writers", 4, "how many transactions it has at once")
)

// quietServer starts a server of its own, on which no other test's transaction ends.
func quietServer(t *testing.T) modeltest.Option {
	t.Helper()
	server, err := devpg.Start(t.Context(), devpg.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.Background())) })
	require.NoError(t, server.CreateDatabase(t.Context(), "quiet"))
	return modeltest.OnServer(server.URL("quiet"))
}

// The end of the relay's snapshot is the id of the late transaction: no higher one has
// ended. Its gap must outlive a pass in which everything below that id has ended.
func TestAGapWaitsForTheTransactionWhoseIDEndsTheSnapshot(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, quietServer(t), modeltest.WithoutChecks())
	first, late := modeltest.BeginOutsideTx(t, b), modeltest.BeginOutsideTx(t, b)
	first.Run("select pg_current_xact_id()")
	late.Run(someEvents, 1)
	first.Run(someEvents, 1)
	require.NoError(t, first.Commit(t.Context()))
	require.Equal(t, 1, relayed(t, b))
	for range 3 {
		many(t, b, 1)
		require.Equal(t, 1, relayed(t, b))
	}
	require.NoError(t, late.Commit(t.Context()))
	require.Equal(t, 1, relayed(t, b), "what committed last is numbered")
	require.Len(t, proven(t, b, b.Acme), 5)
	require.Empty(t, b.Violations()["inv_events_sequenced"])
}

// A gap with more events than one pass reads is kept until all are read.
func TestAGapWaitsUntilAllInItIsRead(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, quietServer(t), modeltest.WithoutChecks())
	late := modeltest.BeginOutsideTx(t, b)
	late.Run(someEvents, 2*events.RelayBatchSize+1)
	many(t, b, 1)
	require.Equal(t, 1, modeltest.Must(b.Service.Events.Relay(t.Context())))
	require.NoError(t, late.Commit(t.Context()))
	require.Equal(t, events.RelayBatchSize, modeltest.Must(b.Service.Events.Relay(t.Context())))
	require.Equal(t, events.RelayBatchSize+1, relayed(t, b))
	require.Empty(t, b.Violations()["inv_events_sequenced"])
}

// An ordinal drawn before its transaction's id could belong to a transaction that the
// relay does not wait for.
func TestATransactionHasItsIDBeforeItDrawsAnOrdinal(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	var id *string
	observer := modeltest.BeginOutsideTx(t, b)
	observer.Run(`create function see() returns trigger language plpgsql as $$ begin
		perform set_config('parapet.seen', coalesce(pg_current_xact_id_if_assigned()::text, ''), false); return new; end $$`)
	observer.Run("create trigger see before insert on event_outbox for each row execute function see()")
	require.NoError(t, observer.Commit(t.Context()))
	many(t, b, 1) // the sequence writes 32 values at once to the log, and draws an id when it does
	writer := modeltest.BeginOutsideTx(t, b)
	writer.Run("insert into event_outbox (partner, event_id) values ('acme', gen_random_uuid())")
	require.NoError(t, writer.QueryRow(t.Context(), "select nullif(current_setting('parapet.seen'), '')").Scan(&id))
	require.NotNil(t, id, "the row has its ordinal, and its transaction no id")
}

// The wait is measured by the clock of the database. Business time, which rehearsals move,
// would make events of the last seconds late, and so would a process whose clock is
// behind: its ids are old.
func TestAnEventThatWaitsTooLongIsAViolation(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	violations := func() int { return len(b.Violations()["inv_events_sequenced"]) }
	execSQL := func(statement string) { modeltest.ExecSQL(t, b, statement) }
	insert := func(idAge, columns, values string) {
		execSQL(fmt.Sprintf(`with e as (insert into events (id, partner, type, subject_type, subject_id, subject_version, occurred_at, data)
				select lowest_uuid(clock_timestamp() - interval '%s'), 'acme', 'quote.created', 'quote', gen_random_uuid(), 1, business_now(), '{}' returning id)
			insert into event_outbox (partner, event_id%s) select 'acme', id%s from e`, idAge, columns, values))
	}
	write := func(age string) { insert("0 seconds", ", queued_at", ", clock_timestamp() - interval '"+age+"'") }
	insert("30 seconds", ", queued_at", ", null")
	require.Zero(t, violations())
	insert("61 seconds", ", queued_at", ", null")
	require.Equal(t, 1, violations(), "a row from before the column has the time of its id")
	relayed(t, b)
	insert("10 minutes", "", "")
	write("30 seconds")
	execSQL("update clock set offset_interval = '1 hour'")
	require.Zero(t, violations())
	write("61 seconds")
	require.Equal(t, 1, violations())
	relayed(t, b)
	require.Zero(t, violations())
	write("1 hour")
	execSQL(`insert into database_restores (id, noticed_at, noticed_by, evidence, file_store_heartbeat)
		values (gen_random_uuid(), now() - interval '2 hours', 'olive', 'behind', 1)`)
	require.Zero(t, violations(), "nothing is numbered while a restore is open")
	execSQL("update database_restores set ended_at = now(), events_resumed_at = now() - interval '30 seconds', ended_by = 'olive', end_reason = 'done', outcome = 'finished'")
	require.Zero(t, violations(), "its minute begins when the restore ends")
	execSQL("update database_restores set events_resumed_at = now() - interval '61 seconds'")
	require.Equal(t, 1, violations())
	execSQL("update database_restores set ended_at = now(), events_resumed_at = null")
	require.Zero(t, violations(), "a release before the column ended it")
	execSQL("update database_restores set ended_at = now() - interval '61 seconds'")
	require.Equal(t, 1, violations())
	relayed(t, b)
	write("1 second")
	execSQL("update event_relay set last_ordinal = last_ordinal + 1")
	require.Equal(t, 1, violations(), "the relay never reads it again")
}

// Writers draw ids and ordinals in every order, and commit or roll back in every other
// order.
func TestNoEventIsLostWhileManyCommitInAnyOrder(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, quietServer(t), modeltest.WithoutChecks(), modeltest.WithConnections(int32(*relayWriters)+4))
	ctx, end := context.WithTimeout(t.Context(), *relayFor)
	defer end()
	var all sync.WaitGroup
	for range *relayWriters {
		all.Go(func() { writeAtRandom(ctx, t, b.DB.Pool) })
	}
	for ctx.Err() == nil {
		_, err := b.Service.Events.Relay(t.Context())
		require.NoError(t, err)
	}
	all.Wait()
	relayed(t, b)
	var events, numbers, last int64
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select (select count(*) from events), count(*), coalesce(max(sequence), 0) from event_sequence").Scan(&events, &numbers, &last))
	t.Logf("%d events", events)
	require.Positive(t, events)
	require.Equal(t, []int64{events, events}, []int64{numbers, last})
	require.Empty(t, b.Violations()["inv_events_sequenced"])
}

// writeAtRandom runs transactions of one event until ctx ends; one in eight is rolled back.
func writeAtRandom(ctx context.Context, t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	const some = "select pg_sleep(0.15 * power(random(), 4))" // mostly short, and sometimes longer than all the others
	for ctx.Err() == nil {
		tx, err := pool.Begin(t.Context()) //nolint:contextcheck // the writers end with the test
		if err != nil {
			t.Error(err)
			return
		}
		var discard bool
		batch := &pgx.Batch{}
		batch.Queue("select pg_current_xact_id()")
		batch.Queue(some)
		batch.Queue(someEvents, 1)
		batch.Queue(some)
		batch.Queue("select random() < 0.125").QueryRow(func(row pgx.Row) error { return row.Scan(&discard) })
		if err = tx.SendBatch(t.Context(), batch).Close(); err == nil && !discard { //nolint:contextcheck // the writers end with the test
			err = tx.Commit(t.Context()) //nolint:contextcheck // the writers end with the test
		} else {
			_ = tx.Rollback(t.Context()) //nolint:contextcheck // the writers end with the test
		}
		if err != nil {
			t.Error(err)
			return
		}
	}
}
