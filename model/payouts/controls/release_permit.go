package controls

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrReleasesStopped means that nothing may be sent to a rail now.
var ErrReleasesStopped = errors.New("releases are stopped")

// ErrSendSessionLost ends a send whose process lost the database session that permits
// it: a stop no longer waits for this send.
var ErrSendSessionLost = errors.New("the database session that permits sending was lost")

// Advisory locks of releases, taken in shared mode only. An intent holds the first
// during its transaction; a process holds the second, in a session of its own, while it
// sends any order. No lock is taken exclusively: a stop commits its row and then waits
// until the earlier holders have released their locks (see waitForSends), so that no
// caller waits for a lock while it holds a connection that others need.
const (
	lockIntentSQL    = "select pg_advisory_xact_lock_shared(hashtext('release stop'), 0)"
	lockSendingSQL   = "select pg_advisory_lock_shared(hashtext('release stop'), 1)"
	unlockSendingSQL = "select pg_advisory_unlock_shared(hashtext('release stop'), 1)"
	isStoppedSQL     = "select exists (select from release_stops where resumed_at is null)"
)

const (
	sessionTimeout       = 5 * time.Second        // per statement of the session
	sessionCheckInterval = 500 * time.Millisecond // between two checks that the session is alive
	maxIdleChecks        = 40                     // idle checks before a session without sends is closed
)

// sendSession is the database session in which this process holds lockSendingSQL while
// it sends orders: one for all sends, outside the pool, so that slow rails occupy no
// pooled connection. Sends end when the session ends.
type sendSession struct {
	connect func(context.Context) (*pgx.Conn, error)

	mu          sync.Mutex
	conn        *pgx.Conn // nil while not connected
	activeSends int       // sends that hold the lock through conn
	aliveCtx    context.Context
	cancelAlive context.CancelCauseFunc
}

// newSendSession prepares the session without connecting.
func newSendSession(config *pgx.ConnConfig) *sendSession {
	config = config.Copy()
	config.RuntimeParams["application_name"] = "parapet sends"
	// If the whole machine fails, only keepalives end the session; stops would
	// otherwise wait for it.
	config.RuntimeParams["tcp_keepalives_idle"] = "10"
	config.RuntimeParams["tcp_keepalives_interval"] = "5"
	config.RuntimeParams["tcp_keepalives_count"] = "3"
	return &sendSession{connect: func(ctx context.Context) (*pgx.Conn, error) { return pgx.ConnectConfig(ctx, config) }}
}

// SendPermit permits one order, or one file, to be sent. End it once.
type SendPermit struct {
	session *sendSession
	conn    *pgx.Conn
	cancel  func() // cancels the send's context
}

// BeginSend permits one send: a stop of releases waits for it until End. The returned
// context is cancelled with ErrSendSessionLost when the permit is lost; after that
// nothing may be sent. Errors: ErrReleasesStopped; any other error means that the
// database is not reachable. Safe for concurrent use.
func (s *Service) BeginSend(ctx context.Context) (context.Context, *SendPermit, error) {
	sending, alive, err := s.releaseSession.acquirePermit(ctx)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	detach := context.AfterFunc(alive, func() { cancel(ErrSendSessionLost) })
	sending.cancel = func() { detach(); cancel(context.Canceled) }
	return ctx, sending, nil
}

// Confirm checks that the permit is still valid, immediately before the last byte is
// sent.
func (p *SendPermit) Confirm(ctx context.Context) error {
	p.session.mu.Lock()
	defer p.session.mu.Unlock()
	if p.session.conn != p.conn {
		return ErrSendSessionLost
	}
	_, err := p.session.isStopped(ctx)
	return err
}

// End releases the permit.
func (p *SendPermit) End() {
	p.cancel()
	s := p.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != p.conn {
		return // the session was lost, and the lock with it
	}
	if s.activeSends--; s.activeSends == 0 {
		_ = s.exec(context.Background(), unlockSendingSQL)
	}
}

// acquirePermit takes the lock, unless another send holds it already, and then checks
// for a stop: a stop that this check misses sees the lock. It also checks before, so
// that the process does not take the lock repeatedly while releases are stopped.
func (s *sendSession) acquirePermit(ctx context.Context) (*SendPermit, context.Context, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stopped, err := s.isStopped(ctx)
	if err != nil && s.conn == nil { // an idle session may have ended
		stopped, err = s.isStopped(ctx)
	}
	if err == nil && !stopped && s.activeSends == 0 {
		if err = s.exec(ctx, lockSendingSQL); err == nil {
			stopped, err = s.isStopped(ctx)
		}
		if err == nil && stopped {
			err = s.exec(ctx, unlockSendingSQL)
		}
	}
	switch {
	case err != nil:
		return nil, nil, err
	case stopped:
		return nil, nil, ErrReleasesStopped
	}
	s.activeSends++
	return &SendPermit{session: s, conn: s.conn}, s.aliveCtx, nil
}

// isStopped reports whether releases are stopped. Its success also shows that the
// session is alive.
func (s *sendSession) isStopped(ctx context.Context) (stopped bool, err error) {
	err = s.run(ctx, func(ctx context.Context) error { return s.conn.QueryRow(ctx, isStoppedSQL).Scan(&stopped) })
	return stopped, err
}

func (s *sendSession) exec(ctx context.Context, statement string) error {
	return s.run(ctx, func(ctx context.Context) error {
		_, err := s.conn.Exec(ctx, statement)
		return err
	})
}

// run runs a statement of the session, which it opens if necessary. A caller that gives
// up does not end the session for the others; a failed statement does.
func (s *sendSession) run(ctx context.Context, statement func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sessionTimeout)
	defer cancel()
	if s.conn == nil {
		conn, err := s.connect(ctx)
		if err != nil {
			return fmt.Errorf("open the session of sends: %w", err)
		}
		s.conn, s.activeSends = conn, 0
		s.aliveCtx, s.cancelAlive = context.WithCancelCause(context.Background())
		go s.watchConn(conn) //nolint:contextcheck // the session outlives its opener
	}
	if err := statement(ctx); err != nil {
		s.close() //nolint:contextcheck // it closes in any context
		return fmt.Errorf("%w: %w", ErrSendSessionLost, err)
	}
	return nil
}

// close ends the session and cancels the running sends.
func (s *sendSession) close() {
	s.cancelAlive(ErrSendSessionLost)
	ctx, cancel := context.WithTimeout(context.Background(), sessionTimeout)
	defer cancel()
	_ = s.conn.Close(ctx)
	s.conn = nil
}

// watchConn detects the end of a session while orders are sent, and closes an unused
// session.
func (s *sendSession) watchConn(conn *pgx.Conn) {
	look := time.NewTicker(sessionCheckInterval)
	defer look.Stop()
	for idle := 0; ; {
		<-look.C
		if idle++; !s.checkConn(conn, &idle) {
			return
		}
	}
}

// checkConn reports whether conn is still the session's and alive.
func (s *sendSession) checkConn(conn *pgx.Conn, idle *int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.conn != conn:
		return false
	case s.activeSends > 0:
		*idle = 0
		_, err := s.isStopped(context.Background())
		return err == nil
	case *idle >= maxIdleChecks:
		s.close()
		return false
	default:
		return true
	}
}
