package claims_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims/adjudication"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// collect reads a list page by page, one record each.
func collect[T any](t *testing.T, read func(store.PageRequest) (*store.Page[T], error)) (all []T) {
	t.Helper()
	page := store.PageRequest{Limit: 1}
	for {
		list, err := read(page)
		require.NoError(t, err)
		all = append(all, list.Data...)
		if !list.HasMore {
			return all
		}
		page.Cursor = *list.NextCursor
	}
}

// claimsOfTwoPartners returns an opened, an approved and a withdrawn claim of Acme, and
// one of Globex.
func claimsOfTwoPartners(t *testing.T, b *modeltest.Bundle) (opened, approved, withdrawn, theirs *wire.Claim) {
	t.Helper()
	policy := b.QuoteAndBind("quake-circle", nil)
	openForApproval(b, policy)
	_, err := b.Service.Adjudication.Withdraw(t.Context(), b.Acme, adjudication.WithdrawalRequest{ClaimID: openForApproval(b, policy).ID})
	require.NoError(t, err)
	modeltest.ObserveQuake(b, "us1", "6.4", trigger.Final)
	all := b.Claims(policy)
	other := b.ActingAs(b.Globex).QuoteAndBind("cyclone-circle", nil)
	theirs, _, err = b.Service.Adjudication.Open(t.Context(), b.Globex, adjudication.ClaimRequest{PolicyID: other.ID})
	require.NoError(t, err)
	return all[0], all[2], all[1], theirs
}

func TestClaimsAreListedForTheirPartnerNewestFirst(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	opened, approved, withdrawn, theirs := claimsOfTwoPartners(t, b)
	service := b.Service.Claims
	list := func(who actor.Actor, f store.Filter) (ids []string) {
		for _, c := range collect(t, func(page store.PageRequest) (*store.Page[wire.Claim], error) {
			return service.List(t.Context(), who, f, page)
		}) {
			one, err := service.Get(t.Context(), who, c.ID)
			require.NoError(t, err)
			require.Equal(t, *one, c)
			ids = append(ids, c.ID)
		}
		return ids
	}
	require.Equal(t, []string{approved.ID, withdrawn.ID, opened.ID}, list(b.Acme, store.Filter{}))
	require.Equal(t, []string{theirs.ID}, list(b.Globex, store.Filter{}))
	require.Equal(t, []string{theirs.ID, approved.ID, withdrawn.ID, opened.ID}, list(b.Operator, store.Filter{}))
	require.Equal(t, []string{theirs.ID}, list(b.Operator, store.Filter{Product: "cyclone-circle"}))
	for status, want := range map[string]string{"opened": opened.ID, "approved": approved.ID, "withdrawn": withdrawn.ID} {
		require.Equal(t, []string{want}, list(b.Acme, store.Filter{Status: status}), status)
	}
	_, err := service.List(t.Context(), b.Acme, store.Filter{Status: "paid"}, store.PageRequest{})
	require.Equal(t, apperr.CodeParameterInvalid, modeltest.DomainError(t, err).Code)

	many, err := service.ByID(t.Context(), b.Acme, []string{opened.ID, theirs.ID, "clm_", approved.ID})
	require.NoError(t, err)
	require.Len(t, many, 2, "those of the partner")
	pages, err := service.ClaimsOf(t.Context(), b.Acme, []string{opened.PolicyID, theirs.PolicyID}, store.PageRequest{Limit: 2})
	require.NoError(t, err)
	require.Equal(t, []string{approved.ID, withdrawn.ID}, []string{pages[opened.PolicyID].Data[0].ID, pages[opened.PolicyID].Data[1].ID})
	require.True(t, pages[opened.PolicyID].HasMore)
	require.Empty(t, pages[theirs.PolicyID].Data)
}

func TestPayoutsOfAClaimAreListedWithTheirScope(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	_, approved, opened, theirs := claimsOfTwoPartners(t, b)
	service := b.Service.Claims
	payout := modeltest.OnlyPayout(t, b, approved)
	for name, scopes := range map[string][]actor.Scope{"payouts:read": {actor.ScopePayoutsRead}, "claims:read": {actor.ScopeClaimsRead}} {
		who := b.Acme
		who.Scopes = scopes
		got, err := service.GetPayout(t.Context(), who, payout.ID)
		require.NoError(t, err, name)
		require.Equal(t, payout, *got)
		listed, err := service.GetPayouts(t.Context(), who, approved.ID, store.PageRequest{})
		require.NoError(t, err, name)
		require.Equal(t, []wire.Payout{payout}, listed.Data)
	}
	who := b.Acme
	who.Scopes = []actor.Scope{actor.ScopePoliciesRead}
	_, err := service.GetPayout(t.Context(), who, payout.ID)
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code)
	for name, of := range map[string]store.Filter{
		"policy": {PolicyID: approved.PolicyID}, "status": {Status: "blocked"}, "all": {},
	} {
		listed, err := service.ListPayouts(t.Context(), b.Acme, of, store.PageRequest{})
		require.NoError(t, err, name)
		require.Equal(t, []wire.Payout{payout}, listed.Data, name)
	}
	for name, of := range map[string]store.Filter{"another policy": {PolicyID: theirs.PolicyID}, "another status": {Status: "released"}} {
		listed, err := service.ListPayouts(t.Context(), b.Operator, of, store.PageRequest{})
		require.NoError(t, err, name)
		require.Empty(t, listed.Data, name)
	}
	none, err := service.GetPayouts(t.Context(), b.Acme, opened.ID, store.PageRequest{})
	require.NoError(t, err)
	require.Empty(t, none.Data)
	_, err = service.GetPayouts(t.Context(), b.Globex, approved.ID, store.PageRequest{})
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)
	_, err = service.GetPayout(t.Context(), b.Globex, payout.ID)
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)
	many, err := service.PayoutsByID(t.Context(), b.Globex, []string{payout.ID})
	require.NoError(t, err)
	require.Empty(t, many)
}

