package replica

import (
	"context"
	"time"
)

// ErrBehindObservation is the error of checkConnection.
var ErrBehindObservation = errBehindObservation

// WithRequired returns the context of a read that relies on an observation.
func WithRequired(ctx context.Context, lsn uint64, observedAt time.Time) context.Context {
	return context.WithValue(ctx, requiredKey{}, required{lsn: lsn, observedAt: observedAt})
}
