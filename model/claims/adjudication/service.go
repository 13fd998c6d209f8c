package adjudication

import "parapet/model/kernel/store"

// Service opens claims for occurrences and decides them. It may be used concurrently.
type Service struct {
	*store.Store

	sliceSize int // policies of a slice; fewer while the process answers requests
}

// New returns the operations on a database.
func New(s *store.Store) *Service {
	return &Service{Store: s, sliceSize: MatchBatchSize}
}
