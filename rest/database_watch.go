package rest

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// slowAfter is the duration after which a request is watched: with a ping's own time it
// stays under the 2 s within which a lost database must be reported.
const slowAfter = 400 * time.Millisecond

// watchPause is the pause between two pings while requests are watched.
const watchPause = 50 * time.Millisecond

// errDatabaseLost ends the context of a request whose database does not answer.
var errDatabaseLost = fmt.Errorf("the database does not answer: %w", context.DeadlineExceeded)

// databaseWatch pings the database for all slow requests of a server together: thousands
// of them wait for events, and each costs a map entry.
type databaseWatch struct {
	ping func(context.Context) error

	mu      sync.Mutex
	pinging bool
	slow    map[*watchedRequest]struct{}
}

// watchedRequest is one request and how to end it.
type watchedRequest struct {
	giveUp context.CancelCauseFunc

	// Guarded by databaseWatch.mu:
	ended   bool
	waiting bool // it does not need the database now
}

// watchDatabase cancels the request as soon as its database does not answer. A slow but
// answering database is waited for. stop ends the watch; setWaiting pauses and resumes it
// while the request does not need the database.
func (s *server) watchDatabase(giveUp context.CancelCauseFunc) (stop func(), setWaiting func(bool)) {
	if s.PingDatabase == nil {
		return func() {}, func(bool) {}
	}
	request := &watchedRequest{giveUp: giveUp}
	timer := time.AfterFunc(slowAfter, func() { s.watch.add(request) })
	stop = func() {
		if !timer.Stop() {
			s.watch.remove(request)
		}
	}
	return stop, func(waiting bool) {
		s.watch.mu.Lock()
		defer s.watch.mu.Unlock()
		request.waiting = waiting
	}
}

func (w *databaseWatch) add(request *watchedRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if request.ended {
		return
	}
	if w.slow == nil {
		w.slow = make(map[*watchedRequest]struct{})
	}
	w.slow[request] = struct{}{}
	if !w.pinging {
		w.pinging = true
		go w.pingWhileSlow()
	}
}

func (w *databaseWatch) remove(request *watchedRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	request.ended = true
	delete(w.slow, request)
}

// pingWhileSlow pings until no request is watched, and ends those that need the database
// after a failure.
func (w *databaseWatch) pingWhileSlow() {
	for {
		failed := w.ping(context.Background()) != nil
		w.mu.Lock()
		if failed {
			for request := range w.slow {
				if !request.waiting {
					request.giveUp(errDatabaseLost)
					delete(w.slow, request)
				}
			}
		}
		w.pinging = len(w.slow) > 0
		goesOn := w.pinging
		w.mu.Unlock()
		if !goesOn {
			return
		}
		<-time.After(watchPause)
	}
}
