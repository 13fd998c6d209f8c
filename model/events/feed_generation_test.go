package events_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/events"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/operations"
	"parapet/model/wire"
)

// createSequencedQuotes creates quotes whose events have sequences.
func createSequencedQuotes(t *testing.T, b *modeltest.Bundle, n int) {
	t.Helper()
	for range n {
		b.Quote("rain-excess", nil)
	}
	require.Equal(t, n, relayed(t, b))
}

// simulateRestoreTo removes the events after a sequence, as a restore does, and begins
// one.
func simulateRestoreTo(t *testing.T, b *modeltest.Bundle, sequence int64) {
	t.Helper()
	modeltest.ExecSQL(t, b, "set session_replication_role = replica; delete from event_checkpoints; reset session_replication_role")
	modeltest.ExecSQL(t, b, "alter table events disable trigger all")
	modeltest.ExecSQL(t, b, `with gone as (delete from event_sequence where partner = 'acme' and sequence > $1 returning event_id) delete from events where id in (select event_id from gone)`, sequence)
	modeltest.ExecSQL(t, b, "alter table events enable trigger all")
	_, err := b.Service.Operations.BeginRestore(t.Context(), b.Operator, operations.RestoreRequest{Reason: "The disk broke."})
	require.NoError(t, err)
	_, err = b.Service.Operations.FinishRestore(t.Context(), b.Operator, operations.RestoreRequest{Reason: "Nothing was paid.", WithoutReports: true})
	require.NoError(t, err)
}

func listEventsAfter(t *testing.T, b *modeltest.Bundle, after int64, generation int, page store.PageRequest) (*store.Page[wire.Event], error) {
	t.Helper()
	fresh, err := model.New(model.Config{DB: b.DB, Queue: modeltest.Queue{}, Keys: modeltest.Keys()}) // empty caches, as after a restart
	require.NoError(t, err)
	return fresh.Events.List(t.Context(), b.Acme, events.Filter{After: after, Generation: generation}, page)
}

func TestFeedRejectsSequenceLostInRestore(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	createSequencedQuotes(t, b, 6)
	beyond, err := listEventsAfter(t, b, 0, 0, store.PageRequest{Limit: 5})
	require.NoError(t, err)
	within, err := listEventsAfter(t, b, 0, 0, store.PageRequest{Limit: 3})
	require.NoError(t, err)
	simulateRestoreTo(t, b, 4)
	createSequencedQuotes(t, b, 4) // the sequences 5 and 6 now name other events

	for _, generation := range []int{0, 1} {
		_, err = listEventsAfter(t, b, 5, generation, store.PageRequest{})
		refused := modeltest.DomainError(t, err)
		require.Equal(t, apperr.CodeCursorInvalid, refused.Code)
		require.Equal(t, []string{"/after_sequence"}, modeltest.FieldPointers(refused))
		require.Contains(t, refused.Fields[0].Detail, "after_sequence=4")
		list, err := listEventsAfter(t, b, 4, generation, store.PageRequest{})
		require.NoError(t, err)
		require.Len(t, list.Data, 4)
		require.Equal(t, []int{2, 2, 2, 2}, generationsOf(list.Data))
	}
	list, err := listEventsAfter(t, b, 5, 2, store.PageRequest{})
	require.NoError(t, err)
	require.Len(t, list.Data, 3)
	_, err = listEventsAfter(t, b, 5, 3, store.PageRequest{})
	require.Equal(t, apperr.CodeParameterInvalid, apperr.CodeOf(err))
	_, err = listEventsAfter(t, b, 5, -1, store.PageRequest{})
	require.Equal(t, apperr.CodeParameterInvalid, apperr.CodeOf(err))

	_, err = listEventsAfter(t, b, 0, 0, store.PageRequest{Cursor: *beyond.NextCursor})
	require.Equal(t, apperr.CodeCursorInvalid, apperr.CodeOf(err))
	require.Contains(t, modeltest.DomainError(t, err).Fields[0].Detail, "restored")
	list, err = listEventsAfter(t, b, 0, 0, store.PageRequest{Cursor: *within.NextCursor, Limit: 3})
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 2}, generationsOf(list.Data))
	list, err = listEventsAfter(t, b, 0, 0, store.PageRequest{Cursor: *list.NextCursor})
	require.NoError(t, err)
	require.Len(t, list.Data, 2, "a cursor of the new generation is valid after the restore")
}

