package partners

import "parapet/model/kernel/store"

// Service registers partners and reads their quotas. It may be used concurrently.
type Service struct {
	*store.Store
}

// New returns the operations on a database.
func New(s *store.Store) *Service {
	return &Service{Store: s}
}
