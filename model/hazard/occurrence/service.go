package occurrence

import "parapet/model/kernel/store"

// Service records observations and reads the occurrences that they belong to. It may be used concurrently.
type Service struct {
	*store.Store
}

// New returns the operations on a database.
func New(s *store.Store) *Service {
	return &Service{Store: s}
}

// RehearsalSettings are the settings of a rehearsal server; see store.Local.
type RehearsalSettings struct {
	// PartnersMoveClock lets every partner move the business clock that all share.
	PartnersMoveClock bool
}
