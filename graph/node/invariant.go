package node

import (
	"context"

	"parapet/internal/gateway"
	"parapet/model"
	"parapet/model/kernel/store"
)

// Invariant is a condition that must always hold.
type Invariant struct {
	*model.Invariant

	reader *Reader
}

// Invariants lists all invariants.
func (r *Reader) Invariants(ctx context.Context) ([]*Invariant, error) {
	list, err := r.Service.ListInvariants(ctx, r.Actor)
	nodes := make([]*Invariant, len(list))
	for i := range list {
		nodes[i] = &Invariant{&list[i], r}
	}
	return nodes, err
}

// ViolationCount returns the number of records that violate the invariant.
func (i *Invariant) ViolationCount() int { return i.Invariant.Violations }

// Violations lists the first violations.
func (i *Invariant) Violations(ctx context.Context) ([]model.Violation, error) {
	if i.Invariant.Violations == 0 {
		return []model.Violation{}, nil
	}
	return i.reader.Service.ListViolations(ctx, i.reader.Actor, i.Name, store.MaxPageSize)
}

// Milliseconds returns the duration of the last check.
func (i *Invariant) Milliseconds() int64 { return i.Took.Milliseconds() }

// ReleaseStops lists the most recent stops of releases.
func (r *Reader) ReleaseStops(ctx context.Context) ([]*model.ReleaseStop, error) {
	stops, err := r.Service.ReleaseStops(ctx, r.Actor, store.MaxPageSize)
	return pointersTo(stops), err
}

// StopReleasesInput is the input of StopReleases, with the reason.
type StopReleasesInput struct {
	model.StopRequest
	ClientMutationID *string
}

// ResumeReleasesInput is the input of ResumeReleases, with the reason.
type ResumeReleasesInput struct {
	model.ResumeRequest
	ClientMutationID *string
}

// ResumeReleasesPayload is the stop after the mutation and the run that resumes releases.
type ResumeReleasesPayload struct {
	ReleaseStop      *model.ReleaseStop
	Resumption       *model.ReleaseResumption
	ClientMutationID *string
}

// StopReleasesPayload is the stop and the orders that were already leaving.
type StopReleasesPayload struct {
	ReleaseStop      *model.ReleaseStop
	Leaving          *model.Leaving
	ClientMutationID *string
}

// StopReleases stops the release of payouts. It may wait longer than other requests.
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

// ResumeReleases resumes the release of payouts.
func (r *Reader) ResumeReleases(ctx context.Context, in ResumeReleasesInput) (*ResumeReleasesPayload, error) {
	resumed, err := runMutation(ctx, r, in.ClientMutationID, in.ResumeRequest, r.Service.ResumeReleases)
	if err != nil {
		return nil, err
	}
	return &ResumeReleasesPayload{resumed.Stop, resumed.Resumption, in.ClientMutationID}, nil
}

// ReleaseResumptions lists the most recent resumptions of releases.
func (r *Reader) ReleaseResumptions(ctx context.Context) ([]*model.ReleaseResumption, error) {
	runs, err := r.Service.ReleaseResumptions(ctx, r.Actor, store.MaxPageSize)
	return pointersTo(runs), err
}

// ReleaseResumption returns one resumption of releases.
func (r *Reader) ReleaseResumption(ctx context.Context, id string) (*model.ReleaseResumption, error) {
	return r.Service.GetReleaseResumption(ctx, r.Actor, id)
}
