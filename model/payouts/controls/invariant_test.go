package controls_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/payouts"
	"parapet/model/payouts/controls"
	"parapet/model/quoting"
	"parapet/model/underwriting"
)

// forgeries are changes of rows by hand; each violates an invariant.
var forgeries = map[string][]string{
	"inv_postings_balance":       {"update ledger_entries set amount = amount + 1 where account = 'payout'"},
	"inv_ledger_matches_payouts": {"delete from ledger_entries where account = 'payout'", "update payouts set amount = amount + 1", "update ledger_entries set currency = 'EUR' where payout_id is not null"},
	"inv_ledger_matches_premiums": {
		"update policies set premium_amount = premium_amount + 1", "delete from ledger_entries where account = 'premium_written'",
	},
	"inv_reports_match_payouts": {
		"update rail_report_lines set amount = amount - 1", "delete from rail_report_lines", "update rail_report_lines set match_result = 'returned'",
		"insert into rail_report_lines (report_id, number, rail, key, reference, amount, currency, status, code, reported_at, match_result, payout_id) select report_id, number + 1, rail, key, reference, amount, currency, status, code, reported_at, match_result, payout_id from rail_report_lines",
	},
	"inv_embedded_counts": {"update claims set policy_sequence = 3", "update payouts set claim_sequence = 3"},
	"inv_paid_once": {`insert into payouts select (jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(), 'debt_digest', left(md5(random()::text), 16), 'status', 'cancelled', 'settled_externally', true, 'claim_sequence', 2,
		'released_at', null, 'reconciled_at', null))).* from payouts p`},
	"inv_sent_once": {"insert into payout_attempts (payout_id, partner, number, rail, key, started_at) select payout_id, partner, number + 1, rail, key || '0', started_at from payout_attempts"},
	"inv_claims_paid": {
		"update claims set amount = amount + 1", "update claims set status = 'declined', closed_at = null", "delete from payouts",
	},
	"inv_limits_not_exceeded": {
		"update policies set limit_remaining = limit_remaining + 1", "update policies set limit_amount = 1, limit_remaining = 0",
	},
	"inv_events_per_change":    {"delete from events where type = 'payout.released'", "update policies set version = version + 1", "update events set subject_version = 1"},
	"inv_statuses_have_events": {"update payouts set status = 'released'", "delete from events where type = 'quote.bound'"},
	"inv_status_transitions":   {"update events set type = 'payout.reconciling' where type = 'payout.releasing'", "delete from events where type = 'claim.opened'"},
	"inv_timelines": {
		"delete from timeline_entries where kind = 'payout.released'", "update timeline_entries set kind = 'payout.updated' where kind = 'payout.released'",
		"update claims set timeline_sequence = timeline_sequence + 1",
	},
	"inv_next_actions": {
		"update claims set status = 'approved', closed_at = null", "update claims set status = 'deferred', closed_at = null, next_review_at = null",
		"update payouts set status = 'pending', released_at = null", "update payouts set status = 'reconciling', released_at = null",
	},
	"inv_partners": {
		"update claims set partner = 'globex'", "update payouts set partner = 'globex'", "update events set partner = 'globex' where type = 'payout.released'",
		"update ledger_entries set partner = 'globex'", "update quotes set partner = 'globex'", "update timeline_entries set partner = 'globex'",
	},
	"inv_payout_methods": {
		"update payouts set payout_method_id = gen_random_uuid()", "update payout_methods set policy_id = gen_random_uuid()", "update payout_methods set partner = 'globex'",
	},
	"inv_matchings": {
		"update occurrences set version = version + 1, updated_at = now() - interval '2 days'",
		`insert into matching_slices (occurrence_id, version, number, candidates, policies, due_at) select occurrence_id, version, 9, 1, array[occurrence_id], now() from matchings`,
		`with w as (update matchings set completed_at = null, started_at = now() - interval '2 days' returning *)
			insert into matching_slices (occurrence_id, version, number, candidates, policies, due_at) select occurrence_id, version, 9, 1, array[occurrence_id], now() from w`,
	},
	"inv_sequences":        {"delete from event_sequence where sequence = 2", "delete from event_sequence where sequence = 1"},
	"inv_events_sequenced": {"delete from event_sequence where sequence = 3"},
}

