package quoting

import "parapet/model/kernel/store"

// Service prices and reads quotes. It may be used concurrently.
type Service struct{ *store.Store }

// New returns the operations on a database.
func New(s *store.Store) *Service { return &Service{Store: s} }
