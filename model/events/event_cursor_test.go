package events_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/events"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/modeltest"
	"parapet/model/partners"
	"parapet/model/wire"
)

// readFromCursor reads from a cursor until it has n records.
func readFromCursor[T any](t *testing.T, tail *events.Cursor[T], n int) (all []T) {
	t.Helper()
	for len(all) < n {
		next, err := tail.Next(t.Context())
		if err != nil {
			t.Error(err) // callable from other goroutines
			return all
		}
		all = append(all, next...)
	}
	return all
}

func TestEventCursorMissesNothingDuringWrites(t *testing.T) {
	t.Parallel()
	const writers, each = 4, 60
	b := modeltest.New(t, modeltest.WithConnections(16))
	ctx, done := context.WithCancel(t.Context())
	var relaying, writing, reading sync.WaitGroup
	relaying.Go(func() {
		for ctx.Err() == nil {
			if _, err := b.Service.Events.Relay(t.Context()); err != nil { //nolint:contextcheck // a started pass must finish
				t.Error(err)
			}
		}
	})
	for range writers {
		writing.Go(func() {
			for range each {
				b.Quote("rain-excess", nil)
			}
		})
	}
	for i := range 8 {
		after := int64(i * 17)
		tail, err := b.Service.Events.Follow(t.Context(), b.Acme, events.Filter{After: after})
		require.NoError(t, err)
		reading.Go(func() {
			for _, event := range readFromCursor(t, tail, writers*each-int(after)) {
				after++
				if event.Sequence != after {
					t.Errorf("%d came where %d should", event.Sequence, after)
				}
			}
		})
	}
	reading.Wait()
	writing.Wait()
	done()
	relaying.Wait()
}

func TestEventCursorAppliesFilter(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	relayed(t, b)
	activated, err := b.Service.Events.Follow(t.Context(), b.Operator, events.Filter{Partner: "acme", Types: []event.Type{event.PolicyActivated}})
	require.NoError(t, err)
	require.Equal(t, policy.ID, readFromCursor(t, activated, 1)[0].Subject.ID)
	expired := make(chan []wire.Event)
	go func() { expired <- readFromCursor(t, activated, 1) }()
	b.ActingAs(b.Globex).QuoteAndBind("quake-circle", nil)
	second := b.QuoteAndBind("quake-circle", nil)
	relayed(t, b)
	require.Equal(t, second.ID, (<-expired)[0].Subject.ID, "no events of other partners and no duplicates")

	_, err = b.Service.Events.Follow(t.Context(), b.Operator, events.Filter{})
	require.Equal(t, apperr.CodeParameterInvalid, modeltest.DomainError(t, err).Code)
	_, err = b.Service.Events.Follow(t.Context(), b.Acme, events.Filter{After: -1})
	require.Equal(t, apperr.CodeParameterInvalid, modeltest.DomainError(t, err).Code)
	_, err = b.Service.Events.Follow(t.Context(), b.Source, events.Filter{})
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code)
}

func TestTimelineCursorReturnsNewEntries(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	modeltest.ObserveQuake(b, "us1", "6.4", "final")
	claim := b.OnlyClaim(policy).ID
	tail, err := b.Service.Claims.FollowTimeline(t.Context(), b.Acme, claim, 1)
	require.NoError(t, err)
	have := len(b.TimelineKinds(claim)) - 1
	story := readFromCursor(t, tail, have)
	heard := make(chan []wire.TimelineEntry)
	go func() { heard <- readFromCursor(t, tail, 1) }()
	_, err = b.Service.Claims.AddMessage(t.Context(), b.Acme, claim, "When?")
	require.NoError(t, err)
	relayed(t, b)
	story = append(story, <-heard...)
	for i, entry := range story {
		require.EqualValues(t, i+2, entry.Sequence)
	}
	require.Equal(t, "claim.message_added", story[len(story)-1].Kind)

	for _, id := range []string{claim, "clm_x", policy.ID} {
		_, err := b.Service.Claims.FollowTimeline(t.Context(), b.Globex, id, 0)
		require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)
	}
}

func TestEventCursorEndsForDisabledPartner(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	tail, err := b.Service.Events.Follow(t.Context(), b.Acme, events.Filter{})
	require.NoError(t, err)
	ended := make(chan error)
	go func() {
		_, err := tail.Next(t.Context())
		ended <- err
	}()
	_, err = b.Service.Partners.Disable(t.Context(), b.Operator, partners.StatusRequest{Slug: "acme", Reason: "The contract ended."})
	require.NoError(t, err)
	require.Equal(t, apperr.CodePartnerDisabled, modeltest.DomainError(t, <-ended).Code)
}

func TestNotifierReadsTheLastSequenceOfEachPartner(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.Quote("quake-circle", nil)
	b.Quote("quake-circle", nil)
	b.Relay()
	heads, err := b.Service.Events.LastSequences("acme", "globex")
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"acme": 2, "globex": 0}, heads)
}