func TestEveryInvariantFindsForgedRows(t *testing.T) {
	t.Parallel()
	b, _, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Accepted)
	modeltest.Reconcile(t, b, "monday", modeltest.ReportLine(b, payout, "settled"))
	b.Relay()
	invariants := modeltest.Must(b.Service.Controls.ListInvariants(t.Context(), b.Operator))
	var names []string
	for _, invariant := range invariants {
		names = append(names, invariant.Name)
		require.NotEmpty(t, invariant.Description, invariant.Name)
	}
	require.Equal(t, slices.Sorted(maps.Keys(forgeries)), names, "every view has a forgery")
	for name, all := range forgeries {
		for _, forgery := range all {
			require.Empty(t, b.Violations())
			tx, err := b.DB.Pool.Begin(t.Context())
			require.NoError(t, err)
			_, err = tx.Exec(t.Context(), "set local session_replication_role = replica")
			require.NoError(t, err)
			done, err := tx.Exec(t.Context(), forgery)
			require.NoError(t, err, forgery)
			require.Positive(t, done.RowsAffected(), forgery)
			var found int
			require.NoError(t, tx.QueryRow(t.Context(), fmt.Sprintf("select count(*) from %s where subject is not null and partner <> '' and message <> ''", name)).Scan(&found))
			require.Positive(t, found, "%s after %s", name, forgery)
			require.NoError(t, tx.QueryRow(t.Context(), fmt.Sprintf("select count(*) from %s where exists (select from events e where e.id = subject) <> $1", name),
				slices.Contains(controls.EventInvariants, name)).Scan(&found))
			require.Zero(t, found, "the check of recent changes checks %s for events or for records", name)
			require.NoError(t, tx.Rollback(t.Context()))
		}
	}
}

func TestStatusTransitionsTableMatchesCode(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	rows, err := b.DB.Pool.Query(t.Context(), "select concat_ws(' ', object, from_status, to_status, event) from status_transitions")
	require.NoError(t, err)
	known, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	want := []string{
		"quote  priced quote.created", "policy  active policy.activated", "claim  opened claim.opened", "payout  pending payout.created",
		"payout_method  pending payout_method.recorded",
	}
	want = append(want, transitionLines("quote", quoting.QuoteTransitions)...)
	want = append(want, transitionLines("policy", underwriting.PolicyTransitions)...)
	want = append(want, transitionLines("claim", claims.ClaimTransitions)...)
	want = append(want, transitionLines("payout", claims.PayoutTransitions)...)
	require.ElementsMatch(t, append(want, transitionLines("payout_method", payouts.PayoutMethodTransitions)...), known)
}

func transitionLines[S ~string](object string, arrows []store.Transition[S]) (all []string) {
	for _, a := range arrows {
		all = append(all, fmt.Sprintf("%s %s %s %s", object, a.From, a.To, a.Event))
	}
	return all
}

// TestViolatedRecentEventIsCheckedAgain has more recent events than a statement checks. One
// is the subject of an open violation after the first check.
func TestViolatedRecentEventIsCheckedAgain(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	b.QuoteAndBind("quake-circle", nil)
	modeltest.ChangeRows(t, b, "update ledger_entries set amount = amount + 1 where account = 'premium_written'")
	modeltest.ChangeRows(t, b, `insert into events select (lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') || substr(md5(i::text), 1, 20))::uuid,
		partner, type, subject_type, gen_random_uuid(), subject_version, occurred_at, '', null from (select * from events limit 1) e, generate_series(1, 6000) i`)
	for range 2 {
		require.NoError(t, b.Service.Controls.CheckInvariants(t.Context()))
		require.Len(t, modeltest.Must(b.Service.Controls.ListViolations(t.Context(), b.Operator, "inv_postings_balance", 2)), 1)
	}
}
