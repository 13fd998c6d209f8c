package node

import (
	"context"

	"parapet/model/hazard/reports"
	"parapet/model/kernel/actor"
	"parapet/model/wire"
)

// RelateOccurrencesInput is the input of MergeOccurrences and SplitOccurrences.
type RelateOccurrencesInput struct {
	reports.RelationRequest
	ClientMutationID *string
}

// RelateOccurrencesPayload has both occurrences after a mutation.
type RelateOccurrencesPayload struct {
	Occurrence       *Occurrence
	Other            *Occurrence
	ClientMutationID *string
}

// MergeOccurrences decides that two occurrences are one event.
func (r *Reader) MergeOccurrences(ctx context.Context, in RelateOccurrencesInput) (*RelateOccurrencesPayload, error) {
	return r.relateOccurrences(ctx, in, r.Service.Reports.Merge)
}

// SplitOccurrences decides that two occurrences are two events.
func (r *Reader) SplitOccurrences(ctx context.Context, in RelateOccurrencesInput) (*RelateOccurrencesPayload, error) {
	return r.relateOccurrences(ctx, in, r.Service.Reports.Split)
}

func (r *Reader) relateOccurrences(ctx context.Context, in RelateOccurrencesInput, decide func(context.Context, actor.Actor, reports.RelationRequest) (*wire.OccurrenceRelation, error)) (*RelateOccurrencesPayload, error) {
	relation, err := runMutation(ctx, r, in.ClientMutationID, in.RelationRequest, decide)
	if err != nil {
		return nil, err
	}
	both := r.newOccurrences([]*wire.Occurrence{relation.Occurrence, relation.Other})
	return &RelateOccurrencesPayload{both[0], both[1], in.ClientMutationID}, nil
}
