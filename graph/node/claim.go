package node

import (
	"context"
	"fmt"

	"parapet/model/claims/adjudication"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/optional"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// Claim is a claim under a policy.
type Claim struct {
	*wire.Claim
	batch   *batch
	payouts []*Payout
}

// IsNode implements Node.
func (*Claim) IsNode() {}

var claimReferences = references[*wire.Claim]{
	"policy": func(c *wire.Claim) *string { return &c.PolicyID },
}

// newClaims makes nodes of claims. The payouts of all claims, which came with them, also
// form one batch.
func (r *Reader) newClaims(records []*wire.Claim) []*Claim {
	var paid []*wire.Payout
	nodes := newBatch(r, records, func(c *wire.Claim) string { return c.ID }, claimReferences, func(c *wire.Claim, b *batch) *Claim {
		paid = append(paid, pointersTo(c.Payouts)...)
		return &Claim{Claim: c, batch: b}
	})
	payouts := r.newPayouts(paid)
	for _, node := range nodes {
		n := len(node.Claim.Payouts)
		node.payouts, payouts = payouts[:n:n], payouts[n:]
	}
	return nodes
}

// Claim returns a claim. Errors: not_found.
func (r *Reader) Claim(ctx context.Context, id string) (*Claim, error) {
	return toNode(r.newClaims)(r.Service.Claims.Get(ctx, r.Actor, id))
}

// Claims lists claims, newest first.
func (r *Reader) Claims(ctx context.Context, first *int, after *string, filter *store.Filter, order *string) (*ClaimConnection, error) {
	return toConnection(r.newClaims)(r.Service.Claims.List(ctx, r.Actor, optional.OrZero(filter), selectedPage(ctx, first, after, order)))
}

// Policy returns the policy of the claim.
func (c *Claim) Policy(ctx context.Context) (*Policy, error) {
	r := c.batch.reader
	return loadOne(ctx, c.batch, "policy", &c.PolicyID, r.Service.Policies.BareByID, r.newPolicies)
}

// Payouts returns the payouts, which were read with the claim.
func (c *Claim) Payouts() []*Payout { return append([]*Payout{}, c.payouts...) }

// Timeline lists the entries of the claim's timeline.
func (c *Claim) Timeline(ctx context.Context, first *int, after *string, last *int) (*TimelineConnection, error) {
	in, err := timelinePage(first, after, last)
	if err != nil {
		return nil, err
	}
	return loadPages(ctx, c.batch, c.ID, "timeline", in, c.batch.reader.Service.Claims.TimelinesByClaim, asNodes[wire.TimelineEntry])
}

// timelinePage requests a page from the beginning or from the end of a timeline.
func timelinePage(first *int, after *string, last *int) (store.PageRequest, error) {
	if last == nil {
		return pageRequest(first, after), nil
	}
	if first != nil || after != nil {
		return store.PageRequest{}, apperr.BadParameter(apperr.FieldError{Pointer: "last", Code: "not_allowed", Detail: "Give last alone, or first and after."})
	}
	if *last < 1 || *last > store.MaxPageSize {
		return store.PageRequest{}, apperr.InvalidParameter("last", fmt.Sprintf("Use a whole number from 1 to %d.", store.MaxPageSize))
	}
	return store.PageRequest{Limit: *last, Last: true}, nil
}

// Messages lists the messages of the claim.
func (c *Claim) Messages(ctx context.Context, first *int, after, order *string) (*MessageConnection, error) {
	r := c.batch.reader
	return loadPages(ctx, c.batch, c.ID, "messages", orderedPage(first, after, order), r.Service.Claims.MessagesByClaim, r.newMessages)
}

// Attachments lists the attachments of the claim.
func (c *Claim) Attachments(ctx context.Context, first *int, after, order *string) (*AttachmentConnection, error) {
	r := c.batch.reader
	return loadPages(ctx, c.batch, c.ID, "attachments", orderedPage(first, after, order), r.Service.Claims.AttachmentsOf, r.newAttachments)
}

// PayoutMethods lists the accounts to which the claim can be paid.
func (c *Claim) PayoutMethods(ctx context.Context, first *int, after, order *string) (*PayoutMethodConnection, error) {
	r := c.batch.reader
	return loadPages(ctx, c.batch, c.ID, "payoutMethods", orderedPage(first, after, order), r.Service.Payouts.MethodsByParent, r.newPayoutMethods)
}

// OpenClaimInput is the input of OpenClaim.
type OpenClaimInput struct {
	adjudication.ClaimRequest
	ClientMutationID *string
}

// OpenClaim opens a claim or returns the existing one.
func (r *Reader) OpenClaim(ctx context.Context, in OpenClaimInput) (*ClaimPayload, error) {
	record, err := runMutation(ctx, r, in.ClientMutationID, in.ClaimRequest,
		func(ctx context.Context, actor actor.Actor, in adjudication.ClaimRequest) (*wire.Claim, error) {
			claim, _, err := r.Service.Adjudication.Open(ctx, actor, in)
			return claim, err
		})
	claim, err := toNode(r.newClaims)(record, err)
	return &ClaimPayload{claim, in.ClientMutationID}, err
}
