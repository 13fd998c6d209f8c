package adjudication_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/reports"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// occurrenceOf returns the id of the occurrence of a source's event.
func occurrenceOf(t *testing.T, b *modeltest.Bundle, event string) string {
	t.Helper()
	list, err := b.Service.Occurrences.List(t.Context(), b.Operator, occurrence.HazardFilter{}, store.PageRequest{Limit: 100})
	require.NoError(t, err)
	for _, o := range list.Data {
		if o.SourceEventID == event {
			return o.ID
		}
	}
	require.Fail(t, "no occurrence", event)
	return ""
}

// relate merges or splits the occurrences of two events, and runs the jobs.
func relate(t *testing.T, b *modeltest.Bundle, same bool, event, other string) {
	t.Helper()
	in := reports.RelationRequest{OccurrenceID: occurrenceOf(t, b, event), OtherID: occurrenceOf(t, b, other), Reason: "The agencies' bulletins say so."}
	decide := map[bool]func() (*wire.OccurrenceRelation, error){
		true: func() (*wire.OccurrenceRelation, error) {
			return b.Service.Reports.Merge(t.Context(), b.Operator, in)
		},
		false: func() (*wire.OccurrenceRelation, error) {
			return b.Service.Reports.Split(t.Context(), b.Operator, in)
		},
	}[same]
	relation, err := decide()
	require.NoError(t, err)
	require.Equal(t, same, relation.SameEvent)
	b.RunJobs()
}

// Readings that are too far apart to be one event are one after a merge, and close ones are
// two after a split.
func TestOperatorsMergeAndSplitReportsOfSources(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := bindMeasured(b, 1001, twoAgree, "operator")
	b.AdvanceClock(time.Hour)
	at := b.Now().Add(-10 * time.Minute)
	reportBy(b, "usgs", "6.6", at, 1)
	reportBy(b, "jma", "6.0", at, 1) // disagrees
	late := modeltest.Quake("emsc-1", at.Add(2*time.Minute), modeltest.Epicentre, "6.5")
	late.Source = "emsc"
	b.Observe(late)
	b.RunJobs()
	require.Len(t, b.Claims(policy), 2)
	relate(t, b, true, "usgs-1", "emsc-1")
	approved := 0
	for _, claim := range b.Claims(policy) {
		switch claim.Status {
		case "approved":
			approved++
			require.Equal(t, "usgs", *claim.Determination.Measurement.SelectedSource)
			require.Len(t, claim.Determination.Measurement.Sources, 3)
		default:
			require.Equal(t, []string{"declined", "duplicate_event"}, []string{claim.Status, claim.Decision.ReasonCodes[0]})
		}
	}
	require.Equal(t, 1, approved)

	other := modeltest.New(t)
	policy = bindMeasured(other, 1001, twoAgree, "operator")
	other.AdvanceClock(time.Hour)
	at = other.Now().Add(-10 * time.Minute)
	reportBy(other, "usgs", "6.6", at, 1)
	relateTo := modeltest.Quake("emsc-1", at, modeltest.Epicentre, "5.2")
	relateTo.Source = "emsc"
	other.Observe(relateTo)
	other.RunJobs()
	relate(t, other, false, "usgs-1", "emsc-1")
	reportBy(other, "emsc", "6.5", at, 1)
	reportBy(other, "jma", "6.4", at, 1)
	for _, claim := range other.Claims(policy) {
		require.Equal(t, "deferred", claim.Status, "usgs and jma alone do not agree before the deadline")
	}
}

// A second id of an earthquake waits as a possible duplicate until an operator decides.
func TestOperatorsDecidePossibleDuplicates(t *testing.T) {
	t.Parallel()
	for same, want := range map[bool]string{true: "declined", false: "approved"} {
		b := modeltest.New(t)
		policy := b.QuoteAndBind("quake-circle", nil)
		b.AdvanceClock(time.Hour)
		for i, event := range []string{"us1", "ci1"} {
			b.Observe(modeltest.Quake(event, b.Now().Add(time.Duration(i-10)*time.Second), modeltest.Epicentre, "6.1"))
			b.RunJobs()
		}
		statuses := func() (all []string) {
			for _, claim := range b.Claims(policy) {
				all = append(all, claim.Status)
			}
			return all
		}
		require.ElementsMatch(t, []string{"approved", "deferred"}, statuses())
		relate(t, b, same, "us1", "ci1")
		require.ElementsMatch(t, []string{"approved", want}, statuses())
		relate(t, b, !same, "ci1", "us1") // approved and declined claims stay
		require.ElementsMatch(t, []string{"approved", want}, statuses())
	}
}

func TestRelationsOfOccurrencesAreValidated(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.1"))
	b.Observe(modeltest.Quake("us2", b.Now(), modeltest.Epicentre, "6.2"))
	modeltest.ObserveFix(b, "AL01", "70", "final")
	first, second, storm := occurrenceOf(t, b, "us1"), occurrenceOf(t, b, "us2"), occurrenceOf(t, b, "AL01")
	for pointer, in := range map[string]reports.RelationRequest{
		"/reason":   {OccurrenceID: first, OtherID: second, Reason: ""},
		"/reason ":  {OccurrenceID: first, OtherID: second, Reason: strings.Repeat("x", 1001)},
		"/other_id": {OccurrenceID: first, OtherID: first, Reason: "x"}, "/other_id ": {OccurrenceID: first, OtherID: storm, Reason: "x"},
	} {
		_, err := b.Service.Reports.Merge(t.Context(), b.Operator, in)
		e := modeltest.DomainError(t, err)
		require.Equal(t, apperr.CodeValidationFailed, e.Code, pointer)
		require.Equal(t, strings.TrimSpace(pointer), e.Fields[0].Pointer)
	}
	_, err := b.Service.Reports.Split(t.Context(), b.Acme, reports.RelationRequest{OccurrenceID: first, OtherID: second, Reason: "x"})
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code)
	_, err = b.Service.Reports.Split(t.Context(), b.Operator, reports.RelationRequest{OccurrenceID: "occ_x", OtherID: second, Reason: "x"})
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)
}
