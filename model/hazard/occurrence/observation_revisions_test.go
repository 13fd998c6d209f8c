package occurrence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

func TestRevisionsShowEveryReportAndWhatChanged(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	in := modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.1")
	in.Stage, in.Revision = trigger.Preliminary, new(int64(1))
	report := func(change func(*wire.ObservationInput)) *wire.Observation {
		b.AdvanceClock(time.Minute)
		change(&in)
		record, _, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Source, in, false)
		require.NoError(t, err)
		return record
	}
	first := report(func(*wire.ObservationInput) {})
	report(func(*wire.ObservationInput) {}) // unchanged: no revision
	report(func(in *wire.ObservationInput) {
		in.Revision, in.Location, in.Aliases = new(int64(2)), &hazard.Point{Latitude: 24, Longitude: 121}, []string{"at1"}
		in.Measures = map[string]wire.Measure{"magnitude": {Value: "6.3", Unit: "mw"}, "depth": in.Measures["depth"]}
	})
	report(func(in *wire.ObservationInput) {
		in.Stage, in.OccurredAt = trigger.Final, in.OccurredAt.Add(time.Second)
	})
	last := report(func(in *wire.ObservationInput) { in.Stage = trigger.Retracted })

	list := func(caller actor.Actor, page store.PageRequest) *store.Page[wire.ObservationRevision] {
		revisions, err := b.Service.Occurrences.ListRevisions(t.Context(), caller, first.ID, page)
		require.NoError(t, err)
		return revisions
	}
	all := list(b.Acme, store.PageRequest{}).Data
	changed := [][]string{{}, {"/aliases", "/location", "/measures/magnitude", "/revision"}, {"/occurred_at", "/stage"}, {"/stage"}}
	require.Len(t, all, len(changed))
	for i, revision := range all {
		require.Equal(t, changed[i], revision.Changed)
		require.Equal(t, int64(i+1), revision.Version)
		require.Equal(t, first.ID, revision.ID)
		require.Equal(t, revision.RecordedAt, revision.UpdatedAt)
	}
	require.Equal(t, first.ObservationInput, all[0].ObservationInput)
	require.Equal(t, first.UpdatedAt, all[0].RecordedAt)
	require.Equal(t, "6.3", all[2].Measures["magnitude"].Value)
	require.Equal(t, last.ObservationInput, all[3].ObservationInput)
	require.Equal(t, last.UpdatedAt, all[3].RecordedAt)

	page := list(b.Globex, store.PageRequest{Limit: 3})
	require.Equal(t, all[:3], page.Data)
	total, _, err := page.Total(t.Context())
	require.NoError(t, err)
	require.Equal(t, 4, total)
	require.Equal(t, all[3:], list(b.Globex, store.PageRequest{Limit: 3, Cursor: *page.NextCursor}).Data)
	require.Equal(t, all[3], list(b.Operator, store.PageRequest{Limit: 1, Order: store.NewestFirst}).Data[0])
	_, err = b.Service.Occurrences.ListRevisions(t.Context(), b.Acme, first.ID, store.PageRequest{Cursor: *page.NextCursor})
	require.Equal(t, apperr.CodeCursorInvalid, apperr.CodeOf(err), "the cursor of another partner")
}

func TestRevisionsOfRehearsalsBelongToTheirPartner(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	record, _, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Acme, modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.1"), true)
	require.NoError(t, err)
	revisions, err := b.Service.Occurrences.ListRevisions(t.Context(), b.Acme, record.ID, store.PageRequest{})
	require.NoError(t, err)
	require.Len(t, revisions.Data, 1)
	for _, id := range []string{record.ID, "obs_01h455vb4pex5vsknk084sn02q", "obs_", record.ID[4:]} {
		_, err := b.Service.Occurrences.ListRevisions(t.Context(), b.Globex, id, store.PageRequest{})
		require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(err), id)
	}
}
