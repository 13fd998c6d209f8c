package events

import (
	"sync/atomic"

	"parapet/model/kernel/store"
)

// Service reads the feed of events, numbers new events and verifies their chain. It may be used concurrently.
type Service struct {
	*store.Store

	relayWasBusy atomic.Bool // the last pass of the relay in this process numbered events
}

// New returns the operations on a database.
func New(s *store.Store) *Service {
	return &Service{Store: s}
}
