package claims_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims/adjudication"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// livedPolicy returns an expired policy with five claims whose timelines overlap.
func livedPolicy(t *testing.T, b *modeltest.Bundle) *wire.Policy {
	t.Helper()
	policy := b.QuoteAndBind("quake-circle", nil)
	waiting := modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	var asked []string
	for range 3 {
		b.AdvanceClock(time.Minute)
		claim, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, adjudication.ClaimRequest{PolicyID: policy.ID})
		require.NoError(t, err)
		asked = append(asked, claim.ID)
	}
	modeltest.ObserveQuake(b, "us2", "6.4", trigger.Final)
	modeltest.ReportFinal(b, waiting, "5.4")
	for _, claim := range asked {
		_, err := b.Service.Claims.AddMessage(t.Context(), b.Acme, claim, "The wall fell.")
		require.NoError(t, err)
	}
	for _, claim := range slices.Backward(asked) {
		_, err := b.Service.Adjudication.Withdraw(t.Context(), b.Acme, adjudication.WithdrawalRequest{ClaimID: claim})
		require.NoError(t, err)
	}
	b.AdvanceClock(2 * 365 * 24 * time.Hour)
	b.Sweep()
	return b.Policy(policy.ID)
}

func TestPolicyTimelineMergesItsChangesAndItsClaims(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := livedPolicy(t, b)
	b.QuoteAndBind("quake-circle", nil) // the timeline does not contain the history of another policy
	page, err := b.Service.Claims.GetPolicyTimeline(t.Context(), b.Acme, policy.ID, store.PageRequest{Limit: store.MaxPageSize})
	require.NoError(t, err)
	require.False(t, page.HasMore)
	whole := page.Data
	require.True(t, slices.IsSortedFunc(whole, func(a, b wire.TimelineEntry) int { return a.At.Compare(b.At) }))
	own, of := map[string]wire.TimelineEntry{}, map[string][]wire.TimelineEntry{}
	for _, entry := range whole {
		if entry.ClaimID == nil {
			require.Equal(t, int64(len(own)+1), entry.Sequence, "its own changes are numbered without gaps")
			own[entry.Kind] = entry
			continue
		}
		of[*entry.ClaimID] = append(of[*entry.ClaimID], entry)
	}
	require.Len(t, of, 5)
	for claim, entries := range of {
		require.Equal(t, b.Timeline(claim), entries)
	}
	require.Len(t, own, 3)
	require.Equal(t, "policy.activated", whole[0].Kind)
	require.Equal(t, wire.Actor{Kind: "partner", Name: "acme"}, whole[0].Actor)
	require.Equal(t, "The policy was bound: up to 100,000.00 USD from "+policy.EffectiveAt.Format(time.RFC3339)+" to "+policy.ExpiresAt.Format(time.RFC3339)+".", whole[0].Summary)
	require.Equal(t, "80,000.00 USD of the limit of 100,000.00 USD remains.", own["policy.updated"].Summary)
	require.Equal(t, wire.Actor{Kind: "system", Name: "parapet"}, own["policy.updated"].Actor)
	require.JSONEq(t, `{"status": "active", "limit_remaining": {"amount": 8000000, "currency": "USD"}}`, string(own["policy.updated"].Data))
	updated := slices.IndexFunc(whole, func(e wire.TimelineEntry) bool { return e.Kind == "policy.updated" })
	require.Equal(t, "claim.approved", whole[updated-1].Kind, "cause before effect")
	require.Equal(t, "policy.expired", whole[len(whole)-1].Kind)
	require.Equal(t, "Cover ended at "+policy.ExpiresAt.Format(time.RFC3339)+".", whole[len(whole)-1].Summary)
	total, more, err := page.Total(t.Context())
	require.NoError(t, err)
	require.Equal(t, len(whole), total)
	require.False(t, more)
}

