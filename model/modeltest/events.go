package modeltest

import (
	"github.com/stretchr/testify/require"

	"parapet/model/events/webhooks"
	"parapet/model/wire"
)

// Relay numbers all waiting events.
func (b *Bundle) Relay() {
	b.t.Helper()
	for numbered := 1; numbered > 0; {
		var err error
		numbered, err = b.Service.Events.Relay(b.ctx)
		require.NoError(b.t, err)
	}
}

// SignCheckpoint makes a quote of acme, so that its feed has an event, and signs the end of
// the feed.
func (b *Bundle) SignCheckpoint() {
	b.t.Helper()
	b.Quote("rain-excess", nil)
	b.Relay()
	b.Sweep()
}

// deliverDue delivers all due events of an endpoint.
func (b *Bundle) deliverDue(job webhooks.DeliverEndpoint) {
	b.t.Helper()
	for more := true; more; {
		batch, err := b.Service.Webhooks.FetchBatch(b.ctx, job)
		require.NoError(b.t, err)
		if batch == nil {
			more, err = b.Service.Webhooks.EndDelivery(b.ctx, job, false)
			require.NoError(b.t, err)
			continue
		}
		sent := make([]webhooks.AttemptResult, len(batch.Items))
		for i := range sent {
			sent[i] = webhooks.AttemptResult{Outgoing: batch.Items[i], Delivered: true, Attempt: &wire.Attempt{At: b.Now(), StatusCode: new(200), DurationMS: 38, Answer: "ok"}}
		}
		_, err = b.Service.Webhooks.SaveBatch(b.ctx, job, batch, sent)
		require.NoError(b.t, err)
	}
}

// StorePlain makes the database one on which releases that cannot read compressed
// rows may run. Call it before the first event.
func (b *Bundle) StorePlain() {
	b.t.Helper()
	_, err := b.DB.Pool.Exec(b.ctx, "update schema_compatibility set minimum_binary = 23")
	require.NoError(b.t, err)
}
