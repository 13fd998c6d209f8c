package scenario

import "parapet/model/kernel/store"

// Service evaluates policies against recorded and hypothetical occurrences and changes nothing. It may be used concurrently.
type Service struct {
	*store.Store
}

// New returns the operations on a database.
func New(s *store.Store) *Service {
	return &Service{Store: s}
}
