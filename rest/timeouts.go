package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"parapet/model"
)

// patience is after how long a request asks whether the database answers: with the time
// that has to answer, less than the two seconds within which a lost database is told.
const patience = 400 * time.Millisecond

// granted is how long a request wants its answer to wait for something to happen: the
// parameter wait, which only the feed takes.
func granted(r *http.Request) time.Duration {
	if !strings.Contains(r.URL.RawQuery, "wait=") {
		return 0
	}
	seconds, err := strconv.Atoi(r.URL.Query().Get("wait"))
	if err != nil {
		return 0
	}
	return min(max(0, time.Duration(seconds)*time.Second), model.MaxEventWait)
}

// errDatabaseSilent ends the context of a request whose database does not answer.
var errDatabaseSilent = fmt.Errorf("the database does not answer: %w", context.DeadlineExceeded)

// watch gives a request up as soon as its database is silent. A slow answer of
// one that lives is waited for. What it returns ends the watch.
func (d *door) watch(ctx context.Context, giveUp context.CancelCauseFunc) (stop func()) {
	if d.Alive == nil {
		return func() {}
	}
	var timer *time.Timer
	armed := make(chan struct{})
	timer = time.AfterFunc(patience, func() {
		<-armed
		if d.Alive(ctx) != nil {
			giveUp(errDatabaseSilent)
			return
		}
		timer.Reset(patience)
	})
	close(armed)
	return func() { timer.Stop() }
}

// bodyTimeout is how long a body may take to arrive: 10 MiB in base64 at
// 6 Mbit/s. A caller who sends a byte now and then must not keep a connection.
const bodyTimeout = 20 * time.Second

// hurry bounds the arrival of a body, where there is a clock; what it returns
// lifts the bound.
func (c *call) hurry() (lift func()) {
	if c.began.IsZero() {
		return func() {}
	}
	control := http.NewResponseController(c.ResponseWriter)
	if control.SetReadDeadline(c.began.Add(bodyTimeout)) != nil {
		return func() {} // not a connection
	}
	return func() { _ = control.SetReadDeadline(time.Time{}) }
}

// readTimeout is how long a caller may take to read an answer, 10 MiB at 3 Mbit/s. One who
// reads a byte now and then must not keep an answer in memory.
const readTimeout = 30 * time.Second

// boundReading bounds the time in which the answer that begins now is read, unless it
// goes on by design.
func (c *call) boundReading() {
	if c.readWithin > 0 && !c.lasts {
		_ = http.NewResponseController(c.ResponseWriter).SetWriteDeadline(time.Now().Add(c.readWithin)) // else it is not a connection
	}
}

// lost tells whether an error that nobody explained comes from a connection that
// broke, or from a database that is not there any more.
func (d *door) lost(ctx context.Context, err error) bool {
	var broken net.Error
	if errors.As(err, &broken) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return true
	}
	if d.Alive == nil {
		return false
	}
	return d.Alive(context.WithoutCancel(ctx)) != nil
}

// lasting is a context for an answer that goes on: it ends with the connection, or
// when the caller of lasting says so, and not with the time that requests have.
func (c *call) lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	c.unbound()
	c.lasts = true
	lasting, end := context.WithCancel(context.WithoutCancel(ctx))
	release := context.AfterFunc(c.connection, end)
	return lasting, func() { release(); end() }
}
