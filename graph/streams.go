package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"parapet/graph/node"
	"parapet/internal/errormap"
	"parapet/internal/gateway"
	"parapet/model"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
)

// Streams configures the limits of streams. Zero members mean the defaults.
type Streams struct {
	// Now checks the expiry of tokens; when nil, an expired token does not end a stream.
	Now func() time.Time
	// Heartbeat is the interval of keep-alive messages (12 s).
	Heartbeat time.Duration
	// WriteTimeout is how long a client may take to read a message (10 s). A slower
	// client's stream is closed with a reason, or without one after twice that time.
	WriteTimeout time.Duration
	// InitTimeout is how long a WebSocket may take to send connection_init (10 s).
	InitTimeout time.Duration
	// Waiters counts open subscriptions and sockets; nil has no limit. A socket and its
	// first subscription count as one.
	Waiters *gateway.Waiters
	// MaxPerSocket limits the operations of one socket (20).
	MaxPerSocket int
	// Origins are the other origins (https://console.example) whose pages may open a
	// WebSocket.
	Origins []string
}

func (s Streams) withDefaults() Streams {
	s.MaxPerSocket = cmp.Or(s.MaxPerSocket, 20)
	s.Heartbeat, s.WriteTimeout, s.InitTimeout = cmp.Or(s.Heartbeat, 12*time.Second), cmp.Or(s.WriteTimeout, 10*time.Second), cmp.Or(s.InitTimeout, 10*time.Second)
	return s
}

// streams holds all open streams, to count and to end them.
type streams struct {
	Streams

	service      *model.Service
	closing      context.Context //nolint:containedctx // ends when the server stops
	startClosing context.CancelFunc
	operations   operationCounter

	mu      sync.Mutex // orders startClosing and the growth of running
	running sync.WaitGroup
}

func newStreams(config Streams, service *model.Service) *streams {
	s := &streams{Streams: config.withDefaults(), service: service, operations: operationCounter{counts: map[string]int{}}}
	s.closing, s.startClosing = context.WithCancel(context.Background())
	return s
}

// The errors that end a stream early.
func errStopping() error {
	e := apperr.Fail(apperr.CodeUnavailable, "This server is stopping. Subscribe again after the last sequence you have; another server answers.")
	e.RetryAfter = time.Second
	return e
}

func errExpired() error {
	return apperr.Fail(apperr.CodeTokenExpired, "The access token has expired. Subscribe again with a new one, after the last sequence you have.")
}

func errReadTooSlowly() error {
	return apperr.Fail(errormap.CodeReadTooSlowly, "You did not read the events in time. Subscribe again after the last sequence you have.")
}

// closeAll ends all streams with a reason, rejects new ones and waits until the clients
// have received it.
func (s *streams) closeAll() {
	s.mu.Lock()
	s.startClosing()
	s.mu.Unlock()
	s.running.Wait()
}

// slot is a counted place among an actor's streams or operations. release frees it before
// the client learns that the stream ended, so the client can start the next one at once.
// finish also marks the stream as ended for shutdown.
type slot struct{ release, finish func() }

// acquireSlot counts one more stream of an actor. Errors: rate_limited, token_expired,
// unavailable.
func (s *streams) acquireSlot(actor actor.Actor) (slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkOpen(actor); err != nil {
		return slot{}, err
	}
	free, err := s.Waiters.Acquire(actor)
	if err != nil {
		return slot{}, err
	}
	s.running.Add(1)
	return slot{free, func() { free(); s.running.Done() }}, nil
}

// checkOpen reports why no stream of an actor may start. Errors: token_expired,
// unavailable.
func (s *streams) checkOpen(actor actor.Actor) error {
	switch {
	case s.closing.Err() != nil:
		return errStopping()
	case s.isExpired(actor):
		return errExpired()
	}
	return nil
}

func (s *streams) isExpired(actor actor.Actor) bool {
	return s.Now != nil && !actor.ExpiresAt.IsZero() && !s.Now().Before(actor.ExpiresAt)
}

// runOperation passes every response of an operation to send. It returns why the
// operation ended early; nil when it was complete or its client cancelled it.
func (s *streams) runOperation(ctx context.Context, exec graphql.GraphExecutor, operation *graphql.OperationContext, actor actor.Actor, send func(*graphql.Response) error) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = errormap.NewPanic(panicked)
		}
	}()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	ctx = node.WithReader(ctx, &node.Reader{Service: s.service, Actor: actor, Now: s.Now, End: end})
	responses, ctx := exec.DispatchOperation(graphql.WithOperationContext(ctx, operation), operation)
	for {
		response := responses(ctx)
		if err := budgetError(ctx, operation); err != nil {
			return err
		}
		if response == nil || ctx.Err() != nil {
			return endCause(ctx)
		}
		if err := send(response); err != nil {
			return err
		}
	}
}

// endCause returns why a context ended; nil when the client ended it.
func endCause(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.Canceled) {
		return nil
	}
	return cause
}

// errClientGone ends a stream whose client has left; no reason can be sent.
var errClientGone = fmt.Errorf("the client is gone: %w", context.Canceled)

// startWriteTimer starts to measure how long a client takes to read. inTime returns an
// error if it took longer than WriteTimeout.
func (s *streams) startWriteTimer() (inTime func() error) {
	if s.Now == nil {
		return func() error { return nil }
	}
	began := s.Now()
	return func() error {
		if s.Now().Sub(began) > s.WriteTimeout {
			return errReadTooSlowly()
		}
		return nil
	}
}
