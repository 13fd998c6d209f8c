package events

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"parapet/model/dbconn"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// RelayBatchSize bounds the events that one pass of the relay numbers.
const RelayBatchSize = 2000

// relayLock is the advisory lock of the one active relay: "events" in hexadecimal.
const relayLock int64 = 0x6576656e7473

// unsequencedEvent is an event without a sequence number.
type unsequencedEvent struct {
	Ordinal    int64
	Partner    string
	EventID    uuid.UUID `bun:"type:uuid"`
	Type       event.Type
	OccurredAt time.Time
	DataHash   []byte
	Horizon    string // every transaction with a lower id had ended when this was read
}

// unsequencedEventsQuery reads the outbox in order of cause and effect: first events
// that were committed late into a gap, then those above the highest ordinal. One
// statement is one snapshot, so an effect is never read without its cause; the snapshot
// is taken after the lock, so it includes the work of the previous relay. A relay
// without the lock reads nothing, nor does a transaction that has an id already: see
// saveSequencesSQL. While a restore of the database is open, nothing is numbered,
// because the restore may begin a new generation. The subquery reads each gap by the index;
// a join may read the whole outbox.
const unsequencedEventsQuery = `with relay as (select last_ordinal, pending_gaps from event_relay)
select o.ordinal, o.partner, o.event_id, e.type, e.occurred_at, e.data_hash,
	pg_snapshot_xmin(pg_current_snapshot())::text as horizon
from (
	(select late.ordinal, late.partner, late.event_id from relay, unnest(relay.pending_gaps) as gap cross join lateral (
		select ordinal, partner, event_id from event_outbox where ordinal >= lower(gap) and ordinal < upper(gap) order by ordinal limit $1) as late
		order by late.ordinal limit $1)
	union all
	(select ordinal, partner, event_id from event_outbox where ordinal > (select last_ordinal from relay) order by ordinal limit $1)
) o cross join lateral (select type, occurred_at, coalesce(data_hash, sha256(data)) as data_hash from events where id = o.event_id and partner = o.partner offset 0) e
where current_setting('parapet.relay') = 'true' and pg_current_xact_id_if_assigned() is null
	and not exists (select from database_restores where ended_at is null) order by o.ordinal limit $1`

// relayDueSQL reports whether unsequencedEventsQuery would find an event. It reads in the
// order of the index: a plan that expects an event soon, wherever it lies, reads the rows
// that relays have deleted.
const relayDueSQL = `select (select ordinal from event_outbox where ordinal > (select last_ordinal from event_relay) order by ordinal limit 1) is not null
	or exists (select from event_relay, unnest(pending_gaps) as gap cross join lateral (
		select from event_outbox where ordinal >= lower(gap) and ordinal < upper(gap) order by ordinal limit 1) as late)`

// lockRelaySQL tries to take the relay lock until the end of the transaction, and
// stores the result for the next statement in the same round trip.
const lockRelaySQL = "select set_config('parapet.relay', pg_try_advisory_xact_lock($1)::text, true)"

// IdleTimeoutSQL ends a transaction whose process or machine hangs: its locks would
// keep every other relay waiting for as long as transactions may idle elsewhere. When a
// process dies, its connection and transaction end with it.
const (
	IdleTimeoutSQL   = "select set_config('idle_in_transaction_session_timeout', $1, true)"
	RelayIdleTimeout = "5s"
)

// saveSequencesSQL numbers events, removes them from the outbox and updates the relay's
// watermarks. A gap is removed when the transactions that could fill it have ended,
// judged by the snapshot of the outbox read ($7), and nothing was left unread ($8).
//
// A transaction that could fill a gap has an id below the relay's own: an ordinal below
// high was drawn before the relay read the outbox, its transaction had drawn its id
// before that (event_outbox ensures it), and the relay draws its own id after the read.
// The end of the relay's snapshot would not do: it is one above the highest id that has
// ended, and transactions above that may be running.
const saveSequencesSQL = `with numbered as (
	insert into event_sequence (partner, sequence, event_id, hash, type, generation)
	select n.*, coalesce(g.generation, 1) from unnest($1::text[], $2::bigint[], $3::uuid[], $4::bytea[], $9::text[]) as n (partner, sequence, event_id, hash, type)
		left join (select partner, max(generation) as generation from feed_generations group by 1) g on g.partner = n.partner),
gone as (delete from event_outbox where ordinal = any($5::bigint[])),
moved as (select greatest(last_ordinal, $6::bigint) as last_ordinal,
	pending_gaps + int8multirange(int8range(last_ordinal + 1, greatest(last_ordinal, $6::bigint) + 1))
		- (select range_agg(int8range(seen, seen, '[]')) from unnest($5::bigint[]) as seen) as pending_gaps,
	$8::boolean and checkpoint_xid <= $7::text::xid8 as settled, checkpoint_ordinal from event_relay)
update event_relay r set last_ordinal = moved.last_ordinal, generation = r.generation + 1,
	pending_gaps = case when settled then moved.pending_gaps - int8multirange(int8range(0, moved.checkpoint_ordinal, '[]')) else moved.pending_gaps end,
	checkpoint_ordinal = case when settled then moved.last_ordinal else r.checkpoint_ordinal end,
	checkpoint_xid = case when settled then pg_current_xact_id() else r.checkpoint_xid end
from moved`

