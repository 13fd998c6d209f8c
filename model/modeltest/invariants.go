package modeltest

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"
	"go.jetify.com/typeid"

	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/compress"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
	"parapet/model/quoting"
	"parapet/model/underwriting"
)

// CheckInvariants checks the invariants of a database after any operations, once every
// event has its number: every change of status is an allowed transition and has exactly
// one event; every event matches the catalogue's schema of its type; every event about
// a claim has exactly one entry in its timeline; the versions of a record's events grow
// by one up to the record's own; and the remaining limit is the limit minus the
// approved amounts. New runs it when a test ends.
func (b *Bundle) CheckInvariants() {
	b.t.Helper()
	b.Relay()
	histories := b.eventHistories()
	checkHistories(b, histories, recordKind[quoting.QuoteStatus]{"quotes", "quote", "quo", quoting.QuotePriced, event.QuoteCreated, quoting.QuoteTransitions})
	checkHistories(b, histories, recordKind[underwriting.PolicyStatus]{"policies", "policy", "pol", underwriting.PolicyActive, event.PolicyActivated, underwriting.PolicyTransitions})
	checkHistories(b, histories, recordKind[claims.ClaimStatus]{"claims", "claim", "clm", claims.ClaimOpened, event.ClaimOpened, claims.ClaimTransitions})
	checkHistories(b, histories, recordKind[claims.PayoutStatus]{"payouts", "payout", "pay", claims.PayoutPending, event.PayoutCreated, claims.PayoutTransitions})
	checkHistories(b, histories, recordKind[payouts.MethodStatus]{"payout_methods", "payout_method", "pmt", payouts.MethodPending, event.PayoutMethodRecorded, payouts.PayoutMethodTransitions})
	b.checkLatestEvents(histories)
	b.checkEventSchemas()
	for _, rule := range consistencyRules {
		b.requireNoRows(rule.broken, rule.says)
	}
	violations := b.Violations()
	if b.hasMatchingJobs() {
		delete(violations, "inv_matchings") // the test left them
	}
	require.Empty(b.t, violations)
}

// hasMatchingJobs reports whether a job of matching is left.
func (b *Bundle) hasMatchingJobs() (left bool) {
	b.t.Helper()
	require.NoError(b.t, b.DB.Bun.NewRaw("select exists (select from modeltest_jobs where not done and kind in (?))",
		bun.List([]string{occurrence.EvaluateOccurrences{}.Kind(), adjudication.DecideSlices{}.Kind()})).Scan(b.ctx, &left))
	return left
}

// Violations returns the rows of the invariant views, by view.
func (b *Bundle) Violations() map[string][]string {
	b.t.Helper()
	var views []string
	require.NoError(b.t, b.DB.Bun.NewRaw("select viewname from pg_views where viewname like 'inv\\_%'").Scan(b.ctx, &views))
	require.NotEmpty(b.t, views)
	violations := make(map[string][]string)
	for _, view := range views {
		var wrong []string
		require.NoError(b.t, b.DB.Bun.NewRaw("select format('%s of %s: %s', subject, partner, message) from ? order by 1", bun.Ident(view)).Scan(b.ctx, &wrong))
		if len(wrong) > 0 {
			violations[view] = wrong
		}
	}
	return violations
}

// consistencyRules are queries that find violations.
var consistencyRules = []struct{ says, broken string }{
	{
		"every event about a claim has one sentence in the claim's timeline",
		`select e.id from events e left join payouts po on po.id = e.subject_id left join payout_methods pm on pm.id = e.subject_id
			left join attachments a on a.id = e.subject_id left join messages m on m.id = e.subject_id left join claims c on c.id = e.subject_id
			where coalesce(c.id, po.claim_id, pm.claim_id, a.claim_id, m.claim_id) is not null and (select count(*) from timeline_entries t
				where t.event_id = e.id and t.partner = e.partner and t.kind = e.type
				and t.claim_id = coalesce(c.id, po.claim_id, pm.claim_id, a.claim_id, m.claim_id)) <> 1`,
	},
	{
		"a sentence is written in the transaction of its event",
		`select e.id from events e join timeline_entries t on t.event_id = e.id and t.partner = e.partner where e.xmin <> t.xmin
			and not exists (select from event_redactions x where x.event_id = e.id and x.partner = e.partner)`,
	},
	{
		"every sentence but trigger.observed has an event",
		`select t.event_id from timeline_entries t where t.kind <> 'trigger.observed' and not exists (select from events e where e.id = t.event_id and e.partner = t.partner)`,
	},
	{
		"a timeline never runs backward",
		`select t.id from timeline_entries t join timeline_entries n on n.claim_id = t.claim_id and n.partner = t.partner and n.sequence = t.sequence + 1 where n.at < t.at`,
	},
}