func TestPolicyTimelinePagesMeetWithoutGaps(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := livedPolicy(t, b)
	read := func(in store.PageRequest) *store.Page[wire.TimelineEntry] {
		page, err := b.Service.Claims.GetPolicyTimeline(t.Context(), b.Acme, policy.ID, in)
		require.NoError(t, err)
		return page
	}
	whole := read(store.PageRequest{Limit: store.MaxPageSize}).Data
	require.Greater(t, len(whole), 15)
	for _, limit := range []int{1, 2, 3, 7} {
		var met []wire.TimelineEntry
		for in := (store.PageRequest{Limit: limit}); ; {
			page := read(in)
			met = append(met, page.Data...)
			if !page.HasMore {
				break
			}
			in.Cursor = *page.NextCursor
		}
		require.Equal(t, whole, met)
	}
	for n := 1; n < len(whole); n++ {
		require.Equal(t, whole[len(whole)-n:], read(store.PageRequest{Limit: n, Last: true}).Data)
	}
}

func TestPolicyTimelineNamesWhoCancelled(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	byOperator := b.QuoteAndBind("quake-circle", nil)
	byPartner := b.QuoteAndBind("quake-circle", modeltest.Context{"starts_at": b.Now().AddDate(0, 0, 2).Format(time.RFC3339)})
	_, err := b.Service.Policies.Cancel(t.Context(), b.Operator, modeltest.NewCancellation(byOperator))
	require.NoError(t, err)
	_, err = b.Service.Policies.Cancel(t.Context(), b.Acme, underwriting.CancellationRequest{PolicyID: byPartner.ID})
	require.NoError(t, err)
	pages, err := b.Service.Claims.TimelinesByPolicy(t.Context(), b.Operator, []string{byOperator.ID, byPartner.ID}, store.PageRequest{Limit: 5})
	require.NoError(t, err)
	for policy, actor := range map[string]wire.Actor{byOperator.ID: {Kind: "operator", Name: "parapet"}, byPartner.ID: {Kind: "partner", Name: "acme"}} {
		entries := pages[policy].Data
		require.Len(t, entries, 2)
		require.Equal(t, "policy.cancelled", entries[1].Kind)
		require.Equal(t, actor, entries[1].Actor)
		require.Equal(t, "The policy was cancelled.", entries[1].Summary)
	}
}

func TestPolicyTimelineSaysHowCoverEnded(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	exhausted := b.QuoteAndBind("quake-circle", nil)
	modeltest.ObserveQuake(b, "us1", "7.4", trigger.Final)
	cancelled := b.QuoteAndBind("quake-circle", nil)
	_, err := b.Service.Policies.Cancel(t.Context(), b.Operator, modeltest.NewCancellation(cancelled))
	require.NoError(t, err)
	b.AdvanceClock(2 * 365 * 24 * time.Hour)
	b.Sweep()
	for policy, says := range map[string]string{exhausted.ID: "The limit of 100,000.00 USD is used up.", cancelled.ID: "The policy was archived: it accepts no more claims."} {
		page, err := b.Service.Claims.GetPolicyTimeline(t.Context(), b.Acme, policy, store.PageRequest{})
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(page.Data, func(e wire.TimelineEntry) bool { return e.ClaimID == nil && e.Summary == says }), says)
	}
}

func TestPolicyTimelineIsForItsPartner(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	read := func(actor actor.Actor, id string, in store.PageRequest) *apperr.Error {
		_, err := b.Service.Claims.GetPolicyTimeline(t.Context(), actor, id, in)
		return modeltest.DomainError(t, err)
	}
	require.Equal(t, apperr.CodeNotFound, read(b.Globex, policy.ID, store.PageRequest{}).Code)
	require.Equal(t, apperr.CodeNotFound, read(b.Acme, "pol_x", store.PageRequest{}).Code)
	blind := b.Acme
	blind.Scopes = []actor.Scope{actor.ScopeClaimsRead}
	require.Equal(t, apperr.CodeInsufficientScope, read(blind, policy.ID, store.PageRequest{}).Code)
	other := livedPolicy(t, b)
	page, err := b.Service.Claims.GetPolicyTimeline(t.Context(), b.Acme, other.ID, store.PageRequest{Limit: 1})
	require.NoError(t, err)
	require.Equal(t, apperr.CodeCursorInvalid, read(b.Acme, policy.ID, store.PageRequest{Cursor: *page.NextCursor}).Code, "the cursor of another policy")
}
