package payouts

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"parapet/model/account"
	"parapet/model/claims"
	"parapet/model/kernel/apperr"
	"parapet/model/ledger"
	"parapet/model/underwriting"
)

func TestTransfersOfAPayoutFollowItsStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[claims.PayoutStatus]string{
		"pending": "claims_incurred>reserve", "blocked": "claims_incurred>reserve", "releasing": "claims_incurred>reserve", "reconciling": "claims_incurred>reserve",
		"released": "claims_incurred>rail_clearing", "reconciled": "claims_incurred>payout", "returned": "return>payout", "cancelled": ">",
	} {
		got := LedgerTransfer(&claims.PayoutRow{Status: status})
		require.Equal(t, want, string(got.Debit)+">"+string(got.Credit), status)
		settled := LedgerTransfer(&claims.PayoutRow{Status: status, SettledExternally: true})
		if status == claims.PayoutCancelled {
			require.Equal(t, ledger.Transfer{Debit: ledger.AccountClaimsIncurred, Credit: ledger.AccountPayout}, settled)
		} else {
			require.Equal(t, got, settled, status)
		}
	}
}

func TestDigestOfAnApprovalCoversAmountAndBeneficiary(t *testing.T) {
	t.Parallel()
	row := &claims.PayoutRow{ClaimID: uuid.New(), Amount: 100, Currency: "USD"}
	row.ID = uuid.New()
	to := method(MethodVerified, nil)
	to.Fingerprint = "f1"
	digest := ApprovalDigest(row, to)
	require.Regexp(t, `^[0-9a-f]{64}$`, digest)
	for name, change := range map[string]func(*claims.PayoutRow, *PayoutMethodRow){
		"payout":      func(r *claims.PayoutRow, _ *PayoutMethodRow) { r.ID = uuid.New() },
		"claim":       func(r *claims.PayoutRow, _ *PayoutMethodRow) { r.ClaimID = uuid.New() },
		"amount":      func(r *claims.PayoutRow, _ *PayoutMethodRow) { r.Amount++ },
		"currency":    func(r *claims.PayoutRow, _ *PayoutMethodRow) { r.Currency = "EUR" },
		"method":      func(_ *claims.PayoutRow, m *PayoutMethodRow) { m.ID = uuid.New() },
		"fingerprint": func(_ *claims.PayoutRow, m *PayoutMethodRow) { m.Fingerprint = "f2" },
	} {
		other, account := *row, *to
		change(&other, &account)
		require.NotEqual(t, digest, ApprovalDigest(&other, &account), name)
	}
	later := *row
	later.Version, later.Status, later.Attempts = 9, claims.PayoutBlocked, 3
	require.Equal(t, digest, ApprovalDigest(&later, to), "what happened to it meanwhile does not matter")
}

func TestCoolingOffEndsAtItsTime(t *testing.T) {
	t.Parallel()
	end := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	m := &PayoutMethodRow{CoolingOffUntil: &end}
	require.True(t, m.inCoolingOff(end.Add(-time.Nanosecond)))
	require.False(t, m.inCoolingOff(end))
	require.False(t, new(PayoutMethodRow).inCoolingOff(end))
}

func TestClaimIsFullyPaidByConfirmedPayoutsOnly(t *testing.T) {
	t.Parallel()
	owes := &claims.ClaimRow{Amount: new(int64(300))}
	part := func(amount int64, status claims.PayoutStatus, settled bool) *claims.PayoutRow {
		return &claims.PayoutRow{Amount: amount, Status: status, SettledExternally: settled}
	}
	for name, tc := range map[string]struct {
		payouts []*claims.PayoutRow
		paid    bool
	}{
		"none":                 {nil, false},
		"in two parts":         {[]*claims.PayoutRow{part(100, "reconciled", false), part(200, "reconciled", false)}, true},
		"one only released":    {[]*claims.PayoutRow{part(100, "reconciled", false), part(200, "released", false)}, false},
		"one settled":          {[]*claims.PayoutRow{part(100, "reconciled", false), part(200, "cancelled", true)}, true},
		"a returned one again": {[]*claims.PayoutRow{part(300, "returned", false), part(300, "reconciled", false)}, true},
		"twice":                {[]*claims.PayoutRow{part(300, "reconciled", false), part(300, "reconciled", false)}, false},
	} {
		require.Equal(t, tc.paid, IsFullyPaid(owes, tc.payouts), name)
	}
	require.False(t, IsFullyPaid(&claims.ClaimRow{}, nil), "a claim that owes nothing yet is not paid")
}

