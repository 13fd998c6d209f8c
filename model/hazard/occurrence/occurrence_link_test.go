package occurrence_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// allRows returns every row of occurrences, observations and their names.
func allRows(t *testing.T, b *modeltest.Bundle) (all []occurrence.OccurrenceRow, readings []occurrence.ObservationRow, names []occurrence.AliasRow) {
	t.Helper()
	require.NoError(t, b.DB.Bun.NewSelect().Model(&all).OrderExpr("oc.id").Scan(t.Context()))
	require.NoError(t, b.DB.Bun.NewSelect().Model(&readings).OrderExpr("o.id").Scan(t.Context()))
	require.NoError(t, b.DB.Bun.NewSelect().Model(&names).Scan(t.Context()))
	return all, readings, names
}

// nameSets joins names that one report gave to the same event.
type nameSets map[string]string

func (s nameSets) root(name string) string {
	for s[name] != "" && s[name] != name {
		name = s[name]
	}
	return name
}

func (s nameSets) join(a, b string) {
	if s[a] == "" {
		s[a] = a
	}
	if s.root(b) != s.root(a) {
		s[s.root(b)] = s.root(a)
	}
}

func nameOf(source string, kind hazard.Kind, name string) string {
	return source + " " + string(kind) + " " + name
}

// randomReport returns a report of a quake or a fix with ids from a small set, so that
// reports often turn out to be about one event.
func randomReport(random *rand.Rand, at time.Time) wire.ObservationInput {
	name := func() string { return fmt.Sprintf("n%d", random.IntN(30)) }
	in := modeltest.Quake(name(), at.Add(-time.Duration(random.IntN(9))*time.Minute), modeltest.Epicentre, strconv.Itoa(2+random.IntN(3)))
	if random.IntN(2) == 0 {
		in = modeltest.Fix(in.SourceEventID, in.OccurredAt, modeltest.Miami, in.Measures["magnitude"].Value)
	}
	in.Source = []string{"jma", "noaa"}[random.IntN(2)]
	for range random.IntN(3) {
		in.Aliases = append(in.Aliases, name())
	}
	if random.IntN(3) == 0 {
		in.Stage = trigger.Preliminary
	}
	if in.Source == "noaa" && random.IntN(2) == 0 {
		in.Revision = new(int64(random.IntN(4)))
	}
	return in
}

// Whatever the order and the batches of the reports, all names that a source used for one
// event lead to one occurrence, the oldest of those that were recorded for it. The names
// of two sources, or of a quake and a storm, never meet.
func TestNamesOfOneEventLeadToItsOldestOccurrence(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	random := rand.New(rand.NewPCG(5, 1))
	at, joined, merges := b.Now(), nameSets{}, 0
	for range 30 {
		var batch []wire.ObservationInput
		for range 1 + random.IntN(12) {
			batch = append(batch, randomReport(random, at))
		}
		for i, result := range b.Observe(batch...) {
			if in := batch[i]; result.Result != occurrence.ResultUnchanged { // the names of an outdated report are not used
				for _, alias := range append([]string{in.SourceEventID}, in.Aliases...) {
					joined.join(nameOf(in.Source, in.Kind, in.SourceEventID), nameOf(in.Source, in.Kind, alias))
				}
			}
		}
		all, readings, names := allRows(t, b)
		first := map[string]uuid.UUID{} // by event: the oldest of its occurrences
		event := func(o *occurrence.OccurrenceRow) string {
			return joined.root(nameOf(o.Source, o.Kind, o.SourceEventID))
		}
		for i := range all {
			if _, known := first[event(&all[i])]; !known {
				first[event(&all[i])] = all[i].ID
				require.Nil(t, all[i].MergedInto)
			}
			require.Equal(t, first[event(&all[i])], all[i].CurrentID())
			if all[i].MergedInto != nil {
				merges++
			}
		}
		for _, name := range names {
			require.Equal(t, first[joined.root(nameOf(name.Source, name.Kind, name.Alias))], name.OccurrenceID)
		}
		for _, o := range readings {
			require.Equal(t, first[joined.root(nameOf(o.Source, o.Kind, o.SourceEventID))], *o.OccurrenceID)
		}
		requireSummaries(t, all, readings)
	}
	require.Greater(t, merges, 50, "the reports merged occurrences")
}