func (b *Bundle) requireNoRows(query, says string) {
	b.t.Helper()
	var broken []string
	require.NoError(b.t, b.DB.Bun.NewRaw(query).Scan(b.ctx, &broken))
	require.Empty(b.t, broken, says)
}

// storedEvent is one event as a partner reads it.
type storedEvent struct {
	Type    string
	Version int64
	Object  struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Status  string `json:"status"`
		Version int64  `json:"version"`
	} `json:"object"`

	raw jsontext.Value // the object
}

// eventHistories returns the events of each record, in the order they were written.
func (b *Bundle) eventHistories() map[string][]storedEvent {
	b.t.Helper()
	rows, err := b.DB.Pool.Query(b.ctx, `select e.subject_id::text, e.type, e.subject_version, e.data from events e
		left join event_outbox o on o.event_id = e.id left join event_sequence n on n.event_id = e.id order by n.sequence, o.ordinal`)
	require.NoError(b.t, err)
	defer rows.Close()
	histories := make(map[string][]storedEvent)
	for rows.Next() {
		var id string
		var event storedEvent
		var data compress.JSON
		require.NoError(b.t, rows.Scan(&id, &event.Type, &event.Version, &data))
		var whole struct {
			Object jsontext.Value `json:"object"`
		}
		require.NoError(b.t, json.Unmarshal(data, &event))
		require.NoError(b.t, json.Unmarshal(data, &whole))
		event.raw = whole.Object
		require.Equal(b.t, event.Version, event.Object.Version, "%s of %s", event.Type, id)
		histories[id] = append(histories[id], event)
	}
	require.NoError(b.t, rows.Err())
	return histories
}

// recordKind is a type of record with its allowed transitions.
type recordKind[S ~string] struct {
	table, object, prefix string
	initialStatus         S
	createdEvent          event.Type
	transitions           []store.Transition[S]
}

// checkHistories checks the events of every record of a type.
func checkHistories[S ~string](b *Bundle, histories map[string][]storedEvent, k recordKind[S]) {
	b.t.Helper()
	var rows []struct {
		ID      string
		Status  S
		Version int64
	}
	require.NoError(b.t, b.DB.Bun.NewRaw("select id::text, status, version from "+k.table).Scan(b.ctx, &rows))
	for _, row := range rows {
		history := histories[row.ID]
		require.NotEmpty(b.t, history, "a %s without events", k.object)
		k.checkHistory(b, row.ID, history)
		last := history[len(history)-1]
		require.Equal(b.t, string(row.Status), last.Object.Status, "the last event of a %s has its status", k.object)
		require.Equal(b.t, row.Version, last.Version, "the last event of a %s has its version", k.object)
	}
}

func (k recordKind[S]) checkHistory(b *Bundle, id string, history []storedEvent) {
	b.t.Helper()
	public, err := typeid.FromUUIDWithPrefix(k.prefix, id)
	require.NoError(b.t, err)
	require.Equal(b.t, string(k.createdEvent), history[0].Type)
	require.Equal(b.t, string(k.initialStatus), history[0].Object.Status)
	for i, event := range history {
		require.Equal(b.t, public.String(), event.Object.ID)
		require.Equal(b.t, k.object, event.Object.Object)
		require.Equal(b.t, int64(i+1), event.Version, "versions of a %s grow by one: %s", k.object, event.Type)
		if i > 0 {
			k.checkTransition(b, history[i-1].Object.Status, event)
		}
	}
}

// checkTransition checks that an event is an allowed transition with its event type, or
// an update without a change of status.
func (k recordKind[S]) checkTransition(b *Bundle, from string, event storedEvent) {
	b.t.Helper()
	if from == event.Object.Status {
		require.Contains(b.t, []string{k.object + ".updated", k.object + ".challenged", k.object + ".challenge_decided"}, event.Type)
		return
	}
	for _, arrow := range k.transitions {
		if string(arrow.From) == from && string(arrow.To) == event.Object.Status {
			require.Equal(b.t, string(arrow.Event), event.Type)
			return
		}
	}
	require.Fail(b.t, "no such arrow", "%s: %s to %s", k.object, from, event.Object.Status)
}
