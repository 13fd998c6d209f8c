package payouts_test

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/model/account"
	"parapet/model/events"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

func TestRoutingNumberIsNeverShown(t *testing.T) {
	t.Parallel()
	const routing = "021000021"
	b := modeltest.New(t)
	claim := modeltest.NewClaimAboveApprovalLimit(b)
	in := modeltest.IBANMethod(claim.ID)
	in.Number = account.Number{Type: account.TypeUSBankAccount, USBankAccount: &account.USBankAccount{
		RoutingNumber: routing, AccountNumber: "000123456789", AccountType: account.Checking,
	}}
	recorded := b.RecordPayoutMethod(in)
	b.RunAccountChecks()
	b.Relay()
	shown := func() string {
		read := modeltest.Must(b.Service.Payouts.GetMethod(t.Context(), b.Acme, recorded.ID))
		require.Equal(t, "6789", read.Display.Last4)
		approval := approvalOf(t, b, modeltest.OnlyPayout(t, b, claim))
		require.Equal(t, recorded.ID, approval.PayoutMethod.PayoutMethodID)
		text, err := json.Marshal([]any{read, approval})
		require.NoError(t, err)
		return string(text)
	}
	require.NotContains(t, shown(), routing)
	require.Nil(t, recorded.Display.Institution)
	page := modeltest.Must(b.Service.Events.List(t.Context(), b.Acme, events.Filter{}, store.PageRequest{Limit: 100}))
	text, err := json.Marshal(page.Data)
	require.NoError(t, err)
	require.Contains(t, string(text), recorded.ID)
	require.NotContains(t, string(text), routing)
	var stored int
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select count(*) from payout_methods m where m::text like '%"+routing+"%'").Scan(&stored))
	require.Zero(t, stored)

	_, err = b.DB.Pool.Exec(t.Context(), "update payout_methods set institution = $1 where type = 'us_bank_account'", routing) // as earlier releases stored it
	require.NoError(t, err)
	require.NotContains(t, shown(), routing)
}
