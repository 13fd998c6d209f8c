package progress_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard/occurrence"
	"parapet/model/insight/progress"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/partners"
	"parapet/model/wire"
)

// occurrenceID returns the id of the only occurrence.
func occurrenceID(t *testing.T, b *modeltest.Bundle) string {
	t.Helper()
	page, err := b.Service.Occurrences.List(t.Context(), b.Operator, occurrence.HazardFilter{}, store.PageRequest{})
	require.NoError(t, err)
	require.Len(t, page.Data, 1)
	return page.Data[0].ID
}

// followProgress returns a cursor on the progress of the event us1.
func followProgress(t *testing.T, b *modeltest.Bundle, who actor.Actor) *progress.Cursor {
	t.Helper()
	return modeltest.Must(b.Service.Progress.Follow(t.Context(), who, occurrenceID(t, b)))
}

// nextProgress returns the next progress; nil at the end.
func nextProgress(t *testing.T, cursor *progress.Cursor) *wire.OccurrenceProgress {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	records, err := cursor.Next(ctx)
	require.NoError(t, err)
	if len(records) == 0 {
		return nil
	}
	require.Len(t, records, 1)
	return &records[0]
}

func TestFollowProgressEndsWhenSettled(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	b.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
	b.ActingAs(b.Globex).QuoteAndBind("quake-circle", nil)
	b.RunJobs()
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	all, own := followProgress(t, b, b.Operator), followProgress(t, b, b.Acme)
	require.Equal(t, "waiting", nextProgress(t, all).Status)
	require.Equal(t, "waiting", nextProgress(t, own).Status)
	b.RunJobs()
	for cursor, who := range map[*progress.Cursor]actor.Actor{all: b.Operator, own: b.Acme} {
		var last *wire.OccurrenceProgress
		for next := nextProgress(t, cursor); next != nil; next = nextProgress(t, cursor) {
			require.NotEqual(t, last, next, "only changes are returned")
			last = next
		}
		require.Equal(t, modeltest.Must(b.Service.Progress.Get(t.Context(), who, occurrenceID(t, b))), last)
		require.True(t, last.Settled)
		require.Nil(t, nextProgress(t, cursor))
	}
}

func TestFollowersOfOneProgressShareItsReader(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	for _, who := range []actor.Actor{b.Acme, b.Acme, b.Acme, b.Globex, b.Operator} {
		cursor := followProgress(t, b, who)
		nextProgress(t, cursor)
		go func() {
			_, err := cursor.Next(ctx)
			ended <- err
		}()
	}
	is := func(want ...int) func() bool {
		return func() bool { return slices.Equal(want, b.Service.Progress.Subscribers()) }
	}
	require.Eventually(t, is(1, 1, 3), time.Minute, time.Millisecond)
	cancel()
	for range 5 {
		require.ErrorIs(t, <-ended, context.Canceled)
	}
	require.Eventually(t, is(), time.Minute, time.Millisecond, "a reader without subscribers ends")
	b.RunJobs()
}

func TestFollowProgressEndsWithReason(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	_, err := b.Service.Progress.Follow(t.Context(), b.Acme, "occ_01m7x6n10jewfsb9zcqnfs2052")
	require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(err))
	cursor := followProgress(t, b, b.Acme)
	nextProgress(t, cursor)
	_, err = b.Service.Partners.Disable(t.Context(), b.Operator, partners.StatusRequest{Slug: "acme", Reason: "The contract ended."})
	require.NoError(t, err)
	_, err = cursor.Next(t.Context())
	require.Equal(t, apperr.CodePartnerDisabled, apperr.CodeOf(err))
	b.RunJobs()
}
