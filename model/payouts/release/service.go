package release

import (
	"sync"
	"time"

	"parapet/model/kernel/store"
)

// Service sends due payouts to the payment rail and records its answers. It may be used concurrently.
type Service struct {
	*store.Store

	registeredRails    sync.Map // set of RailIdentity
	resumeCheckTimeout time.Duration
}

// New returns the operations on a database.
func New(s *store.Store, checkTimeout time.Duration) *Service {
	if checkTimeout == 0 {
		checkTimeout = resumeCheckTimeout
	}
	return &Service{Store: s, resumeCheckTimeout: checkTimeout}
}
