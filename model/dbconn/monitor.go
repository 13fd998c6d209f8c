package dbconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Timing of the monitor. A server is silent if it has not answered for answerTimeout;
// the process may then have been too busy to read the answer, so it gets graceChecks
// turns of the scheduler more. The sum is below the two seconds within which callers
// get an answer.
const (
	pingInterval  = 200 * time.Millisecond
	answerTimeout = 1200 * time.Millisecond
	graceInterval = 40 * time.Millisecond
	graceChecks   = 4
)

// Reasons for a missing answer.
var (
	ErrSilent   = errors.New("the database does not answer")
	ErrReplaced = errors.New("another server has taken the place of this one")
	ErrClosed   = errors.New("the monitor of the database is closed")
)

// Monitor pings the database on its own connection. After a failover it closes all
// connections to the former server.
type Monitor struct {
	config *pgx.ConnConfig

	mu                sync.Mutex
	conns             map[*trackedConn]struct{}
	replacedAddresses map[string]bool // addresses whose server was replaced by one elsewhere
	server            serverInstance  // the server that answered last
	answeredAt        time.Time       // time of the last answer
	pingSentAt        time.Time       // when the unanswered ping was sent; zero if there is none
	lastError         error           // why there is no answer; nil while there are answers, and before the first ping
	changed           chan struct{}   // closed with every answer and every failure

	stop context.CancelFunc
	done chan struct{}
}

// serverInstance is one run of a database server.
type serverInstance struct {
	address  string
	instance string // identifies the cluster and its start time
}

// trackedConn is a database connection of the process.
type trackedConn struct {
	net.Conn

	monitor *Monitor
	address string
	opened  time.Time
}

func (c *trackedConn) Close() error {
	c.monitor.mu.Lock()
	delete(c.monitor.conns, c)
	c.monitor.mu.Unlock()
	return c.Conn.Close()
}

// NewMonitor starts a monitor; Close ends it.
func NewMonitor(ctx context.Context, url string) (*Monitor, error) {
	config, err := Config(url)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	m := &Monitor{config: config.ConnConfig, conns: map[*trackedConn]struct{}{}, replacedAddresses: map[string]bool{}, changed: make(chan struct{}), stop: stop, done: make(chan struct{})}
	go func() {
		defer close(m.done)
		m.pingUntilDone(ctx)
	}()
	return m, nil
}

// Close stops the monitor.
func (m *Monitor) Close() {
	m.stop()
	<-m.done
	m.recordAnswer(ErrClosed)
}

// Track makes the monitor end a pool's connections when their server was replaced, and
// refuse new ones to its address. It also covers cancel requests, which go to the same
// address and would keep their connection's place in the pool while they wait.
func (m *Monitor) Track(config *pgxpool.Config) {
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		began := time.Now()
		if m.isReplaced(address) {
			return nil, ErrReplaced
		}
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		c := &trackedConn{conn, m, address, began}
		m.mu.Lock()
		m.conns[c] = struct{}{}
		m.mu.Unlock()
		return c, nil
	}
}

func (m *Monitor) isReplaced(address string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.replacedAddresses[address]
}

