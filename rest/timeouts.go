package rest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"parapet/model/events"
)

// requestedWait returns how long the response may wait for an event: the parameter wait,
// which only the feed accepts.
func requestedWait(r *http.Request) time.Duration {
	if !strings.Contains(r.URL.RawQuery, "wait=") {
		return 0
	}
	seconds, err := strconv.Atoi(r.URL.Query().Get("wait"))
	if err != nil {
		return 0
	}
	return min(max(0, time.Duration(seconds)*time.Second), events.MaxEventWait)
}

// bodyTimeout limits the arrival of a body: 10 MiB in base64 at 6 Mbit/s. A caller that
// sends a byte now and then must not keep a connection.
const bodyTimeout = 20 * time.Second

// limitBodyTime limits the arrival of a body if there is a clock; lift removes the limit.
func (c *requestContext) limitBodyTime() (lift func()) {
	if c.startedAt.IsZero() {
		return func() {}
	}
	control := http.NewResponseController(c.ResponseWriter)
	if control.SetReadDeadline(c.startedAt.Add(bodyTimeout)) != nil {
		return func() {} // not a connection
	}
	return func() { _ = control.SetReadDeadline(time.Time{}) }
}

// defaultWriteTimeout is how long a caller may take to read a response: 10 MiB at 3
// Mbit/s. A caller that reads a byte now and then must not keep a response in memory.
const defaultWriteTimeout = 30 * time.Second

// limitWriteTime limits the time for reading the response that begins now, unless it is a
// stream.
func (c *requestContext) limitWriteTime() {
	if c.writeTimeout > 0 && !c.unlimitedTime {
		_ = http.NewResponseController(c.ResponseWriter).SetWriteDeadline(time.Now().Add(c.writeTimeout)) // an error means that it is not a connection
	}
}

// isConnectionLoss reports whether an unmapped error is a broken connection or a lost
// database.
func (s *server) isConnectionLoss(ctx context.Context, err error) bool {
	var broken net.Error
	if errors.As(err, &broken) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return true
	}
	if s.PingDatabase == nil {
		return false
	}
	return s.PingDatabase(context.WithoutCancel(ctx)) != nil
}

// withoutDeadline returns a context for a stream. It ends with the connection or when the
// returned function is called, not after requestTimeout.
func (c *requestContext) withoutDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	c.stopWatchdog()
	c.unlimitedTime = true
	lasting, end := context.WithCancel(context.WithoutCancel(ctx))
	release := context.AfterFunc(c.connectionCtx, end)
	return lasting, func() { release(); end() }
}
