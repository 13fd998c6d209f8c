package occurrence_test

import (
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

func TestBatchHasOneToAThousandObservations(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	quakes := func(n int) (batch []wire.ObservationInput) {
		for i := range n {
			batch = append(batch, modeltest.Quake("us"+strconv.Itoa(i), b.Now(), modeltest.Epicentre, "5"))
		}
		return batch
	}
	for _, n := range []int{0, occurrence.MaxObservations + 1} {
		for name, record := range map[string]func([]wire.ObservationInput) error{
			"observations": func(in []wire.ObservationInput) error {
				_, err := b.Service.Occurrences.RecordObservations(t.Context(), b.Source, in, false)
				return err
			},
			"final tracks": func(in []wire.ObservationInput) error {
				_, err := b.Service.Occurrences.RecordFinalTracks(t.Context(), b.Source, in)
				return err
			},
		} {
			refusal := modeltest.DomainError(t, record(quakes(n)))
			require.Contains(t, modeltest.FieldPointers(refusal), "/observations", "%d %s", n, name)
		}
	}
	require.Zero(t, b.CountRows()["observations"])
	results := b.Observe(quakes(occurrence.MaxObservations)...)
	require.Len(t, results, occurrence.MaxObservations)
	for i, result := range results {
		require.Equal(t, i, result.Index)
		require.Equal(t, occurrence.ResultCreated, result.Result)
	}
}

func TestUnparsedMemberRejectsItsOwnObservationOnly(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	good, bad := modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "5"), modeltest.Quake("us2", b.Now(), modeltest.Epicentre, "5")
	ctx := apperr.WithFieldErrors(t.Context(), apperr.NewFieldError("/observations/1/measures", "type", "Use an object."))
	results, err := b.Service.Occurrences.RecordObservations(ctx, b.Source, []wire.ObservationInput{good, bad}, false)
	require.NoError(t, err)
	require.Equal(t, occurrence.ResultCreated, results[0].Result)
	require.Equal(t, occurrence.ResultRejected, results[1].Result)
	require.Equal(t, []string{"/measures"}, modeltest.FieldPointers(&apperr.Error{Fields: results[1].Errors}))

	ctx = apperr.WithFieldErrors(t.Context(), apperr.NewFieldError("/sandbox", "type", "Use true or false."))
	_, err = b.Service.Occurrences.RecordObservations(ctx, b.Source, []wire.ObservationInput{bad}, false)
	require.Equal(t, []string{"/sandbox"}, modeltest.FieldPointers(modeltest.DomainError(t, err)), "any other member rejects the batch")

	ctx = apperr.WithFieldErrors(t.Context(), apperr.NewFieldError("/revision", "type", "Use a whole number."))
	bad.Location = nil
	_, _, err = b.Service.Occurrences.RecordObservation(ctx, b.Source, bad, false)
	require.Equal(t, []string{"/location", "/revision"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
	require.Equal(t, 1, b.CountRows()["observations"])
}

func TestUnparsedFixOfATrackDoesNotHideAnotherStorm(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	fixes := []wire.ObservationInput{modeltest.Fix("AL01", b.Now(), modeltest.Miami, "100"), {}, modeltest.Fix("AL02", b.Now(), modeltest.Miami, "100")}
	ctx := apperr.WithFieldErrors(t.Context(), apperr.NewFieldError("/observations/1", "type", "Use an object."))
	_, err := b.Service.Occurrences.RecordFinalTrack(ctx, b.Source, fixes, false)
	require.Equal(t, []string{"/final_track"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
	results, err := b.Service.Occurrences.RecordFinalTrack(ctx, b.Source, fixes[:2], false)
	require.NoError(t, err, "what was not parsed names no storm")
	require.Equal(t, occurrence.ResultCreated, results[0].Result)
	require.Equal(t, occurrence.ResultRejected, results[1].Result)
}

// Two sources in opposite orders would wait for each other if a batch took its locks in
// the order of its observations; two first reports of one event would make two
// occurrences if the source were not locked.
func TestConcurrentBatchesMakeOneOccurrencePerEvent(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithConnections(8))
	at := b.Now()
	const events, writers = 12, 6
	var running sync.WaitGroup
	start := make(chan struct{})
	failures := make([]error, writers)
	for w := range writers {
		var batch []wire.ObservationInput
		for i := range 2 * events {
			id, source := fmt.Sprintf("q%d", i/2), []string{"emsc", "usgs"}[(i+w)%2]
			in := modeltest.Quake(fmt.Sprintf("%s-%d", id, w), at.Add(-time.Duration(w)*time.Second), modeltest.Epicentre, "5")
			in.Source, in.Aliases = source, []string{id}
			batch = append(batch, in)
		}
		running.Go(func() {
			<-start
			_, failures[w] = b.Service.Occurrences.RecordObservations(t.Context(), b.Source, batch, false)
		})
	}
	close(start)
	running.Wait()
	for _, err := range failures {
		require.NoError(t, err)
	}
	var open, all, observations int
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select count(*) filter (where merged_into is null), count(*) from occurrences").Scan(&open, &all))
	require.Equal(t, []int{2 * events, 2 * events}, []int{open, all})
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select count(*) from observations").Scan(&observations))
	require.Equal(t, 2*events*writers, observations)
}