// requireSummaries requires that each occurrence has the times, the stage and the source
// version of its observations.
func requireSummaries(t *testing.T, all []occurrence.OccurrenceRow, readings []occurrence.ObservationRow) {
	t.Helper()
	for _, row := range all {
		if row.MergedInto != nil {
			continue
		}
		of := slices.DeleteFunc(slices.Clone(readings), func(o occurrence.ObservationRow) bool { return *o.OccurrenceID != row.ID })
		byTime := func(a, b occurrence.ObservationRow) int { return a.OccurredAt.Compare(b.OccurredAt) }
		require.True(t, slices.MinFunc(of, byTime).OccurredAt.Equal(row.OccurredAt))
		require.True(t, slices.MaxFunc(of, byTime).OccurredAt.Equal(row.LastAt))
		stage, revision, versions := trigger.Final, int64(-1), int64(0)
		for _, o := range of {
			if o.Stage != string(trigger.Final) {
				stage = trigger.Preliminary
			}
			if o.Revision != nil {
				revision = max(revision, *o.Revision)
			}
			versions += o.Version
		}
		want := strconv.FormatInt(versions, 10)
		if revision >= 0 {
			want = fmt.Sprintf("%d.%s", revision, want)
		}
		require.Equal(t, stage, row.Stage)
		require.Equal(t, want, row.SourceVersion)
	}
}

func TestNamesOfAReportThatTheSameBatchReplacesAreUsed(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	at := b.Now()
	named := modeltest.Quake("us1", at, modeltest.Epicentre, "6.3")
	named.Aliases = []string{"tw1"}
	b.Observe(named, modeltest.Quake("us1", at, modeltest.Epicentre, "6.4"))
	b.Observe(modeltest.Quake("tw1", at, modeltest.Epicentre, "6.4"))
	all, readings, _ := allRows(t, b)
	require.Len(t, all, 1, "tw1 is us1, as if the reports had come one by one")
	require.Len(t, readings, 2)
}

func TestRehearsedNamesNeverMeetReportedOnes(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	quake := modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "5")
	b.Observe(quake)
	_, _, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Acme, quake, true)
	require.NoError(t, err)
	_, _, err = b.Service.Occurrences.RecordObservation(t.Context(), b.Globex, quake, true)
	require.NoError(t, err)
	all, _, names := allRows(t, b)
	var scopes []string
	for _, row := range all {
		scopes = append(scopes, row.Scope)
		require.Nil(t, row.MergedInto)
	}
	require.Equal(t, []string{"", "acme", "globex"}, scopes)
	require.Len(t, names, 3)
}

func TestOccurrencesAreLoadedInOrderOfTimeWithoutMergedOnes(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	at := b.Now()
	late, early := modeltest.Quake("us1", at, modeltest.Epicentre, "5"), modeltest.Quake("us2", at.Add(-time.Hour), modeltest.Epicentre, "6")
	b.Observe(late, early, modeltest.Quake("us3", at, modeltest.Hualien, "7"), modeltest.Fix("AL01", at, modeltest.Miami, "80"), modeltest.Fix("AL01", at.Add(-2*time.Hour), modeltest.Miami, "70"))
	joined := modeltest.Quake("us3", at.Add(-time.Minute), modeltest.Hualien, "7.5")
	joined.Aliases = []string{"us1"}
	b.Observe(joined)
	all, _, _ := allRows(t, b)
	var ids []uuid.UUID
	for _, row := range all {
		ids = append(ids, row.ID)
	}
	require.Len(t, ids, 4)
	loaded, err := occurrence.LoadOccurrences(t.Context(), b.DB.Bun, ids)
	require.NoError(t, err)
	var names []string
	for _, o := range loaded {
		names = append(names, o.Row.SourceEventID)
	}
	require.Equal(t, []string{"AL01", "us2", "us1"}, names)
	storm := loaded[0].Facts.Storm
	require.True(t, slices.IsSortedFunc(storm.Fixes, func(a, b hazard.Fix) int { return a.At.Compare(b.At) }))
	require.Equal(t, []string{"70", "80"}, []string{storm.Fixes[0].WindKN.String(), storm.Fixes[1].WindKN.String()})
	require.Equal(t, "us3", loaded[2].Facts.Quake.EventID, "the later of two final reports counts")
	require.Equal(t, "7.5", loaded[2].Facts.Quake.Magnitude.String())
	none, err := occurrence.LoadOccurrences(t.Context(), b.DB.Bun, nil)
	require.NoError(t, err)
	require.Empty(t, none)
}
