package occurrence_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// listed returns the names of all occurrences of a list, read page by page, each of
// which must be what Get returns.
func listed(t *testing.T, b *modeltest.Bundle, who actor.Actor, f occurrence.HazardFilter, page store.PageRequest) (names []string) {
	t.Helper()
	for {
		list, err := b.Service.Occurrences.List(t.Context(), who, f, page)
		require.NoError(t, err)
		require.LessOrEqual(t, len(list.Data), page.Limit)
		for _, o := range list.Data {
			names = append(names, o.SourceEventID)
			one, err := b.Service.Occurrences.Get(t.Context(), who, o.ID)
			require.NoError(t, err)
			require.Equal(t, o, *one)
		}
		if !list.HasMore {
			return names
		}
		page.Cursor = *list.NextCursor
	}
}

// observed returns the names and times of all observations of a list, read one by one.
func observed(t *testing.T, b *modeltest.Bundle, who actor.Actor, f occurrence.HazardFilter, order store.Order) (names []string) {
	t.Helper()
	page := store.PageRequest{Limit: 1, Order: order}
	for {
		list, err := b.Service.Occurrences.ListObservations(t.Context(), who, f, page)
		require.NoError(t, err)
		for _, o := range list.Data {
			names = append(names, o.SourceEventID+" "+o.OccurredAt.Format(time.Kitchen))
			one, err := b.Service.Occurrences.GetObservation(t.Context(), who, o.ID)
			require.NoError(t, err)
			require.Equal(t, o, *one)
		}
		if !list.HasMore {
			return names
		}
		page.Cursor = *list.NextCursor
	}
}

// hazardsOfTwoPartners reports three quakes and a storm, and rehearses a quake for each
// of two partners. It returns the first time.
func hazardsOfTwoPartners(t *testing.T, b *modeltest.Bundle) time.Time {
	t.Helper()
	at := b.Now().Truncate(24*time.Hour).AddDate(0, 0, -3)
	other := modeltest.Quake("eu1", at, modeltest.Epicentre, "5")
	other.Source = "emsc"
	for _, in := range []wire.ObservationInput{
		modeltest.Quake("us1", at, modeltest.Epicentre, "5"), modeltest.Quake("us2", at.Add(time.Hour), modeltest.Epicentre, "5"), other,
		modeltest.Fix("AL01", at, modeltest.Miami, "100"), modeltest.Fix("AL01", at.Add(2*time.Hour), modeltest.Miami, "100"),
	} {
		b.Observe(in)
	}
	for _, who := range []actor.Actor{b.Acme, b.Globex} {
		_, _, err := b.Service.Occurrences.RecordObservation(t.Context(), who, modeltest.Quake("of-"+who.Partner, at, modeltest.Epicentre, "5"), true)
		require.NoError(t, err)
	}
	return at
}

func TestOccurrencesAreFilteredAndSortedByTheirRecording(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	at := hazardsOfTwoPartners(t, b)
	late := at.Add(time.Hour)
	for name, tc := range map[string]struct {
		who  actor.Actor
		f    occurrence.HazardFilter
		want []string
	}{
		"a partner's":         {b.Acme, occurrence.HazardFilter{}, []string{"of-acme", "AL01", "eu1", "us2", "us1"}},
		"another partner's":   {b.Globex, occurrence.HazardFilter{}, []string{"of-globex", "AL01", "eu1", "us2", "us1"}},
		"an operator's":       {b.Operator, occurrence.HazardFilter{}, []string{"of-globex", "of-acme", "AL01", "eu1", "us2", "us1"}},
		"of a source":         {b.Acme, occurrence.HazardFilter{Source: "emsc"}, []string{"eu1"}},
		"of a kind":           {b.Acme, occurrence.HazardFilter{Kind: "storm_fix"}, []string{"AL01"}},
		"from a time on":      {b.Acme, occurrence.HazardFilter{From: &late}, []string{"us2"}},
		"until before a time": {b.Acme, occurrence.HazardFilter{To: &late, Source: "usgs"}, []string{"of-acme", "us1"}},
		"of none":             {b.Acme, occurrence.HazardFilter{Kind: "station_day"}, nil},
	} {
		for _, limit := range []int{1, 2, 100} {
			require.Equal(t, tc.want, listed(t, b, tc.who, tc.f, store.PageRequest{Limit: limit}), name)
			oldest := listed(t, b, tc.who, tc.f, store.PageRequest{Limit: limit, Order: store.OldestFirst})
			slices.Reverse(oldest)
			require.Equal(t, tc.want, oldest, name)
		}
		list, err := b.Service.Occurrences.List(t.Context(), tc.who, tc.f, store.PageRequest{Limit: 1})
		require.NoError(t, err)
		total, more, err := list.Total(t.Context())
		require.NoError(t, err)
		require.Equal(t, len(tc.want), total, name)
		require.False(t, more)
	}
	both := []string{"AL01 2:00AM", "AL01 12:00AM"}
	require.Equal(t, both, observed(t, b, b.Acme, occurrence.HazardFilter{Kind: "storm_fix"}, ""))
	slices.Reverse(both)
	require.Equal(t, both, observed(t, b, b.Acme, occurrence.HazardFilter{Source: "nhc"}, store.OldestFirst))
	require.Len(t, observed(t, b, b.Acme, occurrence.HazardFilter{}, ""), 6)
	require.Len(t, observed(t, b, b.Operator, occurrence.HazardFilter{}, ""), 7)
	require.Len(t, observed(t, b, b.Operator, occurrence.HazardFilter{From: &late}, ""), 2)
	require.Len(t, observed(t, b, b.Operator, occurrence.HazardFilter{To: &late}, ""), 5)
}

