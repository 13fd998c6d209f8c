package payouts_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/audit"
	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/events"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

func TestOperatorWritesMessagesToThePartner(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	b.Operator.Operation = "addMessage"
	message, err := b.Service.Claims.AddMessage(t.Context(), b.Operator, claim.ID, "Please send us the survey.")
	require.NoError(t, err)
	require.Equal(t, "acme", *message.Partner)
	require.Equal(t, wire.Actor{Kind: "operator", Name: "parapet"}, message.Author, "partners do not see the operator")
	list, err := b.Service.Claims.GetMessages(t.Context(), b.Acme, claim.ID, store.PageRequest{})
	require.NoError(t, err)
	require.Equal(t, []wire.Message{*message}, list.Data)
	timeline := b.Timeline(claim.ID)
	last := timeline[len(timeline)-1]
	require.Equal(t, []string{"claim.message_added", "operator", "parapet"}, []string{last.Kind, last.Actor.Kind, last.Actor.Name})
	b.Relay()
	events, err := b.Service.Events.List(t.Context(), b.Acme, events.Filter{Types: []event.Type{event.ClaimMessageAdded}}, store.PageRequest{})
	require.NoError(t, err)
	require.Len(t, events.Data, 1)
	line := modeltest.ListAudit(t, b, audit.Filter{Operation: "addMessage"})[0]
	require.Equal(t, []string{"olive", "acme", message.ID}, []string{line.Actor, *line.Partner, *line.Subject})

	_, err = b.Service.Claims.AddAttachment(t.Context(), b.Operator, claim.ID, modeltest.NewAttachment("a.txt", "text/plain", "x"))
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code, "operators write only messages to a partner")
	_, err = b.Service.Claims.AddMessage(t.Context(), b.Source, claim.ID, "Hello.")
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code)
	_, err = b.Service.Claims.AddMessage(t.Context(), b.Operator, claim.ID, "\x00")
	require.Equal(t, []string{"/body"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
}

func TestDeferralSaysWhichEvidenceIsNeeded(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	claim, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, adjudication.ClaimRequest{PolicyID: policy.ID, RequestedAmount: modeltest.NewUSD(125_000)})
	require.NoError(t, err)
	in := adjudication.DecisionRequest{
		ClaimID: claim.ID, Outcome: claims.ClaimDeferred, ReasonCodes: []claims.ReasonCode{claims.ReasonEvidenceNeeded},
		NextReviewAt: new(b.Now().Add(48 * time.Hour)), Message: new(" "),
	}
	_, err = b.Service.Adjudication.Decide(t.Context(), b.Operator, in)
	require.Equal(t, []string{"/message"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
	require.Equal(t, "opened", b.Claim(claim.ID).Status)

	in.Message = new("Photographs of the roof, taken after the event.")
	deferred, err := b.Service.Adjudication.Decide(t.Context(), b.Operator, in)
	require.NoError(t, err)
	require.Equal(t, []string{"evidence_needed"}, deferred.Decision.ReasonCodes)
	require.Equal(t, []string{"claim.opened", "claim.deferred", "claim.message_added"}, b.TimelineKinds(claim.ID))
	list, err := b.Service.Claims.GetMessages(t.Context(), b.Acme, claim.ID, store.PageRequest{})
	require.NoError(t, err)
	require.Len(t, list.Data, 1)
	require.Equal(t, *in.Message, list.Data[0].Body)
	require.Equal(t, wire.Actor{Kind: "operator", Name: "parapet"}, list.Data[0].Author)
}
