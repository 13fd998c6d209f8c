package replica

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"parapet/model/kernel/wal"
)

// observation is the state of a server at a time.
type observation struct {
	at         time.Time // before the statement was sent
	inRecovery bool
	system     int64
	position   wal.Position // replayed
}

// observeSQL selects the state of a standby. The timeline is the newest that any source
// names: the receiver's is hidden from roles without pg_read_all_stats, and those of the
// control file are written later. A server never names a timeline that its replayed log
// is not part of, because it does not follow a timeline that forked off before.
const observeSQL = `select pg_is_in_recovery(), (select system_identifier from pg_control_system()), coalesce(pg_last_wal_replay_lsn() - '0/0', 0),
	greatest((select timeline_id from pg_control_checkpoint()), (select min_recovery_end_timeline from pg_control_recovery()), (select received_tli from pg_stat_wal_receiver))`

// server is one replica. It is safe for concurrent use.
type server struct {
	name   string
	source Source
	probes *pgxpool.Pool // for observations, so that slow reads do not delay them

	mu        sync.Mutex
	last      observation     // the newest
	err       error           // why the server does not answer; nil if it does
	observing chan struct{}   // closed when the running observation has ended; nil if none runs
	lost      context.Context //nolint:containedctx // of the running reads
	loseReads context.CancelFunc
}

func newServer(name string, source Source, probes *pgxpool.Pool) *server {
	s := &server{name: name, source: source, probes: probes, err: errors.New("not observed yet")}
	s.lost, s.loseReads = context.WithCancel(context.Background())
	return s
}

// observe starts an observation unless one runs, and returns a channel that closes at its
// end.
func (s *server) observe() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.observing == nil {
		s.observing = make(chan struct{})
		go s.runObservation()
	}
	return s.observing
}

func (s *server) runObservation() {
	ctx, cancel := context.WithTimeout(context.Background(), observationTimeout)
	defer cancel()
	seen := observation{at: time.Now()}
	err := s.probes.QueryRow(ctx, observeSQL).Scan(&seen.inRecovery, &seen.system, &seen.position.LSN, &seen.position.Timeline)
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.observing)
	s.observing = nil
	if s.err = err; err == nil {
		s.last = seen
		return
	}
	if time.Since(s.last.at) > silenceLimit { // its reads would wait until their requests time out
		s.loseReads()
		s.lost, s.loseReads = context.WithCancel(context.Background())
	}
}

// state returns the last observation, and the error if the server does not answer.
func (s *server) state() (observation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && time.Since(s.last.at) > silenceLimit {
		return s.last, errors.New("not observed recently")
	}
	return s.last, s.err
}

// noteFailure stops the use of a server that has failed a read, until it answers an
// observation. An error of the statement does not count.
func (s *server) noteFailure(err error) {
	var pg *pgconn.PgError
	if errors.Is(err, errBehindObservation) || errors.As(err, &pg) && pg.Code[:min(2, len(pg.Code))] != "57" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// read runs do on the server. The context ends when the server is lost.
func (s *server) read(ctx context.Context, need required, do func(context.Context, Source) error) error {
	s.mu.Lock()
	lost := s.lost
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(context.WithValue(ctx, requiredKey{}, need))
	defer cancel()
	defer context.AfterFunc(lost, cancel)() //nolint:contextcheck // the end of the server ends its reads
	return do(ctx, s.source)
}
