package events_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/event"
	"parapet/model/modeltest"
)

// In a history with every kind of change, each change of a record has one event, and each
// event about a claim has one timeline entry. modeltest.Consistent checks the other
// conditions when the test ends.
func TestEveryChangeHasOneEvent(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.PlayFullStory()
	seen := b.Events()
	for _, kind := range event.Types() {
		require.True(t, slices.Contains(seen, string(kind)), kind)
	}
	count := func(query string) (n int) {
		require.NoError(t, b.DB.Pool.QueryRow(t.Context(), query).Scan(&n))
		return n
	}
	changes := count(`select sum(version) from (select version from quotes union all select version from policies union all select version from claims
		union all select version from payouts union all select version from payout_methods union all select 1 from attachments
		union all select 1 from messages union all select version from webhook_endpoints) as records`)
	watches := count("select count(*) from events where type = 'occurrence.watch'") // the occurrence itself does not change
	require.Len(t, seen, changes+watches, "a record's version counts its changes")
	about := count(`select count(*) from events where subject_type in ('claim', 'attachment', 'message', 'payout', 'payout_method')`)
	require.Equal(t, about, count(`select count(*) from timeline_entries where kind <> 'trigger.observed'`))
	require.Equal(t, about, count(`select count(distinct event_id) from timeline_entries`))
	require.Zero(t, count(`select count(*) from (
			select id, partner, version, xmin from quotes union all select id, partner, version, xmin from policies union all select id, partner, version, xmin from claims
			union all select id, partner, version, xmin from payouts union all select id, partner, version, xmin from payout_methods) as record
		left join events e on e.subject_id = record.id and e.partner = record.partner and e.subject_version = record.version and e.xmin = record.xmin
		where e.id is null`), "the last event of a record was written by the transaction that wrote the record")
}
