package node

import (
	"context"

	"parapet/model/kernel/actor"
	"parapet/model/sandbox"
	"parapet/model/wire"
)

// SandboxClock returns the business clock of a rehearsal server.
func (r *Reader) SandboxClock(ctx context.Context) (*wire.SandboxClock, error) {
	return r.Service.Sandbox.GetClock(ctx, r.Actor)
}

// SandboxRun returns a run. Errors: not_found.
func (r *Reader) SandboxRun(ctx context.Context, id string) (*wire.SandboxRun, error) {
	return r.Service.Sandbox.GetRun(ctx, r.Actor, id)
}

// SandboxRuns lists runs, newest first.
func (r *Reader) SandboxRuns(ctx context.Context, first *int, after *string) (*SandboxRunConnection, error) {
	return toConnection(asNodes[wire.SandboxRun])(r.Service.Sandbox.ListRuns(ctx, r.Actor, pageRequest(first, after)))
}

// SandboxChecklist returns what the partner's client has shown.
func (r *Reader) SandboxChecklist(ctx context.Context) (*wire.SandboxChecklist, error) {
	return r.Service.Sandbox.GetChecklist(ctx, r.Actor)
}

// SandboxRunPayload is the run that a mutation started.
type SandboxRunPayload struct {
	Run              *wire.SandboxRun
	ClientMutationID *string
}

// MoveSandboxClockInput is the input of MoveSandboxClock.
type MoveSandboxClockInput struct {
	sandbox.ClockRequest
	ClientMutationID *string
}

// MoveSandboxClock starts a run that moves the clock.
func (r *Reader) MoveSandboxClock(ctx context.Context, in MoveSandboxClockInput) (*SandboxRunPayload, error) {
	run, err := runMutation(ctx, r, in.ClientMutationID, in.ClockRequest, r.Service.Sandbox.MoveClock)
	return &SandboxRunPayload{run, in.ClientMutationID}, err
}

// ReplaySandboxEventInput is the input of ReplaySandboxEvent.
type ReplaySandboxEventInput struct {
	sandbox.ReplayRequest
	ClientMutationID *string
}

// ReplaySandboxEvent starts a run that replays an event.
func (r *Reader) ReplaySandboxEvent(ctx context.Context, in ReplaySandboxEventInput) (*SandboxRunPayload, error) {
	run, err := runMutation(ctx, r, in.ClientMutationID, in.ReplayRequest, r.Service.Sandbox.Replay)
	return &SandboxRunPayload{run, in.ClientMutationID}, err
}

// ReportSandboxPayoutInput is an outcome that the simulated rail reports.
type ReportSandboxPayoutInput struct {
	PayoutID         string
	Outcome          string
	ClientMutationID *string
}

// ReportSandboxPayout lets the simulated rail report an outcome for a payout.
func (r *Reader) ReportSandboxPayout(ctx context.Context, in ReportSandboxPayoutInput) (*PayoutPayload, error) {
	request := sandbox.PayoutRequest{PayoutID: in.PayoutID, Outcome: sandbox.Outcome(in.Outcome)}
	record, err := runMutation(ctx, r, in.ClientMutationID, request, r.Service.Sandbox.ReportPayout)
	payout, err := toNode(r.newPayouts)(record, err)
	return &PayoutPayload{payout, in.ClientMutationID}, err
}

// ResetSandboxInput is the input of ResetSandbox.
type ResetSandboxInput struct{ ClientMutationID *string }

// ResetSandbox starts a run that ends the partner's open records.
func (r *Reader) ResetSandbox(ctx context.Context, in ResetSandboxInput) (*SandboxRunPayload, error) {
	run, err := runMutation(ctx, r, in.ClientMutationID, struct{}{}, func(ctx context.Context, actor actor.Actor, _ struct{}) (*wire.SandboxRun, error) {
		return r.Service.Sandbox.Reset(ctx, actor)
	})
	return &SandboxRunPayload{run, in.ClientMutationID}, err
}

// SendBadSignatureInput is the input of SendBadSignature.
type SendBadSignatureInput struct {
	EndpointID       string
	ClientMutationID *string
}

// SendBadSignature starts a run that sends a wrong signature.
func (r *Reader) SendBadSignature(ctx context.Context, in SendBadSignatureInput) (*SandboxRunPayload, error) {
	run, err := runMutation(ctx, r, in.ClientMutationID, in.EndpointID, r.Service.Sandbox.SendBadSignature)
	return &SandboxRunPayload{run, in.ClientMutationID}, err
}