func TestPayoutsThatCanBeSent(t *testing.T) {
	t.Parallel()
	for status, sendable := range map[claims.PayoutStatus]bool{
		"pending": true, "blocked": true, "releasing": false, "reconciling": false, "released": false, "reconciled": false, "returned": false, "cancelled": false,
	} {
		row := &claims.PayoutRow{Status: status}
		if status == claims.PayoutBlocked {
			row.BlockedReason = new(claims.BlockedApproval)
		}
		err := checkReleasable(row)
		require.Equal(t, sendable, err == nil, status)
		if err != nil {
			require.ErrorContains(t, err, "The payout is "+string(status)+"; only a pending or blocked one can be sent.")
		}
	}
	err := checkReleasable(&claims.PayoutRow{Status: claims.PayoutBlocked, BlockedReason: new(claims.BlockedRailMismatch)})
	require.ErrorContains(t, err, "resolve that first")
}

func TestEveryBlockedPayoutSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	said := map[string]bool{}
	for _, reason := range []claims.BlockedReason{
		claims.BlockedMethodMissing, claims.BlockedMethodUnverified, claims.BlockedApproval, claims.BlockedRailRejected,
		claims.BlockedRailMismatch, claims.BlockedCompliance, claims.BlockedOperator,
	} {
		sentence := BlockedSentence(reason)
		require.True(t, strings.HasSuffix(sentence, "."), reason)
		require.False(t, said[sentence], reason)
		said[sentence] = true
		held := reason == claims.BlockedOperator || reason == claims.BlockedCompliance
		require.Equal(t, held, IsHeld(&claims.PayoutRow{BlockedReason: &reason}), reason)
	}
	require.False(t, IsHeld(&claims.PayoutRow{}))
}

func TestMethodIsForWhatIsOwedInThePolicysCurrency(t *testing.T) {
	t.Parallel()
	p := &underwriting.PolicyRow{Currency: "USD"}
	require.NoError(t, checkPayable(p, nil, "USD"))
	for _, claim := range []*claims.ClaimRow{nil, {Status: claims.ClaimApproved}} {
		var refused *apperr.Error
		require.ErrorAs(t, checkPayable(p, claim, "EUR"), &refused)
		require.Equal(t, "Use the policy's currency, USD.", refused.Fields[0].Detail)
	}
	for status, owed := range map[claims.ClaimStatus]bool{"opened": true, "deferred": true, "approved": true, "declined": false, "withdrawn": false, "closed": false} {
		err := checkPayable(p, &claims.ClaimRow{Status: status}, "USD")
		require.Equal(t, owed, err == nil, status)
		if err != nil {
			require.ErrorContains(t, err, "The claim is "+string(status)+"; nothing is owed for it.")
		}
	}
}

func TestMethodRequestNamesOneClaimOrPolicy(t *testing.T) {
	t.Parallel()
	valid := MethodRequest{
		ClaimID: new("clm_"), Currency: "USD", Beneficiary: account.Beneficiary{Name: "Lin", Country: "TW"},
		Number: account.Number{Type: account.TypeIBAN, IBAN: &account.IBAN{IBAN: "DE89370400440532013000"}},
	}
	for name, tc := range map[string]struct {
		change   func(*MethodRequest)
		unparsed []apperr.FieldError
		faults   []string
	}{
		"a claim":            {func(*MethodRequest) {}, nil, nil},
		"a policy":           {func(in *MethodRequest) { in.ClaimID, in.PolicyID = nil, new("pol_") }, nil, nil},
		"both":               {func(in *MethodRequest) { in.PolicyID = new("pol_") }, nil, []string{"/claim_id one_of"}},
		"neither":            {func(in *MethodRequest) { in.ClaimID = nil }, nil, []string{"/claim_id one_of"}},
		"an unparsed policy": {func(in *MethodRequest) { in.ClaimID = nil }, []apperr.FieldError{apperr.NewFieldError("/policy_id", "type", "Use a string.")}, nil},
		"no currency":        {func(in *MethodRequest) { in.Currency = "usd" }, nil, []string{"/currency value"}},
		"no name":            {func(in *MethodRequest) { in.Beneficiary.Name = "" }, nil, []string{"/beneficiary/name required"}},
		"no number":          {func(in *MethodRequest) { in.Number.IBAN = nil }, nil, []string{"/iban required"}},
	} {
		in := valid
		tc.change(&in)
		v := apperr.Validator{Unparsed: tc.unparsed}
		in.validate(&v)
		var faults []string
		for _, f := range v.FieldErrors {
			faults = append(faults, f.Pointer+" "+f.Code)
		}
		require.Equal(t, tc.faults, faults, name)
	}
}
