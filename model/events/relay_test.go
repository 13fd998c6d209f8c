package events_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/model/events"
	"parapet/model/events/webhooks"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/quoting"
	"parapet/model/wire"
)

// proven reads a partner's whole feed and proves its chain
// with the recipe of the documentation.
func proven(t *testing.T, b *modeltest.Bundle, actor actor.Actor) []wire.Event {
	t.Helper()
	var all []wire.Event
	before := strings.Repeat("0", 64)
	for page := (store.PageRequest{Limit: 3}); ; {
		list, err := b.Service.Events.List(t.Context(), actor, events.Filter{}, page)
		require.NoError(t, err)
		for _, event := range list.Data {
			require.EqualValues(t, len(all)+1, event.Sequence)
			data := sha256.Sum256(event.Data)
			sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%s\n%s\n%s\n%x", before, event.Sequence, event.ID, event.Type,
				event.OccurredAt.UTC().Format("2006-01-02T15:04:05.000000Z"), data))
			require.Equal(t, hex.EncodeToString(sum[:]), event.Hash)
			before = event.Hash
			all = append(all, event)
		}
		if !list.HasMore {
			return all
		}
		page.Cursor = *list.NextCursor
	}
}

// relayed numbers all waiting events.
func relayed(t *testing.T, b *modeltest.Bundle) (numbered int) {
	t.Helper()
	for {
		n, err := b.Service.Events.Relay(t.Context())
		require.NoError(t, err)
		if n == 0 {
			return numbered
		}
		numbered += n
	}
}

func TestEventsAreNumberedPerPartnerInTheOrderTheyHappened(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	b.ActingAs(b.Globex).Quote("quake-circle", nil)
	none, err := b.Service.Events.List(t.Context(), b.Acme, events.Filter{}, store.PageRequest{})
	require.NoError(t, err)
	require.Empty(t, none.Data, "what has no number yet is not shown")
	require.Equal(t, 4, relayed(t, b))
	b.Quote("rain-excess", nil)
	require.Equal(t, 1, relayed(t, b))
	require.Zero(t, relayed(t, b))

	var types []string
	feed := proven(t, b, b.Acme)
	for _, event := range feed {
		types = append(types, event.Type)
	}
	require.Equal(t, []string{"quote.created", "quote.bound", "policy.activated", "quote.created"}, types)
	require.Len(t, proven(t, b, b.Globex), 1)

	about, err := b.Service.Events.List(t.Context(), b.Acme, events.Filter{Subject: policy.ID}, store.PageRequest{})
	require.NoError(t, err)
	require.Equal(t, feed[2:3], about.Data)
	text, err := wire.Encode(policy)
	require.NoError(t, err)
	require.Equal(t, `{"object":`+string(text)+`}`, string(about.Data[0].Data), "the record as it was answered")
	one, err := b.Service.Events.Get(t.Context(), b.Acme, feed[2].ID)
	require.NoError(t, err)
	require.Equal(t, feed[2], *one)
	_, err = b.Service.Events.Get(t.Context(), b.Globex, feed[2].ID)
	require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(err))
	bound, err := b.Service.Events.List(t.Context(), b.Acme, events.Filter{After: 1, Types: []event.Type{"quote.bound", "quote.created"}}, store.PageRequest{})
	require.NoError(t, err)
	require.Equal(t, []wire.Event{feed[1], feed[3]}, bound.Data)
}

func TestFeedRefusesUnknownFilters(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for _, f := range []events.Filter{
		{Partner: "globex"},
		{After: -1},
		{Types: []event.Type{"quote.eaten"}},
		{Subject: "unknown"},
		{Subject: "obs_01h455vb4pex5vsknk084sn02q"},
		{Wait: time.Minute},
		{Wait: -1},
	} {
		_, err := b.Service.Events.List(t.Context(), b.Acme, f, store.PageRequest{})
		require.Equal(t, apperr.CodeParameterInvalid, apperr.CodeOf(err), "%+v", f)
	}
	_, err := b.Service.Events.List(t.Context(), b.Operator, events.Filter{}, store.PageRequest{})
	require.Equal(t, apperr.CodeParameterInvalid, apperr.CodeOf(err), "an operator names a partner")
	_, err = b.Service.Events.List(t.Context(), b.Operator, events.Filter{Partner: "acme"}, store.PageRequest{})
	require.NoError(t, err)
}

