package node

import (
	"cmp"
	"context"

	"parapet/model"
	"parapet/model/wire"
)

// Explanation is what an occurrence means for a policy.
type Explanation struct {
	*wire.Explanation
	kin *kin
}

func (r *Reader) explanations(records []*wire.Explanation) []*Explanation {
	return together(r, records, func(e *wire.Explanation) string { return e.PolicyID }, func(e *wire.Explanation, k *kin) *Explanation {
		k.refer("policy", &e.PolicyID)
		return &Explanation{e, k}
	})
}

// Explain tells what an occurrence means for a policy. Errors: not_found.
func (r *Reader) Explain(ctx context.Context, policy string, of model.OccurrenceRef) (*Explanation, error) {
	of.Pointer = "/occurrence"
	return one(r.explanations)(r.Service.Explain(ctx, r.Actor, policy, of))
}

// Policy is whom it concerns.
func (e *Explanation) Policy(ctx context.Context) (*Policy, error) {
	r := e.kin.read
	return referred(ctx, e.kin, "policy", &e.PolicyID, r.Service.BarePoliciesByID, r.policies)
}

// ProductKey is the key of the policy's product.
func (e *Explanation) ProductKey() string { return e.Product }

func (r *Reader) explained(page *model.Page[wire.Explanation], err error) (*ExplanationConnection, error) {
	return listed(r.explanations)(page, err)
}

// Exposure is what a supposed occurrence would cost.
type Exposure struct {
	*wire.Exposure
	read    *Reader
	request model.ExposureRequest
	page    *model.Page[wire.Explanation]
}

// Exposure supposes an occurrence. Its largest first page is read together with the
// sums, for which every policy concerned has to be judged anyway.
func (r *Reader) Exposure(ctx context.Context, occurrence model.AsIf, partner, product, currency *string) (*Exposure, error) {
	in := model.ExposureRequest{Occurrence: occurrence, Partner: orEmpty(partner), Product: orEmpty(product), Currency: orEmpty(currency)}
	e := &Exposure{read: r, request: in}
	var err error
	e.Exposure, e.page, err = r.Service.Expose(ctx, r.Actor, in, model.PageRequest{Limit: model.MaxPageSize})
	return e, err
}

// Policies are those it touches, the largest payment first.
func (e *Exposure) Policies(ctx context.Context, first *int, after *string, nearMisses bool) (*ExplanationConnection, error) {
	in := pageOf(first, after)
	if size := cmp.Or(in.Limit, model.DefaultPageSize); after == nil && !nearMisses && size >= 1 && size <= model.MaxPageSize {
		return e.read.explained(e.page.Head(size))
	}
	asked := e.request
	asked.NearMisses = nearMisses
	_, page, err := e.read.Service.Expose(ctx, e.read.Actor, asked, in)
	return e.read.explained(page, err)
}
