package model_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

// statesOf are every state that arrows mention.
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
		"quotes_status_check":            statesOf(model.QuoteTransitions),
		"policies_status_check":          statesOf(model.PolicyTransitions),
		"claims_status_check":            statesOf(model.ClaimTransitions),
		"payouts_status_check":           statesOf(model.PayoutTransitions),
		"payout_methods_status_check":    statesOf(model.PayoutMethodTransitions),
		"webhook_endpoints_status_check": statesOf(model.EndpointTransitions),
		"deliveries_status_check":        {string(model.DeliveryDelivered), string(model.DeliveryFailed), string(model.DeliveryPending)},
		"claims_origin_check":            {string(model.OriginApproval), string(model.OriginTrigger)},
		"partners_status_check":          {string(model.PartnerDisabled), string(model.PartnerEnabled)},
		"payout_attempts_outcome_check":  {string(model.OutcomeAccepted), string(model.OutcomeRefused), string(model.OutcomeUnknown), string(model.OutcomeNotSent)},
		"payouts_blocked_reason_check": {
			string(model.BlockedApproval), string(model.BlockedCompliance), string(model.BlockedMethodMissing), string(model.BlockedMethodUnverified),
			string(model.BlockedOperator), string(model.BlockedRailMismatch), string(model.BlockedRailRejected),
		},
		"ledger_entries_account_check": toStrings(model.LedgerAccounts()),
		"payouts_previous_block_reason_check": {
			string(model.BlockedApproval), string(model.BlockedMethodMissing), string(model.BlockedMethodUnverified), string(model.BlockedRailRejected),
		},
		"operator_actions_operation_check": {
			string(model.OperationDecideClaim), string(model.OperationWithdrawClaim), string(model.OperationCancelPolicy), string(model.OperationBlockPayout),
			string(model.OperationApprovePayout), string(model.OperationReleasePayout), string(model.OperationResolvePayout), string(model.OperationSettlePayout),
			string(model.OperationUnblockPayout), string(model.OperationRegisterPartner), string(model.OperationDisablePartner), string(model.OperationEnablePartner),
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
	require.NoError(t, db.Bun.NewRaw(`select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'v')
		and relname not like 'bun\_%' and relname <> 'modeltest_jobs' and coalesce(obj_description(oid, 'pg_class'), '') = '' order by 1`).Scan(t.Context(), &bare))
	require.Empty(t, bare, "say in COMMENT ON what the table holds and what writes it")
}

func TestEveryCurrencyColumnHasACheck(t *testing.T) {
	t.Parallel()
	db, _ := modeltest.Database(t, 2)
	var unchecked []string
	require.NoError(t, db.Bun.NewRaw(`select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'currency'
		where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and not exists (select from pg_constraint k
			where k.conrelid = c.oid and k.contype = 'c' and k.conname = c.relname || '_currency_check' and pg_get_constraintdef(k.oid) like '%[A-Z]{3}%') order by 1`).Scan(t.Context(), &unchecked))
	require.Empty(t, unchecked)
}

// TestForeignKeysRefuseStrayRows names the foreign keys that no operation can violate.
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

func TestCandidateQueryUsesIndex(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	b.QuoteAndBind("quake-circle", nil)
	_, err := b.DB.Pool.Exec(t.Context(), `begin; set local session_replication_role = replica; -- policies without quotes
		with r as materialized (select to_jsonb(p) - 'footprint' as j from policies p),
			places as (select i % 340 - 170 as lon, i / 340 - 29 as lat from generate_series(1, 20000) i)
		insert into policies select n.* from r, places, jsonb_populate_record(null::policies, r.j || jsonb_build_object('id', gen_random_uuid(),
			'quote_id', gen_random_uuid(), 'footprint', format('((%s,%s),(%s,%s))', lon + 1, lat + 1, lon, lat))) n;
		commit; analyze policies`)
	require.NoError(t, err)
	at := b.Now()
	b.Observe(modeltest.Quake("us1", at, epicentre, "6.4"))
	plan, err := b.Service.ExplainCandidates(t.Context(), "us1")
	require.NoError(t, err)
	require.Contains(t, plan, "policies_footprint_idx")
	require.NotContains(t, plan, "Seq Scan on policies")
	b.RunJobs()
	require.Positive(t, b.CountRows()["claims"])
}
