package node

import (
	"context"

	"parapet/model"
	"parapet/model/wire"
)

// Claim asks for money under a policy.
type Claim struct {
	*wire.Claim
	kin     *kin
	payouts []*Payout
}

// IsNode makes it findable.
func (*Claim) IsNode() {}

// claims makes kin of the payouts of all claims too: they came together.
func (r *Reader) claims(records []*wire.Claim) []*Claim {
	var paid []*wire.Payout
	nodes := together(r, records, func(c *wire.Claim) string { return c.ID }, func(c *wire.Claim, k *kin) *Claim {
		k.refer("policy", &c.PolicyID)
		paid = append(paid, pointers(c.Payouts)...)
		return &Claim{Claim: c, kin: k}
	})
	payouts := r.payouts(paid)
	for _, node := range nodes {
		n := len(node.Claim.Payouts)
		node.payouts, payouts = payouts[:n:n], payouts[n:]
	}
	return nodes
}

// Claim is one claim. Errors: not_found.
func (r *Reader) Claim(ctx context.Context, id string) (*Claim, error) {
	return one(r.claims)(r.Service.GetClaim(ctx, r.Actor, id))
}

// Claims are claims, newest first.
func (r *Reader) Claims(ctx context.Context, first *int, after *string, filter *model.Filter, order *string) (*ClaimConnection, error) {
	return listed(r.claims)(r.Service.ListClaims(ctx, r.Actor, orEmpty(filter), ordered(first, after, order)))
}

// Policy is what is asked to pay.
func (c *Claim) Policy(ctx context.Context) (*Policy, error) {
	r := c.kin.read
	return referred(ctx, c.kin, "policy", &c.PolicyID, r.Service.BarePoliciesByID, r.policies)
}

// Payouts are the money on its way. They came with the claim.
func (c *Claim) Payouts() []*Payout { return append([]*Payout{}, c.payouts...) }

// Timeline is its story.
func (c *Claim) Timeline(ctx context.Context, first *int, after *string, last *int) (*TimelineConnection, error) {
	in, err := timelinePage(first, after, last)
	if err != nil {
		return nil, err
	}
	return members(ctx, c.kin, c.ID, "timeline", in, c.kin.read.Service.TimelinesOf, asTheyAre[wire.TimelineEntry])
}

// timelinePage is a page from the beginning of a timeline, or from its end.
func timelinePage(first *int, after *string, last *int) (model.PageRequest, error) {
	if last == nil {
		return pageOf(first, after), nil
	}
	if first != nil || after != nil {
		return model.PageRequest{}, model.BadParameter(model.FieldError{Pointer: "last", Code: "not_allowed", Detail: "Give last alone, or first and after."})
	}
	in := pageOf(last, nil)
	in.Last = true
	return in, nil
}

// Messages are the conversation about it.
func (c *Claim) Messages(ctx context.Context, first *int, after, order *string) (*MessageConnection, error) {
	r := c.kin.read
	return members(ctx, c.kin, c.ID, "messages", ordered(first, after, order), r.Service.MessagesOf, r.messages)
}

// Attachments are its documents.
func (c *Claim) Attachments(ctx context.Context, first *int, after, order *string) (*AttachmentConnection, error) {
	r := c.kin.read
	return members(ctx, c.kin, c.ID, "attachments", ordered(first, after, order), r.Service.AttachmentsOf, r.attachments)
}

// PayoutMethods are the accounts it can be paid to.
func (c *Claim) PayoutMethods(ctx context.Context, first *int, after, order *string) (*PayoutMethodConnection, error) {
	r := c.kin.read
	return members(ctx, c.kin, c.ID, "payoutMethods", ordered(first, after, order), r.Service.PayoutMethodsOf, r.payoutMethods)
}

// OpenClaimInput is a claim to open.
type OpenClaimInput struct {
	model.ClaimRequest
	ClientMutationID *string
}

// OpenClaim opens a claim, or finds the one there is.
func (r *Reader) OpenClaim(ctx context.Context, in OpenClaimInput) (*ClaimPayload, error) {
	record, err := mutate(ctx, r, in.ClientMutationID, in.ClaimRequest,
		func(ctx context.Context, actor model.Actor, in model.ClaimRequest) (*wire.Claim, error) {
			claim, _, err := r.Service.OpenClaim(ctx, actor, in)
			return claim, err
		})
	claim, err := one(r.claims)(record, err)
	return &ClaimPayload{claim, in.ClientMutationID}, err
}
