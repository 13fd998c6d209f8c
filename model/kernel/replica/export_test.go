package replica

import (
	"context"
	"time"

	"parapet/model/kernel/wal"
)

// ErrBehindObservation is the error of checkConnection.
var ErrBehindObservation = errBehindObservation

// WithRequired returns the context of a read that relies on an observation.
func WithRequired(ctx context.Context, lsn uint64, observedAt time.Time) context.Context {
	return context.WithValue(ctx, requiredKey{}, required{lsn: lsn, observedAt: observedAt})
}

// NewObserved returns a set whose primary had written a position, and whose replica has
// replayed another one.
func NewObserved(written, replayed wal.Position) *Set {
	set := New(nil)
	r := newServer("standby", Source{}, nil)
	r.last, r.err = observation{at: time.Now(), inRecovery: true, position: replayed}, nil
	set.servers = append(set.servers, r)
	set.log.add(0, sample{at: time.Now(), position: written})
	return set
}
