package payouts

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"parapet/model/claims"
)

func TestReplacedMethodIsNotSelected(t *testing.T) {
	t.Parallel()
	claim := uuid.New()
	for status, selected := range map[MethodStatus]bool{MethodVerified: true, MethodPending: true, MethodReplaced: false, MethodRejected: false} {
		require.Equal(t, selected, SelectMethod([]*PayoutMethodRow{{Status: status}}, claim) != nil, status)
	}
}

// method is a method of a claim, or of the policy without one.
func method(status MethodStatus, claim *uuid.UUID) *PayoutMethodRow {
	m := &PayoutMethodRow{Status: status, ClaimID: claim}
	m.ID = uuid.New()
	return m
}

func TestVerifiedThenOwnThenNewestMethodIsSelected(t *testing.T) {
	t.Parallel()
	claim, another := uuid.New(), uuid.New()
	for name, methods := range map[string][]*PayoutMethodRow{ // the last one is selected in any order, unless equal
		"verified of the policy before the claim's own": {method(MethodPending, &claim), method(MethodVerified, nil)},
		"the claim's own of verified ones":              {method(MethodVerified, nil), method(MethodVerified, &claim)},
		"the claim's own of pending ones":               {method(MethodPending, nil), method(MethodPending, &claim)},
		"none of another claim":                         {method(MethodVerified, &another), method(MethodPending, nil)},
		"none that was replaced":                        {method(MethodReplaced, &claim), method(MethodRejected, &claim), method(MethodPending, nil)},
	} {
		last := methods[len(methods)-1]
		require.Same(t, last, SelectMethod(methods, claim), name)
		turned := append([]*PayoutMethodRow{last}, methods[:len(methods)-1]...)
		require.Same(t, last, SelectMethod(turned, claim), name)
	}
	older, newer := method(MethodVerified, &claim), method(MethodVerified, &claim)
	require.Same(t, newer, SelectMethod([]*PayoutMethodRow{older, newer}, claim), "the newest of equals")
	require.Nil(t, SelectMethod([]*PayoutMethodRow{method(MethodVerified, &another)}, claim))
	require.Nil(t, SelectMethod(nil, claim))
}

func TestMethodOncePendingChecksSucceed(t *testing.T) {
	t.Parallel()
	claim := uuid.New()
	own, policys := method(MethodPending, &claim), method(MethodVerified, nil)
	methods := []*PayoutMethodRow{own, policys}
	require.Same(t, policys, SelectMethod(methods, claim))
	require.Same(t, own, selectMethodOnceVerified(methods, claim))
	require.Equal(t, MethodPending, own.Status, "the rows are not changed")
	require.Nil(t, selectMethodOnceVerified(nil, claim))
}

// A replacement hides an account from before the return until an operator approves it.
func TestMethodThatAWaitingPayoutShows(t *testing.T) {
	t.Parallel()
	was, to := method(MethodVerified, nil), method(MethodVerified, nil)
	replaced := uuid.New()
	row := func(of *claims.PayoutRow) *claims.PayoutRow { of.PayoutMethodID = &was.ID; return of }
	blocked := releaseCheck{blocked: claims.BlockedApproval}
	first, again := row(&claims.PayoutRow{}), row(&claims.PayoutRow{ReplacesPayoutID: &replaced})
	again.CreatedAt = to.CreatedAt.Add(1)
	for name, tc := range map[string]struct {
		row    *claims.PayoutRow
		method *PayoutMethodRow
		check  releaseCheck
		shown  *uuid.UUID
	}{
		"after a rejection":                  {first, to, releaseCheck{blocked: claims.BlockedRailRejected}, &was.ID},
		"without a method":                   {first, nil, releaseCheck{blocked: claims.BlockedMethodMissing}, nil},
		"of a first payout":                  {first, to, blocked, &to.ID},
		"of a replacement, older account":    {again, to, blocked, nil},
		"of a replacement, approved":         {again, to, releaseCheck{blocked: claims.BlockedApproval, approved: true}, &to.ID},
		"of a replacement, nothing blocks":   {again, to, releaseCheck{}, &to.ID},
		"of a replacement, the same account": {again, was, blocked, &was.ID},
	} {
		require.Equal(t, tc.shown, visibleMethodID(tc.row, tc.method, tc.check), name)
	}
	again.CreatedAt = to.CreatedAt
	require.Equal(t, &to.ID, visibleMethodID(again, to, blocked), "an account that was recorded after the return is shown")
}
