package catalog

import "parapet/model/kernel/store"

// Service publishes and reads products, and the price history. It may be used concurrently.
type Service struct{ *store.Store }

// New returns the operations on a database.
func New(s *store.Store) *Service { return &Service{Store: s} }