func TestRehearsedRecordsOfAnotherPartnerAreNotFound(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	hazardsOfTwoPartners(t, b)
	find := func(who actor.Actor, name string) (o wire.Occurrence, reading wire.Observation) {
		list, err := b.Service.Occurrences.List(t.Context(), who, occurrence.HazardFilter{}, store.PageRequest{})
		require.NoError(t, err)
		at := slices.IndexFunc(list.Data, func(o wire.Occurrence) bool { return o.SourceEventID == name })
		of, err := b.Service.Occurrences.ListObservations(t.Context(), who, occurrence.HazardFilter{OccurrenceID: list.Data[at].ID}, store.PageRequest{})
		require.NoError(t, err)
		require.Len(t, of.Data, 1)
		return list.Data[at], of.Data[0]
	}
	theirs, reading := find(b.Globex, "of-globex")
	require.True(t, theirs.Sandbox)
	shared, _ := find(b.Globex, "us1")
	require.False(t, shared.Sandbox)
	service := b.Service.Occurrences
	for name, read := range map[string]func(actor.Actor) error{
		"occurrence":  func(a actor.Actor) error { _, err := service.Get(t.Context(), a, theirs.ID); return err },
		"observation": func(a actor.Actor) error { _, err := service.GetObservation(t.Context(), a, reading.ID); return err },
		"its observations": func(a actor.Actor) error {
			_, err := service.ListObservations(t.Context(), a, occurrence.HazardFilter{OccurrenceID: theirs.ID}, store.PageRequest{})
			return err
		},
	} {
		require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, read(b.Acme)).Code, name)
		require.NoError(t, read(b.Globex), name)
		require.NoError(t, read(b.Operator), name)
		unscoped := b.Globex
		unscoped.Scopes = []actor.Scope{actor.ScopeQuotesWrite}
		require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, read(unscoped)).Code, name)
	}
	pages, err := service.ObservationsByOccurrence(t.Context(), b.Acme, []string{shared.ID, theirs.ID, "occ_", "nonsense"}, store.PageRequest{})
	require.NoError(t, err)
	require.Len(t, pages[shared.ID].Data, 1)
	for _, id := range []string{theirs.ID, "occ_", "nonsense"} {
		require.Empty(t, pages[id].Data, id)
		total, _, err := pages[id].Total(t.Context())
		require.NoError(t, err)
		require.Zero(t, total, id)
	}
}

