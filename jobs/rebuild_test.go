package jobs

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/jobs/rail"
	"parapet/model/events"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// eventMirror is a client that keeps the newest version of every record in its events.
type eventMirror struct {
	seen    map[int64]bool // sequences
	records map[string]mirrored
}

type mirrored struct {
	version int64
	object  map[string]any
}

func (m *eventMirror) applyEvent(t testing.TB, event wire.Event) {
	t.Helper()
	var data struct {
		Object map[string]any `json:"object"`
	}
	require.NoError(t, json.Unmarshal(event.Data, &data))
	m.seen[event.Sequence] = true
	if event.Subject.Version >= m.records[event.Subject.ID].version {
		m.records[event.Subject.ID] = mirrored{event.Subject.Version, data.Object}
	}
}

// embed replaces the records inside a record by their newest versions: they have events
// of their own.
func (m *eventMirror) embed(id string, object map[string]any) {
	for _, inner := range m.records {
		switch {
		case inner.object["object"] == "payout" && inner.object["claim_id"] == id:
			object["payouts"], object["payouts_count"] = []any{inner.object}, 1.0
		case inner.object["object"] == "claim" && inner.object["policy_id"] == id:
			object["claims"] = []any{map[string]any{"id": inner.object["id"], "status": inner.object["status"]}}
			object["claims_count"] = 1.0
		}
	}
}

// state is a record as the API answers it, without what follows from the clock.
func state[T any](t testing.TB, record *T, err error) map[string]any {
	t.Helper()
	require.NoError(t, err)
	text, err := wire.Encode(record)
	require.NoError(t, err)
	var object map[string]any
	require.NoError(t, json.Unmarshal(text, &object))
	delete(object, "cover_phase")
	return object
}

// A client that loses one delivery in twenty and receives the others in any order has
// exactly the API's state after it has read the missing sequences from the feed.
func TestEventFeedRebuildsLostDeliveries(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	r := newReceiver(t, respondWithStatus(200))
	s.createEndpoint(r)
	for range 8 {
		s.QuoteAndBind("rain-excess", nil)
	}
	claim, _ := s.createPendingPayout(numberFor(rail.Accept))
	s.startWorkers()
	s.waitForPayoutStatus(claim, "released")
	s.waitUntilIdle()
	s.requireEventually(func() bool {
		return s.countRows("event_outbox") == 0 && len(r.allReceived()) >= s.countRows("event_sequence")
	}, "everything is sent")

	m, delivered := &eventMirror{map[int64]bool{}, map[string]mirrored{}}, r.allReceived()
	random := rand.New(rand.NewPCG(1, 2))
	random.Shuffle(len(delivered), func(i, j int) { delivered[i], delivered[j] = delivered[j], delivered[i] })
	for i, one := range delivered {
		if i%20 == 0 {
			continue // lost
		}
		var event wire.Event
		require.NoError(t, wire.Decode([]byte(one.body), &event))
		m.applyEvent(t, event)
	}
	missing := 0
	for page := (store.PageRequest{Limit: 100}); ; {
		feed, err := s.Service.Events.List(t.Context(), s.Acme, events.Filter{}, page)
		require.NoError(t, err)
		for _, event := range feed.Data {
			if !m.seen[event.Sequence] {
				missing++
				m.applyEvent(t, event)
			}
		}
		if !feed.HasMore {
			break
		}
		page.Cursor = *feed.NextCursor
	}
	require.Positive(t, missing)
	require.Equal(t, len(m.seen), int(slices.Max(slices.Collect(maps.Keys(m.seen)))), "without gaps")
	s.compareWithMirror(m)
}

// compareWithMirror compares every record of the feed with the API's response.
func (s *fixture) compareWithMirror(m *eventMirror) {
	s.t.Helper()
	compared := map[string]int{}
	for id, kept := range m.records {
		var now map[string]any
		switch kind := kept.object["object"].(string); kind {
		case "quote":
			quote, err := s.Service.Quotes.Get(s.t.Context(), s.Acme, id)
			now = state(s.t, quote, err)
		case "policy":
			policy, err := s.Service.Policies.Get(s.t.Context(), s.Acme, id)
			now = state(s.t, policy, err)
		case "claim":
			claim, err := s.Service.Claims.Get(s.t.Context(), s.Acme, id)
			now = state(s.t, claim, err)
		case "payout":
			payout, err := s.Service.Claims.GetPayout(s.t.Context(), s.Acme, id)
			now = state(s.t, payout, err)
		case "payout_method":
			method, err := s.Service.Payouts.GetMethod(s.t.Context(), s.Acme, id)
			now = state(s.t, method, err)
		case "webhook_endpoint":
			endpoint, err := s.Service.Webhooks.GetEndpoint(s.t.Context(), s.Acme, id)
			now = state(s.t, endpoint, err)
		default:
			s.t.Fatalf("no comparison for a %s", kind)
		}
		delete(kept.object, "cover_phase")
		m.embed(id, kept.object)
		require.Equal(s.t, now, kept.object, id)
		compared[kept.object["object"].(string)]++
	}
	require.Equal(s.t, map[string]int{"quote": 9, "policy": 9, "claim": 1, "payout": 1, "payout_method": 1, "webhook_endpoint": 1}, compared)
}
