package webhooks

import (
	"net/url"

	"parapet/model/kernel/store"
)

// Service keeps webhook endpoints and delivers events to them. It may be used concurrently.
type Service struct {
	*store.Store

	config Config
}

// New returns the operations on a database.
func New(s *store.Store, c Config) *Service {
	if c.TargetProblem == nil {
		c.TargetProblem = func(*url.URL) string { return "" }
	}
	return &Service{Store: s, config: c}
}
