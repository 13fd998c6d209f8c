package reconciliation_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/payouts/reconciliation"
)

// TestPayoutResolvedByHandIsReportedMissingAndConfirmed resolves a payout that got no
// answer, so that its row names no rail.
func TestPayoutResolvedByHandIsReportedMissingAndConfirmed(t *testing.T) {
	t.Parallel()
	b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Unknown)
	_, err := b.DB.Pool.Exec(t.Context(), "update payouts set provider = null")
	require.NoError(t, err)
	modeltest.Must(modeltest.ResolvePayout(t, b, payout, claims.PayoutReleased, "bank-7", false))
	require.Equal(t, modeltest.RailName, *modeltest.OnlyPayout(t, b, claim).Provider)
	missing, err := b.Service.Reconciliation.Reconcile(t.Context(), b.Operator, reconciliation.Report{Rail: modeltest.RailName, Name: "none", Until: new(b.Now().Add(time.Hour))}, modeltest.ReadLines(nil))
	require.NoError(t, err)
	require.Equal(t, 1, missing.Missing)
	byReference := modeltest.ReportLine(b, payout, "settled")
	byReference.Key, byReference.Reference = "", "bank-7"
	require.Equal(t, map[string]int{"reconciled": 1}, modeltest.Reconcile(t, b, "by its reference", byReference).Results)
	require.Equal(t, "reconciled", modeltest.OnlyPayout(t, b, claim).Status)
	require.Empty(t, modeltest.OpenExceptions(t, b))
}

// TestReportIsImportedWhateverThePayoutState writes payouts in random states with random
// members missing, which no operation creates, and imports lines about them.
func TestReportIsImportedWhateverThePayoutState(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	policy := b.QuoteAndBind("quake-circle", nil)
	b.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
	b.RunJobs()
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	b.RunJobs()
	payout := b.OnlyClaim(policy).Payouts[0]
	random := rand.New(rand.NewPCG(7, 7))
	one := func(values ...string) string { return values[random.IntN(len(values))] }
	for i := range *reportStates {
		status := one("pending", "releasing", "released", "blocked", "reconciling", "reconciled", "returned", "cancelled")
		_, err := b.DB.Pool.Exec(t.Context(), `update payouts set status = $1, settled_externally = false,
			blocked_reason = case when $1 = 'blocked' then $2 end, previous_block_reason = null, provider = $3, provider_reference = $4, next_attempt_at = case when $5 then now() end,
			payout_method_id = case when $6 then (select id from payout_methods limit 1) end, idempotency_seq = $7, attempts = $8,
			released_at = case when $1 in ('released', 'reconciled', 'returned') then now() end, reconciled_at = case when $1 = 'reconciled' then now() end
			where id = (select id from payouts order by id limit 1)`,
			status, one("rail_mismatch", "operator_hold", "approval_required", "rail_rejected"), oneOrNone(random, "scripted", "another"), oneOrNone(random, "ref-1", "ref-2"),
			random.IntN(2) == 0, random.IntN(2) == 0, 1+random.IntN(3), random.IntN(3))
		if err != nil { // a later payout exists already
			_, err = b.DB.Pool.Exec(t.Context(), "delete from payouts where replaces_payout_id is not null")
			require.NoError(t, err)
			continue
		}
		var lines []reconciliation.ReportLine
		for n := range 3 {
			l := modeltest.ReportLine(b, payout, one("settled", "returned", "rejected", "underway"))
			l.Key = one("", b.RailKey(payout.ID, 1+random.IntN(3)), payout.ID+".1", policy.ID+".12345678", policy.ID+".0123456789abcdef.1", policy.ID, "x.y.z.1")
			l.Reference, l.Account = one("ref-1", "ref-2", fmt.Sprintf("r-%d-%d", i, n)), one("", "iban ····3000", "iban ····9999")
			l.At = time.Date(2027, 1, 1+random.IntN(9), 0, 0, 0, 0, time.UTC)
			lines = append(lines, l)
		}
		modeltest.Reconcile(t, b, fmt.Sprint(i), lines...)
	}
	var open, faults int
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select count(*) from rail_report_lines where match_result is null").Scan(&open))
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select count(*) from reconciliation_exceptions where detail like 'panic%'").Scan(&faults))
	require.Zero(t, open)
	require.Zero(t, faults)
	_, err := b.Service.Operations.HealthStats(t.Context(), actor.System())
	require.NoError(t, err)
}

func oneOrNone(random *rand.Rand, values ...string) *string {
	if at := random.IntN(len(values) + 1); at < len(values) {
		return &values[at]
	}
	return nil
}

// TestLineThatFailsIsSetAsideAndTheOthersAreMatched makes Postgres refuse the changes of
// one line.
func TestLineThatFailsIsSetAsideAndTheOthersAreMatched(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	var lines []reconciliation.ReportLine
	for range 3 {
		b.RecordPayoutMethod(modeltest.PolicyIBANMethod(b.QuoteAndBind("quake-circle", nil).ID))
	}
	b.RunJobs()
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	b.RunJobs()
	payouts := modeltest.Must(b.Service.Claims.ListPayouts(t.Context(), b.Acme, store.Filter{}, store.PageRequest{})).Data
	require.Len(t, payouts, 3)
	for _, payout := range payouts {
		lines = append(lines, modeltest.ReportLine(b, payout, "settled"))
	}
	_, err := b.DB.Pool.Exec(t.Context(), `create function refuse_one() returns trigger language plpgsql as $$ begin
			if new.id = (select payout_id from payout_attempts where key = '`+lines[1].Key+`' limit 1) then raise exception 'an unforeseen rule'; end if; return new; end $$;
		create trigger refuse_one before update on payouts for each row execute function refuse_one()`)
	require.NoError(t, err)
	done := modeltest.Reconcile(t, b, "r", lines...)
	require.Equal(t, map[string]int{"reconciled": 2, "unmatched": 1}, done.Results)
	list := modeltest.Must(b.Service.Reconciliation.ListExceptions(t.Context(), b.Operator, false, store.PageRequest{})).Data
	var unmatched reconciliation.Exception
	for _, f := range list {
		if f.Kind == "unmatched" {
			unmatched = f
		}
	}
	require.Contains(t, *unmatched.Detail, "an unforeseen rule")
	require.Equal(t, payouts[1].PolicyID, *unmatched.PolicyID)
}
