package operations

import "parapet/model/kernel/store"

// Service runs the periodic work and the operators' maintenance. It may be used concurrently.
type Service struct {
	*store.Store

	jobs JobAdmin
}

// New returns the operations on a database.
func New(s *store.Store, jobs JobAdmin) *Service {
	return &Service{Store: s, jobs: jobs}
}
