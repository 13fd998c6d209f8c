package occurrence_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// reported is one report about the same quake.
type reported struct {
	stage     trigger.Stage
	revision  int64 // 0: the source numbers no revisions
	magnitude string
}

func (r reported) input(id string, at time.Time) wire.ObservationInput {
	in := modeltest.Quake(id, at, modeltest.Epicentre, r.magnitude)
	if in.Stage = r.stage; r.stage == trigger.Retracted {
		in = modeltest.NewRetraction(id)
	}
	if r.revision > 0 {
		in.Revision = &r.revision
	}
	return in
}

func TestWhichReportReplacesAnEarlierOne(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	at := b.Now()
	const p, f, r = trigger.Preliminary, trigger.Final, trigger.Retracted
	for i, tc := range []struct {
		name          string
		before, after []reported
		result        string
	}{
		{"the same values", []reported{{f, 0, "6"}}, []reported{{f, 0, "6"}}, "unchanged"},
		{"other values", []reported{{f, 0, "6"}}, []reported{{f, 0, "7"}}, "revised"},
		{"back to preliminary", []reported{{f, 0, "6"}}, []reported{{p, 0, "6"}}, "revised"},
		{"the same revision, other values", []reported{{f, 5, "6"}}, []reported{{f, 5, "7"}}, "revised"},
		{"a newer revision, same values", []reported{{f, 5, "6"}}, []reported{{f, 6, "6"}}, "revised"},
		{"an older revision", []reported{{f, 5, "6"}}, []reported{{f, 4, "7"}}, "unchanged"},
		{"a revision at last", []reported{{f, 0, "6"}}, []reported{{f, 1, "7"}}, "revised"},
		{"without its revision", []reported{{f, 5, "6"}}, []reported{{f, 0, "7"}}, "revised"},
		{"a retraction", []reported{{f, 0, "6"}}, []reported{{r, 0, ""}}, "revised"},
		{"a retraction of the same revision", []reported{{f, 5, "6"}}, []reported{{r, 5, ""}}, "revised"},
		{"a retraction of an older revision", []reported{{f, 5, "6"}}, []reported{{r, 4, ""}}, "unchanged"},
		{"a retraction without revision", []reported{{f, 5, "6"}}, []reported{{r, 0, ""}}, "revised"},
		{"a second retraction", []reported{{f, 0, "6"}, {r, 0, ""}}, []reported{{r, 0, ""}}, "unchanged"},
		{"a second retraction, same revision", []reported{{f, 5, "6"}, {r, 5, ""}}, []reported{{r, 5, ""}}, "unchanged"},
		{"a second retraction, newer", []reported{{f, 5, "6"}, {r, 5, ""}}, []reported{{r, 6, ""}}, "revised"},
		{"a second retraction, first with a revision", []reported{{f, 0, "6"}, {r, 0, ""}}, []reported{{r, 1, ""}}, "revised"},
		{"the retracted report again", []reported{{f, 0, "6"}, {r, 0, ""}}, []reported{{f, 0, "6"}}, "unchanged"},
		{"another one after the retraction", []reported{{f, 0, "6"}, {r, 0, ""}}, []reported{{f, 0, "7"}}, "revised"},
		{"the retracted revision again", []reported{{f, 5, "6"}, {r, 5, ""}}, []reported{{f, 5, "7"}}, "unchanged"},
		{"a newer revision after the retraction", []reported{{f, 5, "6"}, {r, 5, ""}}, []reported{{f, 6, "6"}}, "revised"},
		{"the same revision as a newer retraction", []reported{{f, 5, "6"}, {r, 7, ""}}, []reported{{f, 7, "6"}}, "unchanged"},
	} {
		id := "us" + strconv.Itoa(i)
		var batch []wire.ObservationInput
		for _, each := range append(tc.before, tc.after...) {
			batch = append(batch, each.input(id, at))
		}
		for n, in := range batch {
			record, created, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Source, in, false)
			require.NoError(t, err, tc.name)
			if n == len(batch)-1 {
				require.Equal(t, tc.result != occurrence.ResultUnchanged, created, tc.name)
				require.Equal(t, created, record.Version == int64(len(batch)), tc.name)
			}
		}
		for n := range batch {
			batch[n].SourceEventID += "-batch"
		}
		results := b.Observe(batch...)
		require.Equal(t, tc.result, results[len(results)-1].Result, "%s, in one batch", tc.name)
	}
}

