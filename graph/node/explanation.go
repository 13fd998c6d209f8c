package node

import (
	"cmp"
	"context"

	"parapet/model/insight/scenario"
	"parapet/model/kernel/optional"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// Explanation is the evaluation of a policy for an occurrence.
type Explanation struct {
	*wire.Explanation
	batch *batch
}

var explanationReferences = references[*wire.Explanation]{
	"policy": func(e *wire.Explanation) *string { return &e.PolicyID },
}

func (r *Reader) newExplanations(records []*wire.Explanation) []*Explanation {
	return newBatch(r, records, func(e *wire.Explanation) string { return e.PolicyID }, explanationReferences, func(e *wire.Explanation, b *batch) *Explanation {
		return &Explanation{e, b}
	})
}

// Explain evaluates a policy for an occurrence. Errors: not_found.
func (r *Reader) Explain(ctx context.Context, policy string, of scenario.OccurrenceRef) (*Explanation, error) {
	of.Pointer = "/occurrence"
	return toNode(r.newExplanations)(r.Service.Scenarios.Explain(ctx, r.Actor, policy, of))
}

// Policy returns the evaluated policy.
func (e *Explanation) Policy(ctx context.Context) (*Policy, error) {
	r := e.batch.reader
	return loadOne(ctx, e.batch, "policy", &e.PolicyID, r.Service.Policies.BareByID, r.newPolicies)
}

// ProductKey returns the key of the policy's product.
func (e *Explanation) ProductKey() string { return e.Product }

func (r *Reader) newExplanationConnection(page *store.Page[wire.Explanation], err error) (*ExplanationConnection, error) {
	return toConnection(r.newExplanations)(page, err)
}

// Exposure is the cost of a hypothetical occurrence.
type Exposure struct {
	*wire.Exposure
	reader  *Reader
	request scenario.ExposureRequest
	page    *store.Page[wire.Explanation]
}

// Exposure evaluates a hypothetical occurrence. It also reads the largest first page,
// because the sums require evaluating every affected policy anyway.
func (r *Reader) Exposure(ctx context.Context, occurrence scenario.WhatIf, partner, product, currency *string) (*Exposure, error) {
	in := scenario.ExposureRequest{Occurrence: occurrence, Partner: optional.OrZero(partner), Product: optional.OrZero(product), Currency: optional.OrZero(currency)}
	e := &Exposure{reader: r, request: in}
	var err error
	e.Exposure, e.page, err = r.Service.Scenarios.Expose(ctx, r.Actor, in, store.PageRequest{Limit: store.MaxPageSize})
	return e, err
}

// Policies lists the affected policies, the largest payment first.
func (e *Exposure) Policies(ctx context.Context, first *int, after *string, nearMisses bool) (*ExplanationConnection, error) {
	in := pageRequest(first, after)
	if size := cmp.Or(in.Limit, store.DefaultPageSize); after == nil && !nearMisses && size >= 1 && size <= store.MaxPageSize {
		return e.reader.newExplanationConnection(e.page.FirstRecords(size))
	}
	asked := e.request
	asked.NearMisses = nearMisses
	_, page, err := e.reader.Service.Scenarios.Expose(ctx, e.reader.Actor, asked, in)
	return e.reader.newExplanationConnection(page, err)
}
