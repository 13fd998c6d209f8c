package model_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// followed reads from a tail until it has n records.
func followed[T any](t *testing.T, tail *model.Tail[T], n int) (all []T) {
	t.Helper()
	for len(all) < n {
		next, err := tail.Next(t.Context())
		if err != nil {
			t.Error(err) // also from other goroutines
			return all
		}
		all = append(all, next...)
	}
	return all
}

func TestFollowersMissNothingWhileEventsAreWritten(t *testing.T) {
	t.Parallel()
	const writers, each = 4, 60
	b := modeltest.New(t, modeltest.WithConnections(16))
	ctx, done := context.WithCancel(t.Context())
	var relaying, writing, reading sync.WaitGroup
	relaying.Go(func() {
		for ctx.Err() == nil {
			if _, err := b.Service.Relay(t.Context()); err != nil { //nolint:contextcheck // a pass that began ends
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
		tail, err := b.Service.FollowEvents(t.Context(), b.Acme, model.EventFilter{After: after})
		require.NoError(t, err)
		reading.Go(func() {
			for _, event := range followed(t, tail, writers*each-int(after)) {
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

func TestFollowersHearWhatTheyAskedFor(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.Cover("quake-circle", nil)
	relayed(t, b)
	activated, err := b.Service.FollowEvents(t.Context(), b.Operator, model.EventFilter{Partner: "acme", Types: []model.EventType{model.EventPolicyActivated}})
	require.NoError(t, err)
	require.Equal(t, policy.ID, followed(t, activated, 1)[0].Subject.ID)
	expired := make(chan []wire.Event)
	go func() { expired <- followed(t, activated, 1) }()
	b.As(b.Globex).Cover("quake-circle", nil)
	second := b.Cover("quake-circle", nil)
	relayed(t, b)
	require.Equal(t, second.ID, (<-expired)[0].Subject.ID, "another partner's is not heard, and nothing comes twice")

	_, err = b.Service.FollowEvents(t.Context(), b.Operator, model.EventFilter{})
	require.Equal(t, model.CodeParameterInvalid, failure(t, err).Code)
	_, err = b.Service.FollowEvents(t.Context(), b.Acme, model.EventFilter{After: -1})
	require.Equal(t, model.CodeParameterInvalid, failure(t, err).Code)
	_, err = b.Service.FollowEvents(t.Context(), b.Source, model.EventFilter{})
	require.Equal(t, model.CodeInsufficientScope, failure(t, err).Code)
}

func TestAStoryIsFollowedAsItIsTold(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.Cover("quake-circle", nil)
	shake(b, "us1", "6.4", "final")
	claim := b.OnlyClaim(policy).ID
	tail, err := b.Service.FollowTimeline(t.Context(), b.Acme, claim, 1)
	require.NoError(t, err)
	have := len(b.Told(claim)) - 1
	story := followed(t, tail, have)
	heard := make(chan []wire.TimelineEntry)
	go func() { heard <- followed(t, tail, 1) }()
	_, err = b.Service.AddMessage(t.Context(), b.Acme, claim, "When?")
	require.NoError(t, err)
	relayed(t, b)
	story = append(story, <-heard...)
	for i, entry := range story {
		require.EqualValues(t, i+2, entry.Sequence)
	}
	require.Equal(t, "claim.message_added", story[len(story)-1].Kind)

	for _, id := range []string{claim, "clm_x", policy.ID} {
		_, err := b.Service.FollowTimeline(t.Context(), b.Globex, id, 0)
		require.Equal(t, model.CodeNotFound, failure(t, err).Code)
	}
}

func TestADisabledPartnerHearsNoMore(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	tail, err := b.Service.FollowEvents(t.Context(), b.Acme, model.EventFilter{})
	require.NoError(t, err)
	ended := make(chan error)
	go func() {
		_, err := tail.Next(t.Context())
		ended <- err
	}()
	_, err = b.Service.DisablePartner(t.Context(), b.Operator, model.PartnerStatusRequest{Slug: "acme", Reason: "The contract ended."})
	require.NoError(t, err)
	require.Equal(t, model.CodePartnerDisabled, failure(t, <-ended).Code)
}
