package webhooks

import (
	"net/url"
	"time"
)

// Config configures the sending of events to partners' endpoints.
type Config struct {
	// TargetProblem returns why an address must not be called, empty if it may be; nil
	// accepts every address.
	TargetProblem func(*url.URL) string
	// DelayDivisor divides the delays between attempts in development; 0 and 1 keep
	// them.
	DelayDivisor int
}

func (w Config) scaleDelay(wait time.Duration) time.Duration {
	return wait / time.Duration(max(1, w.DelayDivisor))
}
