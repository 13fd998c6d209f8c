package payouts

import "parapet/model/kernel/store"

// Service keeps payout methods and lets operators act on payouts. It may be used concurrently.
type Service struct {
	*store.Store
}

// New returns the operations on a database.
func New(s *store.Store) *Service {
	return &Service{Store: s}
}