func TestMessagesAndDocumentsOfSeveralClaims(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	first, second, _, theirs := claimsOfTwoPartners(t, b)
	service := b.Service.Claims
	for _, on := range []*wire.Claim{first, second, first} {
		_, err := service.AddMessage(t.Context(), b.Acme, on.ID, "about "+on.ID)
		require.NoError(t, err)
		_, err = service.AddAttachment(t.Context(), b.Acme, on.ID, modeltest.NewAttachment("a.txt", "text/plain", on.ID))
		require.NoError(t, err)
	}
	answer, err := service.AddMessage(t.Context(), b.Operator, first.ID, "We look into it.")
	require.NoError(t, err)
	require.Equal(t, "operator", answer.Author.Kind)
	ids := []string{first.ID, second.ID, theirs.ID}
	messages, err := service.MessagesByClaim(t.Context(), b.Acme, ids, store.PageRequest{})
	require.NoError(t, err)
	documents, err := service.AttachmentsOf(t.Context(), b.Acme, ids, store.PageRequest{})
	require.NoError(t, err)
	for claim, want := range map[string][]int{first.ID: {3, 2}, second.ID: {1, 1}, theirs.ID: {0, 0}} {
		require.Equal(t, want, []int{len(messages[claim].Data), len(documents[claim].Data)})
		alone := collect(t, func(page store.PageRequest) (*store.Page[wire.Message], error) {
			if claim == theirs.ID {
				return &store.Page[wire.Message]{}, nil
			}
			return service.GetMessages(t.Context(), b.Acme, claim, page)
		})
		require.ElementsMatch(t, messages[claim].Data, alone)
		require.True(t, slices.IsSortedFunc(messages[claim].Data, func(a, b wire.Message) int { return strings.Compare(a.ID, b.ID) }), "oldest first")
		require.True(t, slices.IsSortedFunc(documents[claim].Data, func(a, b wire.Attachment) int { return strings.Compare(b.ID, a.ID) }), "newest first")
	}
	many, err := service.MessagesByID(t.Context(), b.Globex, []string{answer.ID})
	require.NoError(t, err)
	require.Empty(t, many)
	document := documents[second.ID].Data[0]
	_, _, err = service.OpenAttachment(t.Context(), b.Acme, first.ID, document.ID)
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code, "a document is opened under its own claim only")
	by, err := service.AttachmentsByID(t.Context(), b.Acme, []string{document.ID, "att_"})
	require.NoError(t, err)
	require.Equal(t, document, *by[document.ID])
	require.Len(t, by, 1)
	modeltest.ExecSQL(t, b, "update attachments set storage_key = ''")
	_, _, err = service.OpenAttachment(t.Context(), b.Acme, second.ID, document.ID)
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code, "an erased document")
}

func TestTimelineEntryHasItsActorTextAndEvent(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := openForApproval(b, b.QuoteAndBind("quake-circle", nil))
	before := b.Now()
	b.AdvanceClock(time.Hour)
	message, err := b.Service.Claims.AddMessage(t.Context(), b.Acme, claim.ID, "The wall fell.")
	require.NoError(t, err)
	document, err := b.Service.Claims.AddAttachment(t.Context(), b.Acme, claim.ID, modeltest.NewAttachment("wall.txt", "text/plain", "x"))
	require.NoError(t, err)
	entries := b.Timeline(claim.ID)
	require.Len(t, entries, 3)
	sent, added := entries[1], entries[2]
	require.Equal(t, []string{"claim.message_added", "A message was added.", `{"message_id":"` + message.ID + `"}`}, []string{sent.Kind, sent.Summary, string(sent.Data)})
	require.Equal(t, []string{"claim.attachment_added", "The document wall.txt was added."}, []string{added.Kind, added.Summary})
	require.Contains(t, string(added.Data), document.ID)
	require.Equal(t, []int64{2, 3}, []int64{sent.Sequence, added.Sequence})
	require.Equal(t, wire.Actor{Kind: "partner", Name: "acme-client"}, sent.Actor)
	require.Equal(t, claim.ID, *sent.ClaimID)
	require.False(t, sent.At.Before(before.Add(time.Hour)))
	require.False(t, added.At.Before(sent.At))
	events := eventsOf(t, b, message.ID)
	require.Len(t, events, 1)
	require.Equal(t, events[0].ID, *sent.EventID)
	require.Equal(t, claim.Version, b.Claim(claim.ID).Version, "an entry is no change of the claim itself")
}
