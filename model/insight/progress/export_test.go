package progress

import (
	"slices"

	"parapet/model/kernel/store"
)

// Subscribers returns the number of subscribers of each progress that is followed.
func (s *Service) Subscribers() (waiters []int) {
	f := store.Local[feeds](s.Store)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, followed := range f.byKey {
		waiters = append(waiters, followed.waiters)
	}
	slices.Sort(waiters)
	return waiters
}
