package node

import (
	"context"

	"parapet/internal/gateway"
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
	return pointersTo(stops), err
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

// ResumeReleasesPayload is a stop as it is now and the run that resumes releases.
type ResumeReleasesPayload struct {
	ReleaseStop      *model.ReleaseStop
	Resumption       *model.ReleaseResumption
	ClientMutationID *string
}

// StopReleasesPayload is a stop and what it did not wait for.
type StopReleasesPayload struct {
	ReleaseStop      *model.ReleaseStop
	Leaving          *model.Leaving
	ClientMutationID *string
}

// StopReleases keeps payouts from being sent. It may wait longer than other requests.
func (r *Reader) StopReleases(ctx context.Context, in StopReleasesInput) (*StopReleasesPayload, error) {
	if request := gateway.FromContext(ctx); request != nil && request.WithoutDeadline != nil {
		lasting, release := request.WithoutDeadline(ctx)
		defer release()
		ctx = lasting
	}
	stopped, err := runMutation(ctx, r, in.ClientMutationID, in.StopRequest, r.Service.StopReleases)
	if err != nil {
		return nil, err
	}
	return &StopReleasesPayload{stopped.Stop, stopped.Leaving, in.ClientMutationID}, nil
}

// ResumeReleases lets payouts go out again.
func (r *Reader) ResumeReleases(ctx context.Context, in ResumeReleasesInput) (*ResumeReleasesPayload, error) {
	resumed, err := runMutation(ctx, r, in.ClientMutationID, in.ResumeRequest, r.Service.ResumeReleases)
	if err != nil {
		return nil, err
	}
	return &ResumeReleasesPayload{resumed.Stop, resumed.Resumption, in.ClientMutationID}, nil
}

// ReleaseResumptions are the last runs that resume releases.
func (r *Reader) ReleaseResumptions(ctx context.Context) ([]*model.ReleaseResumption, error) {
	runs, err := r.Service.ReleaseResumptions(ctx, r.Actor, model.MaxPageSize)
	return pointersTo(runs), err
}

// ReleaseResumption is one of them.
func (r *Reader) ReleaseResumption(ctx context.Context, id string) (*model.ReleaseResumption, error) {
	return r.Service.GetReleaseResumption(ctx, r.Actor, id)
}
