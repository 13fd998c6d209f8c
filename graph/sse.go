package graph

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"parapet/internal/visit"
	"parapet/model"
)

// eventType is the media type of server-sent events.
const eventType = "text/event-stream"

// wantsEvents tells whether a client names server-sent events: one that takes
// anything does not mean them.
func wantsEvents(accept []string) bool {
	ranges := strings.Join(accept, ",")
	return strings.Contains(ranges, eventType) && weight(ranges, eventType) > 0
}

// events are one answer as server-sent events, in the distinct connections mode of
// the GraphQL over SSE protocol: next for every response, complete at the end.
type events struct {
	streams *streams
	w       http.ResponseWriter
	control *http.ResponseController

	mu sync.Mutex
}

// over answers an operation, or says why it cannot run. What lasts is counted and
// bound to the actor's token; a query is neither.
func (s *streams) over(ctx context.Context, w http.ResponseWriter, exec graphql.GraphExecutor, operation *graphql.OperationContext, refusals gqlerror.List, actor model.Actor) {
	e := &events{streams: s, w: w, control: http.NewResponseController(w)}
	if len(refusals) > 0 {
		e.begin()
		_ = e.next(exec.DispatchError(ctx, refusals))
		e.complete()
		return
	}
	if operation.Operation.Operation != ast.Subscription {
		e.begin()
		e.end(ctx, s.run(ctx, exec, operation, actor, e.next))
		return
	}
	seat, err := s.enter(actor)
	if err != nil {
		refuse(ctx, w, responseType, err)
		return
	}
	defer seat.leave()
	ctx, release := visit.From(ctx).Lasting(ctx)
	defer release()
	// The server's bounds of time are those of a request; what is not a connection
	// has none.
	_ = e.control.SetReadDeadline(time.Time{})
	_ = e.control.SetWriteDeadline(time.Time{})
	e.begin()
	kept, end := context.WithCancelCause(ctx)
	var keeping sync.WaitGroup
	keeping.Go(func() { s.keep(kept, actor, end, func() error { return e.send([]byte(":\n\n")) }) })
	err = s.run(kept, exec, operation, actor, e.next)
	end(nil)
	keeping.Wait()
	seat.free()
	e.end(ctx, err)
}

func (e *events) begin() {
	header := e.w.Header()
	header.Set("Content-Type", eventType+"; charset=utf-8")
	header.Set("X-Accel-Buffering", "no") // proxies that collect would keep everything
	header.Set("X-Content-Type-Options", "nosniff")
	e.w.WriteHeader(http.StatusOK)
	_ = e.send([]byte(":\n\n"))
}

func (e *events) next(response *graphql.Response) error {
	var event bytes.Buffer
	event.WriteString("event: next\ndata: ")
	event.Write(oneLine(inOne(response)))
	event.WriteString("\n\n")
	return e.send(event.Bytes())
}

// oneLine is JSON without line breaks, which stand between its tokens only.
func oneLine(text []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\n"), []byte(" ")), []byte("\r"), []byte(" "))
}

// end says why, when there is a reason, and that nothing follows.
func (e *events) end(ctx context.Context, err error) {
	if err != nil && !errors.Is(err, errGone) {
		_ = e.next(&graphql.Response{Errors: gqlerror.List{present(ctx, err)}})
	}
	e.complete()
}

func (e *events) complete() { _ = e.send([]byte("event: complete\ndata:\n\n")) }

// send writes, and cuts a client off that does not read. Errors: read_too_slowly,
// when it has read at last, and the connection's own.
func (e *events) send(text []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	cut := time.AfterFunc(2*e.streams.Patience, func() { _ = e.control.SetWriteDeadline(time.Unix(1, 0)) })
	defer cut.Stop()
	inTime := e.streams.watch()
	if _, err := e.w.Write(text); err != nil {
		return errGone
	}
	if err := e.control.Flush(); err != nil {
		return errGone
	}
	return inTime()
}
