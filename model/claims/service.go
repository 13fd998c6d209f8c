package claims

import "parapet/model/kernel/store"

// Service reads claims, their timelines and payouts, and adds attachments and messages. It may be used concurrently.
type Service struct {
	*store.Store
}

// New returns the operations on a database.
func New(s *store.Store) *Service {
	return &Service{Store: s}
}
