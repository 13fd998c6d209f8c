package payouts_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard/trigger"
	"parapet/model/modeltest"
	"parapet/model/payouts/reconciliation"
	"parapet/model/wire"
)

// keysOf returns the keys that the rail received, in order.
func keysOf(b *modeltest.Bundle) []string {
	var keys []string
	for _, order := range b.Rail.Orders {
		keys = append(keys, order.Key)
	}
	slices.Sort(keys)
	return keys
}

func TestSameDebtHasTheSameRailKeyInARestoredDatabase(t *testing.T) {
	t.Parallel()
	first, restored := modeltest.New(t), modeltest.New(t, modeltest.WithoutChecks())
	for _, product := range []string{"quake-circle", "cyclone-circle"} {
		policy := first.QuoteAndBind(product, nil)
		first.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
		first.RunAccountChecks()
	}
	modeltest.CopyTables(t, first, restored, "quotes", "policies", "payout_methods")
	for _, b := range []*modeltest.Bundle{first, restored} {
		b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
		modeltest.ObserveFix(b, "AL01", "70", trigger.Final)
		modeltest.ObserveFix(b, "AL01", "140", trigger.Final)
	}
	require.Len(t, first.Rail.Orders, 3, "the storm pays in two parts")
	require.Equal(t, keysOf(first), keysOf(restored))
	require.Len(t, slices.Compact(keysOf(first)), 3)
	for _, order := range first.Rail.Orders {
		require.Regexp(t, `^pol_[0-9a-z]{26}\.[0-9a-f]{16}\.1$`, order.Key)
		for _, other := range restored.Rail.Orders {
			require.NotEqual(t, order.PayoutID, other.PayoutID)
		}
	}
}

// TestRailKeyDistinguishesSandboxAndPublicOccurrences pays one policy for two occurrences that share
// their source and id, in the sandbox and in public.
func TestRailKeyDistinguishesSandboxAndPublicOccurrences(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	b.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
	b.RunJobs()
	at := b.Now()
	_, err := b.Service.Occurrences.RecordObservations(t.Context(), b.Acme, []wire.ObservationInput{modeltest.Quake("us1", at, modeltest.Epicentre, "6.4")}, true)
	require.NoError(t, err)
	b.RunJobs()
	b.AdvanceClock(100 * modeltest.FixInterval)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	b.RunJobs()
	require.Len(t, b.Claims(policy), 2)
	require.Len(t, slices.Compact(keysOf(b)), 2)
}

func TestReplacementsCountTheRailKeyOn(t *testing.T) {
	t.Parallel()
	b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Refused)
	b.Rail.Answer = nil
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunJobs()
	for n := 2; n < 5; n++ {
		payout = b.Claim(claim.ID).Payouts[n-2]
		require.Equal(t, "released", payout.Status)
		key := b.Rail.Orders[n-1].Key
		require.Equal(t, b.RailKey(payout.ID, n), key)
		returned := reconciliation.ReportLine{Key: key, Reference: "ref-1", Amount: payout.Amount, Status: reconciliation.LineReturned}
		require.Equal(t, map[string]int{"returned": 1}, modeltest.Reconcile(t, b, key, returned).Results)
		again := b.Claim(claim.ID).Payouts[n-1]
		_, err := modeltest.ApprovePayoutAs(t, b, "ann", again)
		require.NoError(t, err)
		b.RunJobs()
	}
	first, _, _ := strings.Cut(b.Rail.Orders[0].Key, ".1")
	for _, order := range b.Rail.Orders {
		require.Contains(t, order.Key, first+".", "the debt is the same")
	}
	payouts := b.Claim(claim.ID).Payouts
	for n, owner := range map[int]string{1: payouts[0].ID, 2: payouts[0].ID, 3: payouts[1].ID, 4: payouts[2].ID, 5: payouts[3].ID} {
		sent, err := b.Service.Releases.SentOrders(t.Context(), modeltest.ScriptedRail, []string{b.RailKey(payout.ID, n)})
		require.NoError(t, err)
		require.Equal(t, owner, sent[b.RailKey(payout.ID, n)].PayoutID, n)
	}
}

// TestNextPartIsCountedFromTheHighest pays a part again before the storm grows: the key
// of the next part must not depend on the number of returns of another part.
func TestNextPartIsCountedFromTheHighest(t *testing.T) {
	t.Parallel()
	keys := map[bool]string{}
	first := modeltest.New(t)
	policy := first.QuoteAndBind("cyclone-circle", nil)
	first.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
	first.RunAccountChecks()
	restored := modeltest.New(t, modeltest.WithoutChecks())
	modeltest.CopyTables(t, first, restored, "quotes", "policies", "payout_methods")
	for back, b := range map[bool]*modeltest.Bundle{true: first, false: restored} {
		modeltest.ObserveFix(b, "AL01", "70", trigger.Final)
		if back {
			modeltest.Reconcile(t, b, "monday", modeltest.ReportLine(b, b.OnlyClaim(policy).Payouts[0], "returned"))
		}
		modeltest.ObserveFix(b, "AL01", "140", trigger.Final)
		keys[back] = b.Rail.Orders[len(b.Rail.Orders)-1].Key
	}
	require.Equal(t, keys[false], keys[true])
}

func TestTwoPayoutsCannotShareARailKey(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	modeltest.NewApprovedClaim(b)
	_, err := b.DB.Pool.Exec(t.Context(), `insert into payouts select (jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(), 'claim_sequence', null, 'installment', 2))).* from payouts p`)
	require.ErrorContains(t, err, "payouts_rail_key_key")
}
