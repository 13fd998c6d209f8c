package audit

import "parapet/model/kernel/store"

// Service reads the audit log and the operators' actions, and counts refusals. It may be used concurrently.
type Service struct {
	*store.Store

	refusalCounts refusalLog
	calls         callLog
}

// New returns the operations on a database.
func New(s *store.Store) *Service {
	return &Service{Store: s}
}
