package controls

import (
	"context"
	"time"

	"parapet/model/kernel/store"
)

// Service stops releases, issues permits to send, and checks the invariants. It may be used concurrently.
type Service struct {
	*store.Store

	releaseSession *sendSession
	sleep          func(context.Context, time.Duration) error
}

// New returns the operations on a database.
func New(s *store.Store, sleep func(context.Context, time.Duration) error) *Service {
	if sleep == nil {
		sleep = sleepFor
	}
	return &Service{Store: s, releaseSession: newSendSession(s.Pool.Config().ConnConfig), sleep: sleep}
}