// Alive waits for the database's next answer. It returns nil when the answer arrives,
// ErrSilent when it is late, and any other failure at once.
func (m *Monitor) Alive(ctx context.Context) error {
	m.mu.Lock()
	began, changed, failed := m.pingSentAt, m.changed, m.lastError
	m.mu.Unlock()
	if failed != nil {
		return failed
	}
	wait := answerTimeout
	if !began.IsZero() {
		wait = max(0, time.Until(began.Add(answerTimeout)))
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for looks := 0; ; {
		select {
		case <-changed:
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.lastError
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			if looks++; looks > graceChecks {
				return ErrSilent
			}
			timer.Reset(graceInterval)
		}
	}
}

// pingUntilDone keeps one connection and pings on it until ctx ends.
func (m *Monitor) pingUntilDone(ctx context.Context) {
	for ctx.Err() == nil {
		conn, at, err := m.openConn(ctx)
		switch {
		case err == nil:
			m.switchServer(at)
			for waitPingInterval(ctx) && m.pingOnce(ctx, conn) == nil {
			}
			_ = conn.Close()
		case isTooManyConnections(err):
			m.recordAnswer(nil) // this counts as an answer
			waitPingInterval(ctx)
		default:
			m.recordAnswer(err)
			waitPingInterval(ctx)
		}
	}
}

// isTooManyConnections reports whether the server is running but has no free
// connection.
func isTooManyConnections(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == "53300"
}

// monitorConn is a connection whose socket can be closed without notifying its server.
type monitorConn struct {
	*pgx.Conn

	socket net.Conn
}

func (b *monitorConn) Close() error { return b.socket.Close() }

// openConn opens the monitor's connection and reads which server it reached: a promoted
// standby has another start time than its primary.
func (m *Monitor) openConn(ctx context.Context) (*monitorConn, serverInstance, error) {
	b, at := &monitorConn{}, serverInstance{}
	config := m.config.Copy()
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		socket, err := dial(ctx, network, address)
		if b.Conn == nil { // later calls are cancel requests
			b.socket, at.address = socket, address
		}
		return socket, err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, at, fmt.Errorf("the database cannot be reached: %w", err)
	}
	b.Conn = conn
	limit, end := context.WithTimeout(ctx, connectTimeout)
	defer end()
	err = conn.QueryRow(limit, "select system_identifier || ' ' || pg_postmaster_start_time() from pg_control_system()").Scan(&at.instance)
	if err != nil {
		_ = b.Close()
		return nil, at, fmt.Errorf("the database does not say which server it is: %w", err)
	}
	return b, at, nil
}

// pingOnce sends one ping, and closes the connection if no answer arrives in time. A
// lost connection does not show whether the server is lost: the next one does.
func (m *Monitor) pingOnce(ctx context.Context, conn *monitorConn) error {
	m.mu.Lock()
	m.pingSentAt = time.Now()
	m.mu.Unlock()
	answered := make(chan error, 1)
	go func() { answered <- conn.Ping(ctx) }()
	timer := time.NewTimer(answerTimeout)
	defer timer.Stop()
	for looks := 0; ; {
		select {
		case err := <-answered:
			if err == nil {
				m.recordAnswer(nil)
			}
			return err
		case <-timer.C:
			if looks++; looks <= graceChecks {
				timer.Reset(graceInterval)
				continue
			}
			m.recordAnswer(ErrSilent)
			_ = conn.Close()
			<-answered //nolint:errcheck // the connection was closed here
			return ErrSilent
		}
	}
}

// recordAnswer stores an answer, or the reason for a missing one.
func (m *Monitor) recordAnswer(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pingSentAt, m.lastError = time.Time{}, err
	if err == nil {
		m.answeredAt = time.Now()
	}
	close(m.changed)
	m.changed = make(chan struct{})
}

// switchServer stores which server answers. If it is a new one, it ends connections
// that were opened to another address, or to this one before the former server's last
// answer.
func (m *Monitor) switchServer(at serverInstance) {
	var stale []*trackedConn
	m.mu.Lock()
	if before := m.server; before.instance != "" && before != at {
		m.replacedAddresses[before.address] = true
		for c := range m.conns {
			if c.address != at.address || c.opened.Before(m.answeredAt) {
				stale = append(stale, c)
			}
		}
	}
	delete(m.replacedAddresses, at.address)
	m.server = at
	m.mu.Unlock()
	for _, c := range stale {
		_ = c.Close()
	}
	m.recordAnswer(nil)
}

// waitPingInterval waits for the next ping; false when ctx has ended.
func waitPingInterval(ctx context.Context) bool {
	timer := time.NewTimer(pingInterval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
