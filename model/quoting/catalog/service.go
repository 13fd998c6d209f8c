package catalog

import (
	"parapet/model/hazard"
	"parapet/model/kernel/store"
)

// Service publishes and reads products. It may be used concurrently.
type Service struct {
	*store.Store

	history *hazard.History
}

// New returns the operations on a database.
func New(s *store.Store, history *hazard.History) *Service {
	return &Service{Store: s, history: history}
}
