package sandbox

import (
	"context"
	"fmt"

	"parapet/model/events/webhooks"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// SendBadSignature starts a run that sends an event with a wrong signature to an endpoint of
// the partner, once: a receiver that verifies signatures refuses it. Errors: not_found,
// state_conflict while the endpoint is disabled.
func (s *Service) SendBadSignature(ctx context.Context, caller actor.Actor, endpoint string) (*wire.SandboxRun, error) {
	if err := s.authorize(ctx, caller, actor.ScopeWebhooksWrite); err != nil {
		return nil, err
	}
	row := new(webhooks.EndpointRow)
	if err := s.LoadRecord(ctx, caller, actor.ScopeWebhooksWrite, store.ResourceEndpoint, endpoint, row); err != nil {
		return nil, err
	}
	if row.Status != webhooks.EndpointEnabled {
		return nil, apperr.Fail(apperr.CodeStateConflict, "The endpoint is disabled; enable it first.")
	}
	return s.start(ctx, caller, func(context.Context, *store.Tx) (*Run, error) {
		return &Run{Kind: KindSignature, Result: Result{Signature: &wire.SandboxSignature{EndpointID: endpoint}}}, nil
	})
}

// EndpointURL returns the address of the endpoint of a signature run. System only. Errors:
// not_found.
func (s *Service) EndpointURL(ctx context.Context, run *Run) (string, error) {
	row := new(webhooks.EndpointRow)
	err := s.LoadRecord(ctx, run.Actor(), actor.ScopeClaimsRead, store.ResourceEndpoint, run.Result.Signature.EndpointID, row)
	return row.URL, err
}

// ShowSignature stores that a receiver refused the wrong signature, if it has accepted a
// right one.
func (s *Service) ShowSignature(ctx context.Context, run *Run) error {
	signature := run.Result.Signature
	endpoint, err := store.ResourceEndpoint.ParseID(signature.EndpointID)
	if err != nil || !signature.Refused {
		return err
	}
	var accepted bool
	err = s.DB.NewRaw("select exists (select from deliveries where endpoint_id = ? and partner = ? and status = 'delivered')", endpoint, run.Partner).Scan(ctx, &accepted)
	if err != nil || !accepted {
		return store.TranslateError(err)
	}
	return s.Show(ctx, run.Actor(), SignatureVerified, fmt.Sprintf("%s answered %d to a wrong signature (%s) and has accepted right ones.", signature.EndpointID, *signature.StatusCode, run.ID()))
}
