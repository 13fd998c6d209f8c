package main

import (
	"context"
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"parapet/model/events"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/quoting"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// This run is short; make chaos runs a longer one.
var (
	chaosKills   = flag.Int("kills", 5, "how often TestEventsSurviveKilledWorkers kills")
	chaosChanges = flag.Int("changes", 300, "during how many changes")
)

// relayChaos runs two workers and repeatedly kills one of them.
type relayChaos struct {
	*processGroup

	running []*serverProcess
	slowest map[string]time.Duration // from a kill to the next event
}

// The test repeatedly kills the process that numbers and delivers events, while events
// are created. Afterwards the histories have no gaps and valid hashes, and every event
// was delivered or will be retried.
func TestEventsSurviveKilledWorkers(t *testing.T) {
	t.Parallel()
	c := &relayChaos{processGroup: newProcessGroup(t, "PARAPET_LOOPBACK_TARGETS=true", "PARAPET_DELIVERY_DELAY_DIVISOR=5", "PARAPET_ROLES=workers"), slowest: map[string]time.Duration{}}
	sometimes := func(e wire.Event, attempt int) bool { return e.Sequence%50 == 0 && attempt == 1 }
	plain, ordered := c.newEventReceiver(t, false, sometimes), c.newEventReceiver(t, true, sometimes)
	closed := c.newEventReceiver(t, false, func(wire.Event, int) bool { return true })
	c.running = []*serverProcess{c.startProcess(t, "rehearsal"), c.startProcess(t, "rehearsal")}
	for i := range *chaosKills {
		var changes errgroup.Group
		changes.Go(func() error { return c.quoteAndBind(t.Context(), *chaosChanges / *chaosKills) })
		if i%2 == 0 {
			c.killRelay(t)
		} else {
			c.killSender(t, []*eventReceiver{plain, ordered}[i/2%2])
		}
		require.NoError(t, changes.Wait())
	}
	c.waitUntilDelivered(t, plain, ordered)
	t.Logf("from a kill to the next event at the slowest: %v", c.slowest)
	c.requireUnbrokenChain(t)
	all := c.sequencedIDs(t)
	for _, m := range []*eventReceiver{plain, ordered} {
		got, times := m.acceptedEvents()
		t.Logf("%d of %d events arrived, %d times", len(got), len(all), times)
		for _, id := range all {
			require.True(t, got[id], "%s did not arrive", id)
		}
	}
	for subject, sequences := range ordered.sequence {
		require.True(t, slices.IsSorted(sequences), "%s: %v", subject, sequences)
	}
	c.requireUndeliveredScheduled(t, closed)
}

// quoteAndBind creates a quote and binds it.
func (c *relayChaos) quoteAndBind(ctx context.Context, n int) error {
	quote := quoting.Request{Product: "quake-circle", Context: []byte(`{"partner": "acme", "radius_km": 10}`)}
	var all errgroup.Group
	all.SetLimit(4)
	for range n / 2 {
		all.Go(func() error {
			priced, err := c.Service.Quotes.Create(ctx, c.Acme, quote)
			if err != nil {
				return err
			}
			_, err = c.Service.Policies.Bind(ctx, c.Acme, underwriting.BindRequest{QuoteID: priced.ID})
			return err
		})
	}
	return all.Wait()
}

// killRelay kills the relay while events wait for their numbers. The other worker numbers
// the next events.
func (c *relayChaos) killRelay(t *testing.T) {
	t.Helper()
	c.waitForDatabase(t, "events wait", "select exists (select from event_outbox)")
	c.killOldest(t)
	began := time.Now()
	quote := c.Quote("rain-excess", nil)
	require.Eventually(t, func() bool {
		list, err := c.Service.Events.List(t.Context(), c.Acme, events.Filter{Subject: quote.ID}, store.PageRequest{})
		require.NoError(t, err)
		return len(list.Data) > 0
	}, time.Minute, 20*time.Millisecond, "the other worker numbers")
	c.slowest["number"] = max(c.slowest["number"], time.Since(began))
}

// killSender kills the worker that waits for the receiver's response. Another worker
// repeats the deliveries whose results were not saved.
func (c *relayChaos) killSender(t *testing.T, m *eventReceiver) {
	t.Helper()
	sender := m.awaitPendingRequest(t)
	for gone := false; !gone; {
		c.killOldest(t)
		select {
		case <-sender.Done():
			gone = true
		case <-time.After(time.Second): // the other worker was the sender
		}
	}
	began := time.Now()
	_, before := m.acceptedEvents()
	c.Quote("rain-excess", nil)
	require.Eventually(t, func() bool { _, times := m.acceptedEvents(); return times > before }, time.Minute, 20*time.Millisecond, "another worker sends")
	c.slowest["delivery"] = max(c.slowest["delivery"], time.Since(began))
}

// killOldest kills the worker that has run for longest and starts another one.
func (c *relayChaos) killOldest(t *testing.T) {
	t.Helper()
	c.running[0].killNow()
	c.running = append(c.running[1:], c.startProcess(t, "rehearsal"))
}

// waitForDatabase waits until the database answers.
func (c *relayChaos) waitForDatabase(t *testing.T, says, query string, args ...any) {
	t.Helper()
	require.Eventually(t, func() bool {
		var yes bool
		require.NoError(t, c.DB.Pool.QueryRow(t.Context(), query, args...).Scan(&yes))
		return yes
	}, 2*time.Minute, 20*time.Millisecond, says)
}

// waitUntilDelivered waits until every event has its number and no delivery is due.
func (c *relayChaos) waitUntilDelivered(t *testing.T, well ...*eventReceiver) {
	t.Helper()
	c.waitForDatabase(t, "every event is numbered", "select not exists (select from event_outbox)")
	for _, m := range well {
		c.waitForDatabase(t, "everything is sent", `select not exists (select from event_sequence n where n.partner = p.partner and n.sequence > p.cursor)
			and not exists (select from deliveries d where d.endpoint_id = p.endpoint_id and d.status = 'pending')
			from webhook_progress p join webhook_endpoints w on w.id = p.endpoint_id where w.url = $1`, m.URL)
	}
}

// requireUnbrokenChain checks that the history has no gaps and that every hash links to
// the previous one.
func (c *relayChaos) requireUnbrokenChain(t *testing.T) {
	t.Helper()
	var events, numbers, first, last int64
	require.NoError(t, c.DB.Pool.QueryRow(t.Context(), `select (select count(*) from events where partner = 'acme'), count(*), min(sequence), max(sequence)
		from event_sequence where partner = 'acme'`).Scan(&events, &numbers, &first, &last))
	require.Equal(t, []int64{events, 1, events}, []int64{numbers, first, last})
	require.GreaterOrEqual(t, events, int64(*chaosChanges))
	proof, err := c.Service.Events.VerifyChain(t.Context(), actor.System(), "acme")
	require.NoError(t, err)
	require.True(t, proof.Intact, "%+v", proof.Faults)
	require.Equal(t, events, proof.Events)
}

// sequencedIDs returns the ids of all numbered events.
func (c *relayChaos) sequencedIDs(t *testing.T) (ids []string) {
	t.Helper()
	for after := int64(0); ; {
		list, err := c.Service.Events.List(t.Context(), c.Acme, events.Filter{After: after}, store.PageRequest{Limit: store.MaxPageSize})
		require.NoError(t, err)
		for _, event := range list.Data {
			ids, after = append(ids, event.ID), event.Sequence
		}
		if !list.HasMore {
			return ids
		}
	}
}

// requireUndeliveredScheduled requires that every event that a receiver never accepted
// will be retried or has failed for good.
func (c *relayChaos) requireUndeliveredScheduled(t *testing.T, m *eventReceiver) {
	t.Helper()
	var lost int
	require.NoError(t, c.DB.Pool.QueryRow(t.Context(), `select count(*) from event_sequence n join webhook_progress p on p.partner = n.partner
		join webhook_endpoints w on w.id = p.endpoint_id
		left join deliveries d on d.endpoint_id = p.endpoint_id and d.event_id = n.event_id
		where w.url = $1 and case when n.sequence > p.cursor then p.due_at is null and p.lease_id is null and p.next_probe_at is null
			else d.status is distinct from 'failed' and d.next_attempt_at is null end`, m.URL).Scan(&lost))
	require.Zero(t, lost, "events that will never be sent")
}