func TestRetractionKeepsWhatWasReported(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	quake := modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4")
	quake.Revision = new(int64(3))
	first, created, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Source, quake, false)
	require.NoError(t, err)
	require.True(t, created)
	require.EqualValues(t, 1, first.Version)
	retraction := modeltest.NewRetraction("us1")
	retraction.Revision = new(int64(4))
	gone, created, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Source, retraction, false)
	require.NoError(t, err)
	require.True(t, created)
	want := quake
	want.Stage, want.Revision = trigger.Retracted, new(int64(4))
	require.Equal(t, want, gone.ObservationInput)
	require.Equal(t, first.ID, gone.ID)
	require.Equal(t, first.CreatedAt, gone.CreatedAt)
	require.Equal(t, first.OccurrenceID, gone.OccurrenceID)
	require.EqualValues(t, 2, gone.Version)
	of, err := b.Service.Occurrences.Get(t.Context(), b.Acme, *gone.OccurrenceID)
	require.NoError(t, err)
	require.Equal(t, "retracted", of.Stage)
	require.Equal(t, quake.OccurredAt, of.OccurredAt, "an occurrence without reports keeps its time")
	require.Equal(t, "4.2", of.SourceVersion, "revision and number of reports")

	var revisions []string
	rows, err := b.DB.Pool.Query(t.Context(), "select version || ' ' || (body->>'stage') || ' ' || (body->'measures'->'magnitude'->>'value') from observation_revisions order by 1")
	require.NoError(t, err)
	for rows.Next() {
		var text string
		require.NoError(t, rows.Scan(&text))
		revisions = append(revisions, text)
	}
	require.NoError(t, rows.Err())
	require.Equal(t, []string{"1 final 6.4"}, revisions)
}

func TestRetractionOfWhatWasNeverReportedIsRejected(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	other := modeltest.NewRetraction("us1")
	other.Source = "emsc"
	_, _, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Source, other, false)
	refusal := modeltest.DomainError(t, err)
	require.Equal(t, "not_found", string(refusal.Code))
	require.Contains(t, refusal.Detail, "no reading of this source, kind and id")
	storm := modeltest.NewRetraction("us1")
	storm.Kind, storm.OccurredAt = "storm_fix", b.Now()
	results, err := b.Service.Occurrences.RecordObservations(t.Context(), b.Source, []wire.ObservationInput{storm, modeltest.NewRetraction("us1")}, false)
	require.NoError(t, err)
	require.Equal(t, []string{"/source_event_id"}, []string{results[0].Errors[0].Pointer})
	require.Equal(t, occurrence.ResultRejected, results[0].Result)
	require.Equal(t, occurrence.ResultRevised, results[1].Result, "the quake of the same id")
	_, _, err = b.Service.Occurrences.RecordObservation(t.Context(), b.Acme, modeltest.NewRetraction("us1"), true)
	require.Equal(t, "not_found", string(modeltest.DomainError(t, err).Code), "a rehearsal retracts only what was rehearsed")
}

func TestDayIsRetractedByItsIDAlone(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	day := b.Now().Truncate(24*time.Hour).AddDate(0, 0, -1)
	b.Observe(modeltest.StationDay("north/gate", day, "5"))
	results := b.Observe(wire.ObservationInput{Source: "ghcn", SourceEventID: "north/gate/" + day.Format(time.DateOnly), Kind: "station_day", Stage: trigger.Retracted})
	require.Equal(t, occurrence.ResultRevised, results[0].Result)
	gone, err := b.Service.Occurrences.GetObservation(t.Context(), b.Acme, *results[0].ID)
	require.NoError(t, err)
	require.Equal(t, "north/gate", gone.Station, "the id is split at its last slash")
	require.Equal(t, day, gone.OccurredAt)
	require.Equal(t, measures("precipitation", "5", "mm"), gone.Measures)
	require.Nil(t, gone.OccurrenceID)
}
