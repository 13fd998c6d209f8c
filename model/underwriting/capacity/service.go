package capacity

import "parapet/model/kernel/store"

// Service keeps limits of insured sums per place, and moratoria. It may be used concurrently.
type Service struct {
	*store.Store
}

// New returns the operations on a database.
func New(s *store.Store) *Service {
	return &Service{Store: s}
}
