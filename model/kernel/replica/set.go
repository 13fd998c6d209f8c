package replica

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/uptrace/bun"

	"parapet/model/dbconn"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/wal"
)

// The bounds that callers rely on.
const (
	MaxWait      = 200 * time.Millisecond // how long a request waits for the position that it must see
	MaxStaleness = 10 * time.Second       // how old the answer to a request without a position may be
)

const (
	observationInterval = time.Second // of each server
	observationTimeout  = time.Second
	silenceLimit        = 3 * time.Second      // after which a server without observation is not used
	pollInterval        = 5 * time.Millisecond // while a request waits
)

// Source is a database that reads run on.
type Source struct {
	Pool *pgxpool.Pool // for prepared statements
	DB   *bun.DB
}

// Set is the replicas of a primary. A nil Set has none. It is safe for concurrent use.
type Set struct {
	primary *pgxpool.Pool
	log     primaryLog
	servers []*server
	next    atomic.Uint64 // the server to begin with
	since   time.Time
	counts  readCounts
}

// New returns an empty set. probes is a pool of one connection to the primary; Close
// closes it.
func New(probes *pgxpool.Pool) *Set { return &Set{primary: probes, since: time.Now()} }

// Add adds a replica before Run, which is shown in metrics by its name: source is opened
// with the option Connect, and probes, a pool of one connection to the same server, with
// Observe. Close closes both. Errors: an address of several servers.
func (s *Set) Add(name string, source Source, probes *pgxpool.Pool) error {
	s.servers = append(s.servers, newServer(name, source, probes))
	return checkAddress(probes.Config())
}

// Run observes the primary and the replicas until ctx ends.
func (s *Set) Run(ctx context.Context) {
	tick := time.NewTicker(observationInterval)
	defer tick.Stop()
	for {
		var all sync.WaitGroup
		all.Go(func() { s.observePrimary(ctx) })
		for _, r := range s.servers {
			all.Go(func() { <-r.observe() }) //nolint:contextcheck // the requests that wait for it have other contexts
		}
		all.Wait()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// observePrimary records a sample. Without samples the replicas seem to grow stale, and
// are not used after MaxStaleness.
func (s *Set) observePrimary(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, observationTimeout)
	defer cancel()
	at := time.Now()
	position, err := wal.Read(ctx, s.primary)
	if err != nil {
		return
	}
	var system int64
	if err := s.primary.QueryRow(ctx, "select system_identifier from pg_control_system()").Scan(&system); err != nil {
		return
	}
	s.log.add(system, sample{at: at, position: position})
}

// Read runs do on a replica that may answer the request of the context, otherwise on the
// primary. When the replica fails, do runs again on the primary, so it must overwrite its
// results and return the error of its statement unchanged.
func (s *Set) Read(ctx context.Context, primary Source, do func(context.Context, Source) error) error {
	r := requestFrom(ctx)
	if s == nil || len(s.servers) == 0 || r == nil || dbconn.RequireNoTransaction(ctx) != nil {
		return do(ctx, primary)
	}
	chosen, need, why := s.choose(ctx, r)
	if chosen != nil {
		err := chosen.read(ctx, need, do)
		if isAnswer(ctx, err) {
			s.counts.add(ReasonCurrent)
			return err
		}
		chosen.noteFailure(err)
		why = ReasonFailed
	}
	s.counts.add(why)
	return do(ctx, primary)
}

// isAnswer reports whether the primary would answer the same: a result, a refusal of the
// domain, or that the caller has left.
func isAnswer(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil || errors.Is(err, pgx.ErrNoRows) || errors.Is(err, sql.ErrNoRows) {
		return true
	}
	var refused *apperr.Error
	if !errors.As(err, &refused) {
		return false
	}
	return refused.Code != apperr.CodeUnavailable && refused.Code != apperr.CodeInternal
}

// choose returns a replica that may answer now, with the position that a connection of it
// must have replayed; otherwise nil and the reason.
func (s *Set) choose(ctx context.Context, r *request) (*server, required, Reason) {
	if r.hasAfter && r.after.Timeline != s.log.timeline() {
		return nil, required{}, ReasonTimeline
	}
	var behind *server
	why := ReasonUnreachable
	first := s.next.Add(1)
	for i := range uint64(len(s.servers)) {
		candidate := s.servers[(first+i)%uint64(len(s.servers))]
		need, reason := s.judge(candidate, r)
		if reason == ReasonCurrent {
			return candidate, need, reason
		}
		if reason == ReasonBehind {
			behind = candidate
		}
		why = reason
	}
	if behind == nil {
		return nil, required{}, why
	}
	return s.awaitReplay(ctx, behind, r)
}

// awaitReplay waits until a replica may answer, at most until the request stops waiting.
func (s *Set) awaitReplay(ctx context.Context, candidate *server, r *request) (*server, required, Reason) {
	over := time.NewTimer(time.Until(r.waitDeadline(time.Now())))
	defer over.Stop()
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, required{}, ReasonBehind
		case <-over.C:
			return nil, required{}, ReasonBehind
		case <-poll.C:
		}
		select {
		case <-candidate.observe(): //nolint:contextcheck // other requests wait for it too
		case <-over.C:
			return nil, required{}, ReasonBehind
		}
		if need, reason := s.judge(candidate, r); reason != ReasonBehind {
			if reason != ReasonCurrent {
				candidate = nil
			}
			return candidate, need, reason
		}
	}
}

// judge reports whether a replica may answer the request now.
func (s *Set) judge(candidate *server, r *request) (need required, why Reason) {
	seen, reached, why := s.stateOf(candidate)
	if why != ReasonCurrent {
		return need, why
	}
	if r.hasAfter && seen.position.LSN < r.after.LSN {
		return need, ReasonBehind
	}
	return required{lsn: max(reached.position.LSN, r.after.LSN), observedAt: seen.at}, ReasonCurrent
}

// stateOf returns the last observation of a replica, the newest sample that it contains (a
// zero one if it contains none), and why it may answer no request; ReasonCurrent if it may.
func (s *Set) stateOf(candidate *server) (seen observation, reached sample, why Reason) {
	seen, err := candidate.state()
	reached = s.log.newestReached(seen.system, seen.position)
	switch {
	case err != nil:
		why = ReasonUnreachable
	case !seen.inRecovery:
		why = ReasonPromoted
	case seen.system != s.log.systemIdentifier():
		why = ReasonForeign
	case seen.position.Timeline != s.log.timeline():
		why = ReasonTimeline
	case time.Since(reached.at) > MaxStaleness:
		why = ReasonLagging
	default:
		why = ReasonCurrent
	}
	return seen, reached, why
}

// Close closes all connections.
func (s *Set) Close() {
	if s == nil {
		return
	}
	s.primary.Close()
	for _, r := range s.servers {
		r.probes.Close()
		_ = r.source.DB.Close()
		r.source.Pool.Close()
	}
}