func generationsOf(events []wire.Event) (list []int) {
	for _, event := range events {
		list = append(list, event.Generation)
	}
	return list
}

// The first restore removed events that a reader of the first generation has read; the
// reader is rejected even when the feed grew past that point before the second restore.
func TestFeedChecksEveryRestoreSinceReader(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	createSequencedQuotes(t, b, 6)
	simulateRestoreTo(t, b, 2)
	createSequencedQuotes(t, b, 4)
	simulateRestoreTo(t, b, 4)
	createSequencedQuotes(t, b, 1)
	for generation, last := range map[int]int64{1: 2, 2: 4, 3: 5} {
		_, err := listEventsAfter(t, b, last, generation, store.PageRequest{})
		require.NoError(t, err)
		if generation < 3 {
			_, err = listEventsAfter(t, b, last+1, generation, store.PageRequest{})
			require.Equal(t, apperr.CodeCursorInvalid, apperr.CodeOf(err), generation)
		}
	}
	list, err := listEventsAfter(t, b, 0, 0, store.PageRequest{})
	require.NoError(t, err)
	require.Equal(t, []int{1, 1, 2, 2, 3}, generationsOf(list.Data))
	require.Len(t, proven(t, b, b.Acme), 5, "without gaps and with a valid hash chain")
}

// A restore ends a subscription with cursor_invalid, as quickly as disabling its partner
// would.
func TestSubscriptionEndsOnRestore(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	createSequencedQuotes(t, b, 6)
	tail, err := b.Service.Events.Follow(t.Context(), b.Acme, events.Filter{After: 2})
	require.NoError(t, err)
	events, err := tail.Next(t.Context())
	require.NoError(t, err)
	require.Len(t, events, 4)
	simulateRestoreTo(t, b, 4)
	_, err = tail.Next(t.Context())
	require.Equal(t, apperr.CodeCursorInvalid, apperr.CodeOf(err))
}

func TestSavedCheckpointsShowTruncatedHistory(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	createSequencedQuotes(t, b, 6)
	b.Sweep() // sign checkpoints
	require.Nil(t, modeltest.RecordHeartbeats(t, b.Service, 1))
	intact := modeltest.Must(b.Service.Events.VerifyChain(t.Context(), b.Acme, ""))
	require.True(t, intact.Intact, intact.Faults)
	require.EqualValues(t, 1, intact.Checkpoints, "the database and the file store have the same checkpoint")

	modeltest.ExecSQL(t, b, "alter table events disable trigger all; alter table event_checkpoints disable trigger all")
	modeltest.ExecSQL(t, b, `with gone as (delete from event_sequence where partner = 'acme' and sequence > 4 returning event_id) delete from events where id in (select event_id from gone)`)
	modeltest.ExecSQL(t, b, "delete from event_checkpoints")
	cut := modeltest.Must(b.Service.Events.VerifyChain(t.Context(), b.Acme, ""))
	require.False(t, cut.Intact)
	require.True(t, slices.ContainsFunc(cut.Faults, func(f wire.HistoryFault) bool { return f.Kind == "cut" }), cut.Faults)

	simulateRestoreTo(t, b, 4)
	fresh, _ := modeltest.NewServiceAt(t, b.URL, b.Files)
	answered := modeltest.Must(fresh.Events.VerifyChain(t.Context(), b.Acme, ""))
	require.True(t, answered.Intact, answered.Faults)
	require.Len(t, answered.Lost, 1)
	require.EqualValues(t, 6, answered.Lost[0].Sequence)
	require.Equal(t, 1, answered.Lost[0].Generation)
}

// A reader past the restored point that reads in pages sends the generation of its last
// event; so do the checks at the end of every test.
func TestFeedIsReadInPagesBeyondARestore(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	createSequencedQuotes(t, b, 1)
	modeltest.Must(b.Service.Operations.BeginRestore(t.Context(), b.Operator, operations.RestoreRequest{Reason: "The disk broke."}))
	modeltest.Must(b.Service.Operations.FinishRestore(t.Context(), b.Operator, operations.RestoreRequest{Reason: "Nothing was paid.", WithoutReports: true}))
	createSequencedQuotes(t, b, store.MaxPageSize+1)
	list, err := listEventsAfter(t, b, store.MaxPageSize, 2, store.PageRequest{})
	require.NoError(t, err)
	require.Len(t, list.Data, 2)
	b.CheckInvariants()
}
