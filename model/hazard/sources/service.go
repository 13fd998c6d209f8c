package sources

import "parapet/model/kernel/store"

// Service registers sources and shows their health. It may be used concurrently.
type Service struct{ *store.Store }

// New returns the operations on a database.
func New(s *store.Store) *Service { return &Service{Store: s} }
