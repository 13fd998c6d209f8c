package node

import (
	"context"

	"parapet/model"
)

// Invariant is something that must always be true.
type Invariant struct {
	*model.Invariant

	reader *Reader
}

// Invariants are all of them.
func (r *Reader) Invariants(ctx context.Context) ([]*Invariant, error) {
	list, err := r.Service.ListInvariants(ctx, r.Actor)
	nodes := make([]*Invariant, len(list))
	for i := range list {
		nodes[i] = &Invariant{&list[i], r}
	}
	return nodes, err
}

// ViolationCount is of how many records it is not true.
func (i *Invariant) ViolationCount() int { return i.Invariant.Violations }

// Violations are the first of them.
func (i *Invariant) Violations(ctx context.Context) ([]model.Violation, error) {
	if i.Invariant.Violations == 0 {
		return []model.Violation{}, nil
	}
	return i.reader.Service.ListViolations(ctx, i.reader.Actor, i.Name, model.MaxPageSize)
}

// Milliseconds is how long the last check took.
func (i *Invariant) Milliseconds() int64 { return i.Took.Milliseconds() }

// ReleaseStops are the last times in which no payout was sent.
func (r *Reader) ReleaseStops(ctx context.Context) ([]*model.ReleaseStop, error) {
	stops, err := r.Service.ReleaseStops(ctx, r.Actor, model.MaxPageSize)
	return pointers(stops), err
}

// StopReleasesInput is why payouts stop.
type StopReleasesInput struct {
	model.StopRequest
	ClientMutationID *string
}

// ResumeReleasesInput is why payouts go on.
type ResumeReleasesInput struct {
	model.ResumeRequest
	ClientMutationID *string
}

// ReleaseStopPayload is a stop as it is now.
type ReleaseStopPayload struct {
	ReleaseStop      *model.ReleaseStop
	ClientMutationID *string
}

// StopReleases keeps payouts from being sent.
func (r *Reader) StopReleases(ctx context.Context, in StopReleasesInput) (*ReleaseStopPayload, error) {
	stop, err := mutate(ctx, r, in.ClientMutationID, in.StopRequest, r.Service.StopReleases)
	return &ReleaseStopPayload{stop, in.ClientMutationID}, err
}

// ResumeReleases lets payouts go out again.
func (r *Reader) ResumeReleases(ctx context.Context, in ResumeReleasesInput) (*ReleaseStopPayload, error) {
	stop, err := mutate(ctx, r, in.ClientMutationID, in.ResumeRequest, r.Service.ResumeReleases)
	return &ReleaseStopPayload{stop, in.ClientMutationID}, err
}
