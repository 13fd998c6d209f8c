package release_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/payouts"
)

// TestReleaseRechecksAccountAndApprovals lets what made a payout pending be undone
// without an error: nothing goes out.
func TestReleaseRechecksAccountAndApprovals(t *testing.T) {
	t.Parallel()
	for reason, undo := range map[string]string{
		"payout_method_unverified": "update payout_methods set status = 'replaced'",
		"approval_required":        "update payouts set approvals_needed = 1",
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t, modeltest.WithoutChecks())
			claim := modeltest.NewApprovedClaim(b)
			b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
			b.RunAccountChecks()
			payout := modeltest.OnlyPayout(t, b, claim)
			_, err := b.DB.Pool.Exec(t.Context(), undo)
			require.NoError(t, err)
			order, wait, err := b.Service.Releases.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", payout.ID)
			require.NoError(t, err)
			require.Nil(t, order)
			require.Zero(t, wait)
			require.Equal(t, reason, *modeltest.OnlyPayout(t, b, claim).BlockedReason)
		})
	}
}

// TestDefiniteOutcomeOfACallIsKept lets later words about the same call come in every
// order: doubt gives way to what is definite, and nothing else does.
func TestDefiniteOutcomeOfACallIsKept(t *testing.T) {
	t.Parallel()
	nothing := payouts.RailAnswer{Outcome: payouts.OutcomeNotSent}
	for _, test := range []struct {
		first, second payouts.RailAnswer
		kept          string
	}{
		{modeltest.Unknown, modeltest.Accepted, "accepted"},
		{modeltest.Unknown, modeltest.Refused, "refused"},
		{modeltest.Accepted, modeltest.Unknown, "accepted"},
		{modeltest.Accepted, modeltest.Refused, "accepted"},
		{modeltest.Accepted, nothing, "accepted"},
		{modeltest.Refused, modeltest.Unknown, "refused"},
		{modeltest.Refused, nothing, "refused"},
		{modeltest.Refused, modeltest.Accepted, "refused"},
	} {
		b, begin, end := inDoubt(t)
		order := begin()
		end(order, test.first)
		end(order, test.second)
		var kept string
		require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select outcome from payout_attempts").Scan(&kept))
		require.Equal(t, test.kept, kept, "%s, then %s", test.first.Outcome, test.second.Outcome)
	}
}

// TestEvidenceEndsEveryCallUnderTheKey resolves a payout as never received after several
// calls: not while any of them may be sending, not against one that was accepted, and
// then all of them are ended.
func TestEvidenceEndsEveryCallUnderTheKey(t *testing.T) {
	t.Parallel()
	b, begin, end := inDoubt(t)
	begin() // its worker dies
	b.AdvanceClock(time.Minute)
	order := begin()
	end(order, modeltest.Unknown)
	payout, err := b.Service.Claims.GetPayout(t.Context(), b.Acme, order.PayoutID)
	require.NoError(t, err)
	for _, stands := range []string{
		"update payout_attempts set started_at = business_now() where number = 1",
		"update payout_attempts set outcome = 'accepted', ended_at = started_at where number = 1",
	} {
		_, err := b.DB.Pool.Exec(t.Context(), stands)
		require.NoError(t, err)
		_, err = modeltest.ResolvePayout(t, b, *payout, claims.PayoutBlocked, "", false)
		require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code, stands)
	}
	_, err = b.DB.Pool.Exec(t.Context(), "update payout_attempts set outcome = null, ended_at = null, started_at = business_now() - interval '61 seconds' where number = 1")
	require.NoError(t, err)
	_, err = modeltest.ResolvePayout(t, b, *payout, claims.PayoutBlocked, "", false)
	require.NoError(t, err)
	var ended int
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select count(*) from payout_attempts where outcome = 'refused' and code = 'evidence' and ended_at is not null").Scan(&ended))
	require.Equal(t, 2, ended)

	late, err := b.Service.Releases.EndRelease(t.Context(), modeltest.RailName, order, modeltest.Accepted)
	require.NoError(t, err)
	require.True(t, late.Mismatch, "the money had moved after all")
	require.True(t, late.Contradiction)
}
