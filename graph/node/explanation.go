package node

import (
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
	return together(r, records, func(e *wire.Explanation) string { return e.PolicyID }, func(e *wire.Explanation, k *kin) *Explanation { return &Explanation{e, k} })
}

// Explain tells what an occurrence means for a policy. Errors: not_found.
func (r *Reader) Explain(ctx context.Context, policy string, of model.OccurrenceRef) (*Explanation, error) {
	return one(r.explanations)(r.Service.Explain(ctx, r.Actor, policy, of))
}

// Policy is whom it concerns.
func (e *Explanation) Policy(ctx context.Context) (*Policy, error) {
	return related(ctx, e.kin, e.PolicyID, "policy", func(ctx context.Context, ids []string) (map[string]*Policy, error) {
		records, err := e.kin.read.Service.PoliciesByID(ctx, e.kin.read.Actor, ids)
		if err != nil {
			return nil, err
		}
		found := make([]*wire.Policy, 0, len(records))
		for _, record := range records {
			found = append(found, record)
		}
		policies := make(map[string]*Policy, len(found))
		for _, policy := range e.kin.read.policies(found) {
			policies[policy.ID] = policy
		}
		return policies, nil
	})
}

// ExplanationEdge is an explanation in a list.
type ExplanationEdge struct {
	Cursor string
	Node   *Explanation
}

// ExplanationConnection is a page of explanations.
type ExplanationConnection connection[*Explanation, ExplanationEdge]

func (r *Reader) explained(page *model.Page[wire.Explanation], err error) (*ExplanationConnection, error) {
	c, err := connect(page, err, r.explanations, func(cursor string, e *Explanation) ExplanationEdge { return ExplanationEdge{cursor, e} })
	return (*ExplanationConnection)(c), err
}

// Exposure is what a supposed occurrence would cost.
type Exposure struct {
	*wire.Exposure
	read    *Reader
	request model.ExposureRequest
	page    *model.Page[wire.Explanation]
}

// Exposure supposes an occurrence. The first page comes with the sums, which every
// policy concerned had to be judged for anyway.
func (r *Reader) Exposure(ctx context.Context, occurrence model.AsIf, partner, product, currency *string) (*Exposure, error) {
	in := model.ExposureRequest{Occurrence: occurrence, Partner: orEmpty(partner), Product: orEmpty(product), Currency: orEmpty(currency)}
	e := &Exposure{read: r, request: in}
	var err error
	e.Exposure, e.page, err = r.Service.Expose(ctx, r.Actor, in, model.PageRequest{})
	return e, err
}

// Policies are those it touches, the largest payment first.
func (e *Exposure) Policies(ctx context.Context, first int, after *string, nearMisses bool) (*ExplanationConnection, error) {
	if first == model.DefaultPageSize && after == nil && !nearMisses {
		return e.read.explained(e.page, nil)
	}
	asked := e.request
	asked.NearMisses = nearMisses
	_, page, err := e.read.Service.Expose(ctx, e.read.Actor, asked, behind(first, after))
	return e.read.explained(page, err)
}
