package model_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/audit"
	"parapet/model/claims"
	"parapet/model/events/webhooks"
	"parapet/model/kernel/store"
	"parapet/model/ledger"
	"parapet/model/modeltest"
	"parapet/model/partners"
	"parapet/model/payouts"
	"parapet/model/quoting"
	"parapet/model/underwriting"
)

// statesOf returns every state that the transitions mention.
func statesOf[S ~string](arrows []store.Transition[S]) []string {
	var all []string
	for _, arrow := range arrows {
		all = append(all, string(arrow.From), string(arrow.To))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func toStrings[S ~string](all []S) []string {
	plain := make([]string, len(all))
	for i, word := range all {
		plain[i] = string(word)
	}
	return plain
}

func TestStatusCheckConstraintsMatchTransitions(t *testing.T) {
	t.Parallel()
	db, _ := modeltest.Database(t, 2)
	for constraint, want := range map[string][]string{
		"quotes_status_check":            statesOf(quoting.QuoteTransitions),
		"policies_status_check":          statesOf(underwriting.PolicyTransitions),
		"claims_status_check":            statesOf(claims.ClaimTransitions),
		"payouts_status_check":           statesOf(claims.PayoutTransitions),
		"payout_methods_status_check":    statesOf(payouts.PayoutMethodTransitions),
		"webhook_endpoints_status_check": statesOf(webhooks.EndpointTransitions),
		"deliveries_status_check":        {string(webhooks.DeliveryDelivered), string(webhooks.DeliveryFailed), string(webhooks.DeliveryPending)},
		"claims_origin_check":            {string(claims.OriginApproval), string(claims.OriginTrigger)},
		"partners_status_check":          {string(partners.PartnerDisabled), string(partners.PartnerEnabled)},
		"payout_attempts_outcome_check":  {string(payouts.OutcomeAccepted), string(payouts.OutcomeRefused), string(payouts.OutcomeUnknown), string(payouts.OutcomeNotSent)},
		"payouts_blocked_reason_check": {
			string(claims.BlockedApproval), string(claims.BlockedCompliance), string(claims.BlockedMethodMissing), string(claims.BlockedMethodUnverified),
			string(claims.BlockedOperator), string(claims.BlockedRailMismatch), string(claims.BlockedRailRejected),
		},
		"ledger_entries_account_check": toStrings(ledger.Accounts()),
		"payouts_previous_block_reason_check": {
			string(claims.BlockedApproval), string(claims.BlockedMethodMissing), string(claims.BlockedMethodUnverified), string(claims.BlockedRailRejected),
		},
		"operator_actions_operation_check": {
			string(audit.OperationDecideClaim), string(audit.OperationDecideChallenge), string(audit.OperationWithdrawClaim), string(audit.OperationCancelPolicy), string(audit.OperationBlockPayout),
			string(audit.OperationApprovePayout), string(audit.OperationReleasePayout), string(audit.OperationResolvePayout), string(audit.OperationSettlePayout),
			string(audit.OperationUnblockPayout), string(audit.OperationRegisterPartner), string(audit.OperationDisablePartner), string(audit.OperationEnablePartner),
		},
	} {
		var definition string
		require.NoError(t, db.Pool.QueryRow(t.Context(), "select pg_get_constraintdef(oid) from pg_constraint where conname = $1", constraint).Scan(&definition), constraint)
		var got []string
		for _, literal := range regexp.MustCompile(`'([a-z_]+)'::text`).FindAllStringSubmatch(definition, -1) {
			got = append(got, literal[1])
		}
		require.ElementsMatch(t, want, got, constraint)
	}
}

func TestEveryTableAndViewHasAComment(t *testing.T) {
	t.Parallel()
	db, _ := modeltest.Database(t, 2)
	var bare []string
	require.NoError(t, db.Bun.NewRaw(`select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v')
		and relname not like 'bun\_%' and relname <> 'modeltest_jobs' and coalesce(obj_description(oid, 'pg_class'), '') = '' order by 1`).Scan(t.Context(), &bare))
	require.Empty(t, bare, "say in COMMENT ON what the table holds and what writes it")
}

func TestEveryCurrencyColumnHasACheck(t *testing.T) {
	t.Parallel()
	db, _ := modeltest.Database(t, 2)
	var unchecked []string
	require.NoError(t, db.Bun.NewRaw(`select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'currency'
		where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and not exists (select from pg_constraint k
			where k.conrelid = c.oid and k.contype = 'c' and k.conname = c.relname || '_currency_check' and pg_get_constraintdef(k.oid) like '%[A-Z]{3}%') order by 1`).Scan(t.Context(), &unchecked))
	require.Empty(t, unchecked)
}

// TestForeignKeysRefuseStrayRows covers the foreign keys that no operation can violate.
func TestForeignKeysRefuseStrayRows(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	b.QuoteAndBind("quake-circle", nil)
	for constraint, statement := range map[string]string{
		"quotes_policy_id_fkey":          "update quotes set policy_id = gen_random_uuid()",
		"event_checkpoints_partner_fkey": `insert into event_checkpoints values ('stranger', 1, '', now(), '')`,
		"webhook_endpoints_partner_fkey": `insert into webhook_endpoints (id, partner, created_at, updated_at, url, event_types, ordered, status, secret)
			values (gen_random_uuid(), 'stranger', now(), now(), 'https://example.com', '{}', false, 'enabled', '')`,
		"moratoria_occurrence_id_fkey": `insert into moratoria (id, created_at, updated_at, starts_at, ends_at, occurrence_id, reason, author)
			values (gen_random_uuid(), now(), now(), now(), now(), gen_random_uuid(), '', '')`,
		"policies_currency_check": "update policies set currency = 'usd'",
	} {
		_, err := b.DB.Pool.Exec(t.Context(), statement)
		require.ErrorContains(t, err, constraint)
	}
}
