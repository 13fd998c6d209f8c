package occurrence

import "parapet/model/kernel/store"

// Service records observations and reads the occurrences that they belong to. It may be used concurrently.
type Service struct {
	*store.Store

	rehearsalClock bool
}

// New returns the operations on a database.
func New(s *store.Store, rehearsalClock bool) *Service {
	return &Service{Store: s, rehearsalClock: rehearsalClock}
}
