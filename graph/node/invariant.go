package node

import (
	"context"

	"parapet/internal/gateway"
	"parapet/model/kernel/store"
	"parapet/model/payouts/controls"
)

// Invariant is a condition that must always hold.
type Invariant struct {
	*controls.Invariant

	reader *Reader
}

// Invariants lists all invariants.
func (r *Reader) Invariants(ctx context.Context) ([]*Invariant, error) {
	list, err := r.Service.Controls.ListInvariants(ctx, r.Actor)
	nodes := make([]*Invariant, len(list))
	for i := range list {
		nodes[i] = &Invariant{&list[i], r}
	}
	return nodes, err
}

// ViolationCount returns the number of records that violate the invariant.
func (i *Invariant) ViolationCount() int { return i.Invariant.Violations }

// Violations lists the first violations.
func (i *Invariant) Violations(ctx context.Context) ([]controls.Violation, error) {
	if i.Invariant.Violations == 0 {
		return []controls.Violation{}, nil
	}
	return i.reader.Service.Controls.ListViolations(ctx, i.reader.Actor, i.Name, store.MaxPageSize)
}

// Milliseconds returns the duration of the last check.
func (i *Invariant) Milliseconds() int64 { return i.Took.Milliseconds() }

// ReleaseStops lists the most recent stops of releases.
func (r *Reader) ReleaseStops(ctx context.Context) ([]*controls.ReleaseStop, error) {
	stops, err := r.Service.Controls.ReleaseStops(ctx, r.Actor, store.MaxPageSize)
	return pointersTo(stops), err
}

// StopReleasesInput is the input of StopReleases, with the reason.
type StopReleasesInput struct {
	controls.StopRequest
	ClientMutationID *string
}

// ResumeReleasesInput is the input of ResumeReleases, with the reason.
type ResumeReleasesInput struct {
	controls.ResumeRequest
	ClientMutationID *string
}

// ResumeReleasesPayload is the stop after the mutation and the run that resumes releases.
type ResumeReleasesPayload struct {
	ReleaseStop      *controls.ReleaseStop
	Resumption       *controls.ReleaseResumption
	ClientMutationID *string
}

// StopReleasesPayload is the stop and the orders that were already leaving.
type StopReleasesPayload struct {
	ReleaseStop      *controls.ReleaseStop
	Leaving          *controls.Leaving
	ClientMutationID *string
}

// StopReleases stops the release of payouts. It may wait longer than other requests.
func (r *Reader) StopReleases(ctx context.Context, in StopReleasesInput) (*StopReleasesPayload, error) {
	if request := gateway.FromContext(ctx); request != nil && request.WithoutDeadline != nil {
		lasting, release := request.WithoutDeadline(ctx)
		defer release()
		ctx = lasting
	}
	stopped, err := runMutation(ctx, r, in.ClientMutationID, in.StopRequest, r.Service.Controls.StopReleases)
	if err != nil {
		return nil, err
	}
	return &StopReleasesPayload{stopped.Stop, stopped.Leaving, in.ClientMutationID}, nil
}

// ResumeReleases resumes the release of payouts.
func (r *Reader) ResumeReleases(ctx context.Context, in ResumeReleasesInput) (*ResumeReleasesPayload, error) {
	resumed, err := runMutation(ctx, r, in.ClientMutationID, in.ResumeRequest, r.Service.Releases.ResumeReleases)
	if err != nil {
		return nil, err
	}
	return &ResumeReleasesPayload{resumed.Stop, resumed.Resumption, in.ClientMutationID}, nil
}

// ReleaseResumptions lists the most recent resumptions of releases.
func (r *Reader) ReleaseResumptions(ctx context.Context) ([]*controls.ReleaseResumption, error) {
	runs, err := r.Service.Controls.ReleaseResumptions(ctx, r.Actor, store.MaxPageSize)
	return pointersTo(runs), err
}

// ReleaseResumption returns one resumption of releases.
func (r *Reader) ReleaseResumption(ctx context.Context, id string) (*controls.ReleaseResumption, error) {
	return r.Service.Controls.GetReleaseResumption(ctx, r.Actor, id)
}