func TestManyRelaysNumberNothingTwice(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 5 {
				if _, err := b.Service.Quotes.Create(t.Context(), b.Acme, quoting.Request{Product: "rain-excess", Context: []byte(`{"partner":"acme"}`)}); err != nil {
					t.Error(err)
				}
				if _, err := b.Service.Events.Relay(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	relayed(t, b)
	require.Len(t, proven(t, b, b.Acme), 20)
}

// A relay that hangs in its transaction stops the others from numbering only until the
// database ends the transaction.
func TestHangingRelayIsReplaced(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.Quote("rain-excess", nil)
	for _, idle := range []string{"0", "20ms"} { // 0: without a limit
		tx, err := b.DB.Pool.Begin(t.Context())
		require.NoError(t, err)
		require.NoError(t, events.HoldRelayLock(t.Context(), tx, idle))
		if idle == "0" {
			require.Zero(t, relayed(t, b))
		} else {
			require.Eventually(t, func() bool { return relayed(t, b) == 1 }, time.Minute, 5*time.Millisecond)
		}
		_ = tx.Rollback(t.Context()) // the second connection is closed
	}
}

// unfinished writes one event in a transaction that stays open.
func unfinished(t *testing.T, b *modeltest.Bundle) pgx.Tx {
	t.Helper()
	tx, err := b.DB.Pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
	_, err = tx.Exec(t.Context(), `with e as (insert into events (id, partner, type, subject_type, subject_id, subject_version, occurred_at, data)
			values (gen_random_uuid(), 'acme', 'quote.created', 'quote', gen_random_uuid(), 1, now(), '{}') returning id)
		insert into event_outbox (partner, event_id) select 'acme', id from e`)
	require.NoError(t, err)
	return tx
}

func TestALateCommitIsNumberedWhenItIsVisible(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	late, never := unfinished(t, b), unfinished(t, b)
	b.Quote("rain-excess", nil)
	require.Equal(t, 1, relayed(t, b))
	require.Equal(t, "{[1,3)}", gaps(t, b), "two ordinals were passed that may yet come")
	b.Quote("rain-excess", nil)
	require.Equal(t, 1, relayed(t, b))
	require.NoError(t, late.Commit(t.Context()))
	require.Equal(t, 1, relayed(t, b))
	require.Equal(t, "{[2,3)}", gaps(t, b))
	require.NoError(t, never.Rollback(t.Context()))
	sequence := 3
	for ; gaps(t, b) != "{}"; sequence++ { // a gap is removed once every transaction of that time has ended
		require.Less(t, sequence, 2000)
		b.Quote("rain-excess", nil)
		require.Equal(t, 1, relayed(t, b))
	}
	require.Len(t, proven(t, b, b.Acme), sequence)
}

// TestTransactionBegunDuringRelayReadIsSequenced begins a transaction between the begin
// of the relay's transaction and its read of the outbox; it commits last.
func TestTransactionBegunDuringRelayReadIsSequenced(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	ctx := t.Context()
	many(t, b, 1)
	require.Equal(t, 1, modeltest.Must(b.Service.Events.Relay(ctx))) // so that the next pass skips its first check
	relay := b.BlockRelay()
	first := make(chan int, 1)
	go func() {
		n, err := b.Service.Events.Relay(ctx)
		if err != nil {
			t.Error(err)
		}
		first <- n
	}()
	relay.AwaitWaiter() // the pass began, and is about to read
	late, err := b.DB.Pool.Begin(ctx)
	require.NoError(t, err)
	_, err = late.Exec(ctx, someEvents, 1)
	require.NoError(t, err)
	many(t, b, 1)
	relay.Release()
	require.Equal(t, 1, <-first)
	for range 3 {
		many(t, b, 1)
		require.Equal(t, 1, relayed(t, b))
	}
	require.NoError(t, late.Commit(ctx))
	require.Equal(t, 1, relayed(t, b), "what committed last is numbered too")
	require.Len(t, proven(t, b, b.Acme), 6)
}

func gaps(t *testing.T, b *modeltest.Bundle) (text string) {
	t.Helper()
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select pending_gaps::text from event_relay").Scan(&text))
	return text
}

func TestAReaderWaitsForTheFirstEvent(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	wait := func(types ...event.Type) <-chan []wire.Event {
		heard := make(chan []wire.Event, 1)
		go func() {
			list, err := b.Service.Events.List(t.Context(), b.Acme, events.Filter{Types: types, Wait: events.MaxEventWait}, store.PageRequest{})
			if err != nil {
				t.Error(err)
			}
			heard <- list.Data
		}()
		return heard
	}
	first, rare := wait(), wait(event.QuoteBound)
	quote := b.Quote("rain-excess", nil)
	require.Equal(t, 1, relayed(t, b))
	require.Len(t, <-first, 1)
	for range 2 { // other transactions begin meanwhile
		b.Quote("rain-excess", nil)
		require.Equal(t, 1, relayed(t, b))
	}
	b.Bind(quote)
	require.Positive(t, relayed(t, b))
	bound := <-rare
	require.Len(t, bound, 1)
	require.Equal(t, quote.ID, bound[0].Subject.ID)
	list, err := b.Service.Events.List(t.Context(), b.Acme, events.Filter{After: bound[0].Sequence + 1, Wait: time.Millisecond}, store.PageRequest{})
	require.NoError(t, err)
	require.Empty(t, list.Data, "the end of the wait is no error")
}

// someEvents writes n events that wait for a number.
const someEvents = `with e as (insert into events (id, partner, type, subject_type, subject_id, subject_version, occurred_at, data)
			select gen_random_uuid(), 'acme', 'quote.created', 'quote', gen_random_uuid(), 1, now(), '{}' from generate_series(1, $1) returning id)
		insert into event_outbox (partner, event_id) select 'acme', id from e`

// many writes n waiting events in one transaction.
func many(t *testing.T, b *modeltest.Bundle, n int) {
	t.Helper()
	_, err := b.DB.Pool.Exec(t.Context(), someEvents, n)
	require.NoError(t, err)
}

func TestAnOldSnapshotElsewhereDoesNotSlowTheRelay(t *testing.T) {
	t.Parallel()
	const maxDuePages = 20
	b := modeltest.New(t, modeltest.WithoutChecks())
	old, err := b.DB.Pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	defer func() { _ = old.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = old.Exec(t.Context(), "select pg_current_xact_id(), count(*) from event_outbox") // it prevents that newer rows are vacuumed
	require.NoError(t, err)
	visited := func() int64 {
		many(t, b, events.RelayBatchSize)
		pages, due, err := b.Service.Events.RelayPagesRead(t.Context())
		require.NoError(t, err)
		require.Less(t, due, int64(maxDuePages))
		relayed(t, b)
		return pages
	}
	first := visited()
	many(t, b, 10*events.RelayBatchSize)
	require.Equal(t, 10*events.RelayBatchSize, relayed(t, b))
	_, due, err := b.Service.Events.RelayPagesRead(t.Context())
	require.NoError(t, err)
	require.Less(t, due, int64(maxDuePages), "none waits, and the rows that were numbered are not visited")
	_, err = b.DB.Pool.Exec(t.Context(), "vacuum event_outbox")
	require.NoError(t, err)
	require.Less(t, visited(), 2*first, "rows that were numbered are not visited again")
}

func TestRelayChecksByIndexAfterAnEmptyOutbox(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	relayed(t, b)
	_, err := b.DB.Pool.Exec(t.Context(), "vacuum event_outbox")
	require.NoError(t, err)
	err = b.Service.InTx(t.Context(), actor.System(), func(ctx context.Context, tx *store.Tx) error {
		isDue := func() bool {
			due, err := events.IsRelayDue(ctx, tx.PgxConn)
			require.NoError(t, err)
			return due
		}
		require.False(t, isDue())
		_, err := b.DB.Pool.Exec(ctx, someEvents, 10*events.RelayBatchSize)
		require.NoError(t, err)
		rows := modeltest.CountRowsRead(ctx, t, tx, "event_outbox", func() { require.True(t, isDue()) })
		require.LessOrEqual(t, rows, 1, "the plan for an empty outbox reads all events")
		return nil
	})
	require.NoError(t, err)
}

// An endpoint that rests until its probe has no drain; what comes meanwhile is
// numbered, its own partner's and everybody's.
func TestRestingEndpointDoesNotDelayRelay(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	url := "https://example.com/hooks"
	_, err := b.Service.Webhooks.CreateEndpoint(t.Context(), b.Acme, webhooks.EndpointRequest{URL: &url})
	require.NoError(t, err)
	relayed(t, b)
	_, err = b.DB.Pool.Exec(t.Context(), "update webhook_progress set lease_id = null, lease_expires_at = null, failures = 3, next_probe_at = now() + interval '1 day'")
	require.NoError(t, err)
	mine, theirs := b.Quote("rain-excess", nil), b.ActingAs(b.Globex).Quote("rain-excess", modeltest.Context{"partner": "globex"})
	relayed(t, b)
	for actor, id := range map[*actor.Actor]string{&b.Acme: mine.ID, &b.Globex: theirs.ID} {
		list, err := b.Service.Events.List(t.Context(), *actor, events.Filter{Subject: id}, store.PageRequest{})
		require.NoError(t, err)
		require.Len(t, list.Data, 1)
	}
}

// A large event fills the outbox after the plans of the statements were made. A plan that
// reads the table whole would do so in every pass.
func TestPlansOfRelayDoNotReadTheOutbox(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.Quote("quake-circle", nil)
	_, err := b.DB.Pool.Exec(t.Context(), "analyze event_outbox")
	require.NoError(t, err)
	require.Positive(t, relayed(t, b))
	reads, deletes := b.KeptPlans("with relay as%"), b.KeptPlans("with numbered as%")
	require.NotEmpty(t, reads)
	require.NotEmpty(t, deletes)
	for _, plan := range reads {
		require.Regexp(t, `Index Cond: \(\(ordinal >= lower\(gap`, plan)
	}
	for _, plan := range slices.Concat(reads, deletes) {
		require.NotContains(t, plan, "Seq Scan on event_outbox")
	}
}