// Relay numbers committed events: each gets its partner's next sequence number and the
// hash that chains it to the previous event. It returns their number; zero when no
// event is due or another process relays. One relay at a time numbers events after
// their commit, so a partner's sequence has no gaps, a cause precedes its effect, and
// changes never wait for a shared counter.
func (s *Service) Relay(ctx context.Context) (numbered int, err error) {
	due := s.relayWasBusy.Load() // after a busy pass more events are likely
	if !due {
		due, err = isRelayDue(ctx, s.Pool)
	}
	if err != nil || !due {
		return 0, store.TranslateError(err)
	}
	var heads map[string]int64
	err = s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		var waiting []unsequencedEvent
		tx.Batch.Queue(IdleTimeoutSQL, RelayIdleTimeout)
		tx.Batch.Queue(dbconn.StablePlansSQL) // also for the foreign key of event_sequence, whose plan was made for every row: 20 µs instead of 6
		tx.Batch.Queue(lockRelaySQL, relayLock)
		tx.QueueSelect(&waiting, unsequencedEventsQuery, RelayBatchSize)
		err := tx.Flush(ctx)
		if numbered = len(waiting); err != nil || numbered == 0 {
			return err
		}
		heads, err = assignSequences(ctx, tx, waiting)
		return err
	})
	s.relayWasBusy.Store(numbered > 0 && err == nil)
	if numbered > 0 && err == nil {
		store.Local[Notifier](s.Store).notifyPartners(heads) // wakes the waiting feed readers in this process
	}
	return numbered, err
}

// isRelayDue reports whether an event waits for its number. The statement is not prepared, so
// Postgres plans it each time: a plan that was made while the outbox was empty would read the
// whole outbox after a large event.
func isRelayDue(ctx context.Context, on store.Querier) (due bool, err error) {
	rows, _ := on.Query(ctx, relayDueSQL) // CollectExactlyOneRow returns the error
	return pgx.CollectExactlyOneRow(rows, pgx.RowTo[bool])
}

// chainEnd is the last link of a partner's chain.
type chainEnd struct {
	sequence int64
	hash     []byte
}

// assignSequences appends the events to their partners' chains. It returns the last
// sequence number of each partner.
func assignSequences(ctx context.Context, tx *store.Tx, waiting []unsequencedEvent) (map[string]int64, error) {
	ends, err := loadChainEndsAndSchedule(ctx, tx, waiting)
	if err != nil {
		return nil, err
	}
	n := len(waiting)
	partners, sequences, ids := make([]string, n), make([]int64, n), make([]uuid.UUID, n)
	hashes, ordinals, types, high := make([][]byte, n), make([]int64, n), make([]event.Type, n), int64(0)
	for i, e := range waiting {
		end := ends[e.Partner]
		end = chainEnd{end.sequence + 1, ChainHash(end.hash, end.sequence+1, store.ResourceEvent.FormatID(e.EventID), e.Type, e.OccurredAt, e.DataHash)}
		ends[e.Partner] = end
		partners[i], sequences[i], ids[i], hashes[i], ordinals[i] = e.Partner, end.sequence, e.EventID, end.hash, e.Ordinal
		types[i] = e.Type
		high = max(high, e.Ordinal)
	}
	tx.Batch.Queue(saveSequencesSQL, partners, sequences, ids, hashes, ordinals, high, waiting[0].Horizon, n < RelayBatchSize, types)
	heads := make(map[string]int64, len(ends))
	for partner, end := range ends {
		heads[partner] = end.sequence
	}
	return heads, nil
}

// LastSequenceSQL returns a subquery for the last event of a partner's history: one index
// lookup, however long the history is.
func LastSequenceSQL(columns, partner string) string {
	return "(select " + columns + " from event_sequence where partner = " + partner + " order by sequence desc limit 1)"
}

// RelaySettings are the parts of other subdomains that the relay calls.
type RelaySettings struct {
	// OnSequenced queues, in the relay's transaction, what the new events of the
	// partners cause; done runs after the queued statements.
	OnSequenced func(tx *store.Tx, partners []string, types []event.Type) (done func())
}

// loadChainEndsAndSchedule reads the last sequence numbers of the partners and makes
// their endpoints due. It reads them from the events' numbers: a separate counter would
// be rewritten in every pass.
func loadChainEndsAndSchedule(ctx context.Context, tx *store.Tx, waiting []unsequencedEvent) (map[string]chainEnd, error) {
	ends, wanted := make(map[string]chainEnd), make(map[event.Type]bool)
	for _, e := range waiting {
		ends[e.Partner] = chainEnd{hash: make([]byte, sha256.Size)}
		wanted[e.Type] = true
	}
	partners, types := slices.Collect(maps.Keys(ends)), slices.Collect(maps.Keys(wanted))
	var last []struct {
		Partner  string
		Sequence int64
		Hash     []byte
	}
	tx.QueueSelect(&last, "select p as partner, n.sequence, n.hash from unnest($1::text[]) p cross join lateral "+LastSequenceSQL("sequence, hash", "p")+" n", partners)
	start := store.Local[RelaySettings](tx.Store).OnSequenced(tx, partners, types)
	if err := tx.Flush(ctx); err != nil {
		return nil, fmt.Errorf("read ends of chains and wake endpoints: %w", err)
	}
	start()
	for _, end := range last {
		ends[end.Partner] = chainEnd{end.Sequence, end.Hash}
	}
	return ends, nil
}

// ChainHash returns the hash of an event in its partner's chain: SHA-256 over six
// lines, each as a reader of the feed sees it, so that any reader can verify a history
// with a few lines of code. The first event follows a hash of 32 zero bytes.
//
//	hash of the previous event, in hexadecimal
//	sequence
//	id
//	type
//	occurred_at
//	SHA-256 of the bytes of data, in hexadecimal
func ChainHash(before []byte, sequence int64, id string, kind event.Type, occurred time.Time, data []byte) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%s\n%s\n%s\n%s",
		hex.EncodeToString(before), sequence, id, kind, wire.FormatTime(occurred), hex.EncodeToString(data)))
	return sum[:]
}
