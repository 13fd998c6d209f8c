package adjudication_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/model/kernel/compress"
	"parapet/model/modeltest"
)

// decisions are, for each policy, the lines that describe what was decided about it.
type decisions map[string][]string

// decisionQueries select a policy and a line of text, in the order of the lines.
// Determinations have the order within their occurrence, and eventQuery that within a claim:
// a review that is due for several claims decides them in the order of the slices.
var decisionQueries = []string{
	`select p.id::text, format('policy %s v%s left %s', p.status, p.version, p.limit_remaining) from policies p`,
	`select c.policy_id::text, format('claim %s %s %s v%s of %s %s %s: %s owed %s, %s, %s, retracted %s, closed %s, review %s', c.policy_sequence, c.origin, c.status, c.version,
			oc.source, oc.source_event_id, oc.definition, c.outcome, c.amount, c.reason_codes, c.occurrence_key, c.retraction, c.closed_at is not null, c.next_review_at is not null)
		from claims c left join occurrences oc on oc.id = c.occurrence_id order by c.policy_id, c.policy_sequence`,
	`select d.policy_id::text, format('determination met %s %s %s, %s to %s: %s', d.met, d.stage, d.amount, d.first_day, d.last_day, d.receipt)
		from determinations d join occurrences oc on oc.id = d.occurrence_id order by d.policy_id, oc.source, oc.source_event_id, d.id`,
	`select po.policy_id::text, format('payout %s/%s %s v%s %s %s to %s, blocked %s, attempts %s, key %s %s, reference %s', c.policy_sequence, po.claim_sequence, po.status, po.version,
			po.amount, po.currency, po.payout_method_id, po.blocked_reason, po.attempts, po.debt_digest, po.idempotency_seq, po.provider_reference)
		from payouts po join claims c on c.id = po.claim_id order by po.policy_id, c.policy_sequence, po.claim_sequence`,
	`select c.policy_id::text, format('timeline %s/%s %s by %s %s: %s %s', c.policy_sequence, t.sequence, t.kind, case when t.kind <> 'claim.opened' then t.actor_kind end,
			case when t.kind <> 'claim.opened' then t.actor_name end, t.summary, t.data)
		from timeline_entries t join claims c on c.id = t.claim_id order by c.policy_id, c.policy_sequence, t.sequence`,
	`select le.policy_id::text, format('posting %s %s %s', le.account, le.amount, le.currency)
		from ledger_entries le join event_sequence s on s.event_id = le.event_id order by le.policy_id, s.sequence, le.account`,
}

// eventQuery selects the events about a policy, and those about each of its claims with
// their payouts in the order of their numbers.
const eventQuery = `select coalesce(c.policy_id, e.subject_id)::text, format('event %s v%s', e.type, e.subject_version), e.data
	from events e join event_sequence s on s.event_id = e.id left join payouts po on po.id = e.subject_id left join claims c on c.id = coalesce(po.claim_id, e.subject_id)
	where e.subject_type in ('policy', 'claim', 'payout') order by 1, coalesce(c.policy_sequence, 0), s.sequence`

// Ids and times of the transactions differ between databases, and so do the digests that
// cover ids. Times that sources report have no fraction of a second.
var (
	idPattern   = regexp.MustCompile(`\b(clm|pay|occ|evt|tle|obs)_[0-9a-z]{26}\b`)
	digests     = regexp.MustCompile(`("?(?:readings_digest|receipt_hash)"?\s*:\s*"?)sha256:[0-9a-f]{64}`)
	timePattern = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z`)
)

// readDecisions reads what was decided about all policies.
func readDecisions(t *testing.T, b *modeltest.Bundle) decisions {
	t.Helper()
	found := make(decisions)
	for _, query := range decisionQueries {
		rows, err := b.DB.Pool.Query(t.Context(), query)
		require.NoError(t, err)
		var policy, line string
		_, err = pgx.ForEachRow(rows, []any{&policy, &line}, func() error {
			found[policy] = append(found[policy], line)
			return nil
		})
		require.NoError(t, err)
	}
	rows, err := b.DB.Pool.Query(t.Context(), eventQuery)
	require.NoError(t, err)
	var policy, line string
	var body compress.JSON
	_, err = pgx.ForEachRow(rows, []any{&policy, &line, &body}, func() error {
		found[policy] = append(found[policy], line+" "+string(body))
		return nil
	})
	require.NoError(t, err)
	found.maskIDs()
	return found
}

// maskIDs replaces an id by its place among the ids of the policy, and a time with a
// fraction of a second and a digest by a word.
func (d decisions) maskIDs() {
	for _, lines := range d {
		places := make(map[string]string)
		for i, line := range lines {
			line = digests.ReplaceAllString(timePattern.ReplaceAllString(line, "time"), "${1}digest")
			lines[i] = idPattern.ReplaceAllStringFunc(line, func(id string) string {
				if places[id] == "" {
					places[id] = fmt.Sprintf("%s_%d", id[:3], len(places)+1)
				}
				return places[id]
			})
		}
	}
}
