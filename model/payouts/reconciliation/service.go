package reconciliation

import "parapet/model/kernel/store"

// Service matches the reports of the payment rail with payouts and keeps the exceptions. It may be used concurrently.
type Service struct {
	*store.Store
}

// New returns the operations on a database.
func New(s *store.Store) *Service {
	return &Service{Store: s}
}
