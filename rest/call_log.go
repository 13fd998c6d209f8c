package rest

import (
	"cmp"
	"net/http"

	"parapet/internal/errormap"
	"parapet/model/kernel/apperr"
)

// maxRecordedCalls limits the calls of one GraphQL request, because thousands of fields can
// fail.
const maxRecordedCalls = 20

// recordedCall is a field of a GraphQL request that changed something or failed.
type recordedCall struct {
	operation string
	refusal   *apperr.Error
}

// addCall adds a field of a GraphQL request. The caller must hold the request's lock.
func (c *requestContext) addCall(operation string, refusal *apperr.Error) {
	if len(c.calls) < maxRecordedCalls {
		c.calls = append(c.calls, recordedCall{operation, refusal})
	}
}

// recordCalls passes what a partner's request changed, and why it was refused, to OnCall.
func (s *server) recordCalls(c *requestContext) {
	if s.OnCall == nil || c.actor.Partner == "" || c.hasCallerLeft() {
		return
	}
	for _, call := range c.calls {
		status := http.StatusOK
		if call.refusal != nil {
			status = errormap.MeaningOf(call.refusal.Code).Status
		}
		s.OnCall(c.actor, c.startedAt, call.operation, status, call.refusal)
	}
	reads := c.request.Method == http.MethodGet || c.request.Method == http.MethodHead || c.route != nil && c.route.operationID == "" // of GraphQL and pages: fields are recorded above
	if c.refusal != nil || !reads && c.status < http.StatusBadRequest {
		s.OnCall(c.actor, c.startedAt, cmp.Or(c.actor.Operation, c.routePattern()), c.status, c.refusal)
	}
}
