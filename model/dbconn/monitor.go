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

// How the monitor asks. A server is silent when it has not answered for answerTimeout;
// then the process may have been too busy to read the answer, so it is given
// graceChecks turns of the scheduler more. Together this stays below the two seconds
// within which callers are told.
const (
	pingInterval  = 200 * time.Millisecond
	answerTimeout = 1200 * time.Millisecond
	graceInterval = 40 * time.Millisecond
	graceChecks   = 4
)

// Why there is no answer.
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
	server            serverInstance  // which one answered last
	answeredAt        time.Time       // when it did
	pingSentAt        time.Time       // when the question that waits was sent; zero when none does
	lastError         error           // why there is no answer; nil while there are, and before the first question
	changed           chan struct{}   // closed with every answer and every failure

	stop context.CancelFunc
	done chan struct{}
}

// serverInstance is one run of a database server.
type serverInstance struct {
	address  string
	instance string // of which cluster it is, and when it was started
}

// trackedConn is a connection of the process to the database.
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

// NewMonitor begins to ask; Close ends it.
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

// Close stops asking.
func (m *Monitor) Close() {
	m.stop()
	<-m.done
	m.recordAnswer(ErrClosed)
}

// Track has the monitor end a pool's connections when their server was replaced, and
// refuse new ones to where it was. A cancel request goes there too, and would keep its
// connection's place in the pool for as long as it waits.
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

// Alive waits for the database's next answer: nil when it came, ErrSilent when it did
// not come in time, at once the reason why there is none.
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

// pingUntilDone keeps one connection and asks on it, until ctx ends.
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
			m.recordAnswer(nil) // that is an answer
			waitPingInterval(ctx)
		default:
			m.recordAnswer(err)
			waitPingInterval(ctx)
		}
	}
}

// isTooManyConnections tells whether the server is there and has no connection left for us.
func isTooManyConnections(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == "53300"
}

// monitorConn is a connection whose socket can be closed without a word to its server.
type monitorConn struct {
	*pgx.Conn

	socket net.Conn
}

func (b *monitorConn) Close() error { return b.socket.Close() }

// openConn opens the monitor's connection and reads which server it leads to: a promoted
// standby was started at another time than its primary.
func (m *Monitor) openConn(ctx context.Context) (*monitorConn, serverInstance, error) {
	b, at := &monitorConn{}, serverInstance{}
	config := m.config.Copy()
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		socket, err := dial(ctx, network, address)
		if b.Conn == nil { // later calls cancel a query
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

// pingOnce asks once, and closes the connection when no answer came in time. A connection
// that ended says nothing of the server: that is for the next one to say.
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

// recordAnswer keeps an answer, or why there is none.
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

// switchServer keeps which server answers. Where it is another one, connections end that were
// opened elsewhere, or here before the other one gave its last answer.
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

// waitPingInterval waits until it is time to ask again; false when ctx has ended.
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
