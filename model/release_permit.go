package model

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrReleasesStopped says that nothing may be sent to a rail now.
var ErrReleasesStopped = errors.New("releases are stopped")

// ErrSendSessionLost ends a send whose process lost the database session that permits
// it: a stop does not wait for it any more.
var ErrSendSessionLost = errors.New("the database session that permits sending was lost")

// The advisory locks of releases, in shared mode only. An intent holds the first while
// its transaction lasts; a process holds the second, in a session of its own, while any
// order leaves it. Nobody takes them exclusively: a stop commits its row and then waits
// until those that held them before have let go (see waitForSends), so that nobody queues
// for a lock with a connection that others need.
const (
	lockIntentSQL    = "select pg_advisory_xact_lock_shared(hashtext('release stop'), 0)"
	lockSendingSQL   = "select pg_advisory_lock_shared(hashtext('release stop'), 1)"
	unlockSendingSQL = "select pg_advisory_unlock_shared(hashtext('release stop'), 1)"
	isStoppedSQL     = "select exists (select from release_stops where resumed_at is null)"
)

const (
	sessionTimeout       = 5 * time.Second        // of one statement of the session
	sessionCheckInterval = 500 * time.Millisecond // between two looks whether it is alive
	maxIdleChecks        = 40                     // looks after which a session without sends is closed
)

// sendSession is the database session in which this process holds lockSendingSQL while
// orders leave it: one for all of them, outside the pool, so that slow rails take no
// connection from others. Sends end when the session does.
type sendSession struct {
	connect func(context.Context) (*pgx.Conn, error)

	mu          sync.Mutex
	conn        *pgx.Conn // nil while there is none
	activeSends int       // sends that hold the lock through conn
	aliveCtx    context.Context
	cancelAlive context.CancelCauseFunc
}

// newSendSession prepares the session; it does not connect yet.
func newSendSession(config *pgx.ConnConfig) *sendSession {
	config = config.Copy()
	config.RuntimeParams["application_name"] = "parapet sends"
	// Where the machine is gone and not only the process, nobody else ends the session,
	// and stops would wait for it.
	config.RuntimeParams["tcp_keepalives_idle"] = "10"
	config.RuntimeParams["tcp_keepalives_interval"] = "5"
	config.RuntimeParams["tcp_keepalives_count"] = "3"
	return &sendSession{connect: func(ctx context.Context) (*pgx.Conn, error) { return pgx.ConnectConfig(ctx, config) }}
}

// SendPermit is the permission to let one order, or one file, leave. It is ended once.
type SendPermit struct {
	session *sendSession
	conn    *pgx.Conn
	cancel  func() // lets go of the send's context
}

// BeginSend permits one send: from its return to End a stop of releases waits for it.
// The context it returns ends with ErrSendSessionLost when the permission is lost; what
// was not sent by then must not be. Errors: ErrReleasesStopped; any other means that
// the database cannot be asked. Safe for concurrent use.
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

// Confirm asks whether the permission still stands, for right before the last byte.
func (p *SendPermit) Confirm(ctx context.Context) error {
	p.session.mu.Lock()
	defer p.session.mu.Unlock()
	if p.session.conn != p.conn {
		return ErrSendSessionLost
	}
	_, err := p.session.isStopped(ctx)
	return err
}

// End gives the permission back.
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

// acquirePermit takes the lock, where no other send holds it already, and looks for a stop
// after that: one that this look does not see finds the lock. It looks before, too, so
// that a process does not take the lock again and again while releases are stopped.
func (s *sendSession) acquirePermit(ctx context.Context) (*SendPermit, context.Context, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stopped, err := s.isStopped(ctx)
	if err != nil && s.conn == nil { // it may have ended while nothing was sent
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

// isStopped asks whether releases are stopped, and so whether the session is alive.
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

// run runs a statement of the session, which it opens where there is none. A caller
// that gives up does not end the session of all the others; a statement that fails does.
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
		go s.watchConn(conn) //nolint:contextcheck // the session outlives who opened it
	}
	if err := statement(ctx); err != nil {
		s.close() //nolint:contextcheck // it ends whatever the context
		return fmt.Errorf("%w: %w", ErrSendSessionLost, err)
	}
	return nil
}

// close ends the session, and with it what is being sent.
func (s *sendSession) close() {
	s.cancelAlive(ErrSendSessionLost)
	ctx, cancel := context.WithTimeout(context.Background(), sessionTimeout)
	defer cancel()
	_ = s.conn.Close(ctx)
	s.conn = nil
}

// watchConn notices when a session ends while orders leave, and closes one that nobody
// needs.
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

// checkConn asks a session in use whether it is alive; false when it is not the session
// any more.
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
