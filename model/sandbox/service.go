package sandbox

import (
	"context"

	"parapet/model/hazard"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
)

// Service is the sandbox of a rehearsal server. It may be used concurrently.
type Service struct {
	*store.Store

	history *hazard.History
}

// New returns the operations on a database.
func New(s *store.Store, history *hazard.History) *Service {
	return &Service{Store: s, history: history}
}

// authorize returns not_found on a server without a sandbox, and checks the scope.
func (s *Service) authorize(ctx context.Context, caller actor.Actor, scope actor.Scope) error {
	if !s.Development {
		return apperr.Fail(apperr.CodeNotFound, "This server has no sandbox.")
	}
	return s.Authorize(ctx, caller, scope)
}