func TestListsOfHazardsRefuseWrongParameters(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	hazardsOfTwoPartners(t, b)
	service := b.Service.Occurrences
	list, err := service.List(t.Context(), b.Acme, occurrence.HazardFilter{}, store.PageRequest{Limit: 1})
	require.NoError(t, err)
	at := b.Now()
	for name, tc := range map[string]struct {
		f    occurrence.HazardFilter
		page store.PageRequest
		code apperr.Code
	}{
		"kind":                    {occurrence.HazardFilter{Kind: "plague"}, store.PageRequest{}, apperr.CodeParameterInvalid},
		"limit":                   {occurrence.HazardFilter{}, store.PageRequest{Limit: 101}, apperr.CodeParameterInvalid},
		"cursor of another kind":  {occurrence.HazardFilter{Kind: "earthquake"}, store.PageRequest{Cursor: *list.NextCursor}, apperr.CodeCursorInvalid},
		"cursor of all sources":   {occurrence.HazardFilter{Source: "usgs"}, store.PageRequest{Cursor: *list.NextCursor}, apperr.CodeCursorInvalid},
		"cursor of another start": {occurrence.HazardFilter{From: &at}, store.PageRequest{Cursor: *list.NextCursor}, apperr.CodeCursorInvalid},
		"cursor of another end":   {occurrence.HazardFilter{To: &at}, store.PageRequest{Cursor: *list.NextCursor}, apperr.CodeCursorInvalid},
	} {
		_, err := service.List(t.Context(), b.Acme, tc.f, tc.page)
		require.Equal(t, tc.code, modeltest.DomainError(t, err).Code, name)
		_, err = service.ListObservations(t.Context(), b.Acme, tc.f, tc.page)
		require.Equal(t, tc.code, modeltest.DomainError(t, err).Code, name)
	}
	_, err = service.ListObservations(t.Context(), b.Acme, occurrence.HazardFilter{}, store.PageRequest{Cursor: *list.NextCursor})
	require.Equal(t, apperr.CodeCursorInvalid, modeltest.DomainError(t, err).Code, "observations are another list")
	for _, id := range []string{"occ_01m00000000000000000000000", "clm_01m00000000000000000000000", "x"} {
		_, err = service.ListObservations(t.Context(), b.Acme, occurrence.HazardFilter{OccurrenceID: id}, store.PageRequest{})
		require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code, id)
	}
	_, err = service.List(t.Context(), b.Source, occurrence.HazardFilter{}, store.PageRequest{})
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code)
	_, err = service.ObservationsByOccurrence(t.Context(), b.Source, []string{list.Data[0].ID}, store.PageRequest{})
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code)
	_, err = service.ObservationsByOccurrence(t.Context(), b.Acme, []string{list.Data[0].ID}, store.PageRequest{Limit: 101})
	require.Equal(t, apperr.CodeParameterInvalid, modeltest.DomainError(t, err).Code)
}

// Pages of several occurrences, read in one statement, are those that each occurrence has
// alone: same records, same cursors, in both orders.
func TestObservationsOfManyOccurrencesEqualThoseOfEach(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	station := b.QuoteAndBind("rain-excess", nil).Cover.Place.Station
	b.AdvanceClock(40 * 24 * time.Hour)
	first := b.Now().Truncate(24*time.Hour).AddDate(0, 0, -12)
	for i, rain := range strings.Fields("0 30 40 50 0 0 0 0 60 70 0") {
		b.Observe(modeltest.StationDay(station, first.AddDate(0, 0, i), rain), modeltest.StationDay("elsewhere", first.AddDate(0, 0, i), rain))
	}
	at := first.Add(time.Hour)
	for i := range 4 {
		b.Observe(modeltest.Fix("AL01", at.Add(time.Duration(i)*time.Hour), modeltest.Miami, "100"), modeltest.Quake("us1", at, hazard.Point{Latitude: float64(i)}, "5"))
	}
	var ids []string
	list, err := b.Service.Occurrences.List(t.Context(), b.Acme, occurrence.HazardFilter{}, store.PageRequest{})
	require.NoError(t, err)
	for _, o := range list.Data {
		ids = append(ids, o.ID)
	}
	require.Len(t, ids, 4, "a storm, a quake and two spells")
	sizes := map[int]int{}
	for _, order := range []store.Order{"", store.NewestFirst, store.OldestFirst} {
		for _, limit := range []int{1, 2, 3, 4, 100} {
			page := store.PageRequest{Limit: limit, Order: order}
			together, err := b.Service.Occurrences.ObservationsByOccurrence(t.Context(), b.Acme, ids, page)
			require.NoError(t, err)
			for _, id := range ids {
				alone, err := b.Service.Occurrences.ListObservations(t.Context(), b.Acme, occurrence.HazardFilter{OccurrenceID: id}, page)
				require.NoError(t, err)
				require.Equal(t, alone.Data, together[id].Data)
				require.Equal(t, alone.HasMore, together[id].HasMore)
				total, _, err := together[id].Total(t.Context())
				require.NoError(t, err)
				sizes[total]++
				require.Len(t, alone.Data, min(total, limit))
				if !alone.HasMore {
					continue
				}
				page := store.PageRequest{Limit: limit, Order: order, Cursor: *together[id].NextCursor}
				next, err := b.Service.Occurrences.ListObservations(t.Context(), b.Acme, occurrence.HazardFilter{OccurrenceID: id}, page)
				require.NoError(t, err, "a cursor holds for both lists of its occurrence")
				again, err := b.Service.Occurrences.ObservationsByOccurrence(t.Context(), b.Acme, []string{id}, page)
				require.NoError(t, err)
				require.Equal(t, next.Data, again[id].Data)
				require.NotContains(t, alone.Data, next.Data[0])
			}
		}
	}
	require.Equal(t, map[int]int{1: 15, 2: 15, 3: 15, 4: 15}, sizes, "a quake's, two spells' and a storm's")
}
