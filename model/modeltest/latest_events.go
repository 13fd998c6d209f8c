package modeltest

import (
	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// derivedMembers are the members that depend on time or on other records, whose own
// events report them.
var derivedMembers = map[string][]string{
	"quote":  {"moratorium"},
	"policy": {"cover_phase", "claims", "claims_count"},
	"claim":  {"payouts", "payouts_count", "measurement_state"},
}

// checkLatestEvents checks that the last event of a record equals the record as it is
// read now, so that a reader of the feed has complete data.
func (b *Bundle) checkLatestEvents(histories map[string][]storedEvent) {
	b.t.Helper()
	for _, history := range histories {
		last := history[len(history)-1]
		record := b.readRecord(last)
		if record == nil {
			continue
		}
		text, err := wire.Encode(record)
		require.NoError(b.t, err)
		require.Equal(b.t, b.comparableMembers(last.Object.Object, last.raw), b.comparableMembers(last.Object.Object, text), "%s after %s", last.Object.ID, last.Type)
	}
}

func (b *Bundle) comparableMembers(kind string, text []byte) map[string]any {
	b.t.Helper()
	var members map[string]any
	require.NoError(b.t, json.Unmarshal(text, &members))
	for _, name := range derivedMembers[kind] {
		delete(members, name)
	}
	return members
}

// readRecord returns a record as its partner reads it; nil for types that are read
// inside others.
func (b *Bundle) readRecord(last storedEvent) (record any) {
	b.t.Helper()
	var err error
	switch id := last.Object.ID; last.Object.Object {
	case "quote":
		record, err = b.Service.Quotes.Get(b.ctx, b.Operator, id)
	case "policy":
		record, err = b.Service.Policies.Get(b.ctx, b.Operator, id)
	case "claim":
		record, err = b.Service.Claims.Get(b.ctx, b.Operator, id)
	case "payout":
		record, err = b.Service.Claims.GetPayout(b.ctx, b.Operator, id)
	case "payout_method":
		return b.readPayoutMethod(last)
	}
	require.NoError(b.t, err)
	return record
}

// readPayoutMethod reads a payout method as partners do, with a claim; nil for a
// policy's method before there is any claim.
func (b *Bundle) readPayoutMethod(last storedEvent) any {
	b.t.Helper()
	var of struct {
		ClaimID  *string `json:"claim_id"`
		PolicyID *string `json:"policy_id"`
	}
	require.NoError(b.t, json.Unmarshal(last.raw, &of))
	if of.ClaimID == nil {
		policy, err := b.Service.Policies.Get(b.ctx, b.Operator, *of.PolicyID)
		require.NoError(b.t, err)
		if len(policy.Claims) == 0 {
			return nil
		}
		of.ClaimID = &policy.Claims[0].ID
	}
	list, err := b.Service.Payouts.GetMethods(b.ctx, b.Operator, *of.ClaimID, store.PageRequest{Limit: store.MaxPageSize})
	require.NoError(b.t, err)
	for i := range list.Data {
		if list.Data[i].ID == last.Object.ID {
			return list.Data[i]
		}
	}
	require.Fail(b.t, "a payout method that no claim lists", last.Object.ID)
	return nil
}
