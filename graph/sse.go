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

	"parapet/internal/gateway"
	"parapet/model/kernel/actor"
)

// eventStreamType is the media type of server-sent events.
const eventStreamType = "text/event-stream"

// acceptsEventStream reports whether a client accepts server-sent events explicitly; a
// wildcard does not count.
func acceptsEventStream(accept []string) bool {
	ranges := strings.Join(accept, ",")
	return strings.Contains(ranges, eventStreamType) && acceptWeight(ranges, eventStreamType) > 0
}

// eventWriter writes one response as server-sent events, in the distinct connections mode
// of the GraphQL over SSE protocol: next for every response, complete at the end.
type eventWriter struct {
	streams *streams
	w       http.ResponseWriter
	control *http.ResponseController

	mu sync.Mutex
}

// serveEvents answers an operation or writes the errors why it cannot run. A subscription
// is counted and ends with the actor's token; a query is not.
func (s *streams) serveEvents(ctx context.Context, w http.ResponseWriter, exec graphql.GraphExecutor, operation *graphql.OperationContext, refusals gqlerror.List, actor actor.Actor) {
	e := &eventWriter{streams: s, w: w, control: http.NewResponseController(w)}
	if len(refusals) > 0 {
		e.writeHeader()
		_ = e.writeResponse(exec.DispatchError(ctx, refusals))
		e.writeComplete()
		return
	}
	if operation.Operation.Operation != ast.Subscription {
		var response *graphql.Response
		err := s.runOperation(ctx, exec, operation, actor, func(only *graphql.Response) error {
			response = only
			return nil
		})
		e.writeHeader() // after the operation, which sets Parapet-Read-After and Idempotent-Replayed
		if response != nil {
			_ = e.writeResponse(response) // an error is the lost client's
		}
		e.writeEnd(ctx, err)
		return
	}
	slot, err := s.acquireSlot(actor)
	if err != nil {
		writeError(ctx, w, responseType, err)
		return
	}
	defer slot.finish()
	ctx, release := gateway.FromContext(ctx).WithoutDeadline(ctx)
	defer release()
	// Remove the server's deadlines, which are meant for short requests. A writer without
	// a connection has none.
	_ = e.control.SetReadDeadline(time.Time{})
	_ = e.control.SetWriteDeadline(time.Time{})
	e.writeHeader()
	kept, end := context.WithCancelCause(ctx)
	stopKeepAlive := s.startKeepAlive(kept, actor, end, func() error { return e.writeText([]byte(":\n\n")) })
	err = s.runOperation(kept, exec, operation, actor, e.writeResponse)
	end(nil)
	stopKeepAlive()
	slot.release()
	e.writeEnd(ctx, err)
}

func (e *eventWriter) writeHeader() {
	header := e.w.Header()
	header.Set("Content-Type", eventStreamType+"; charset=utf-8")
	header.Set("X-Accel-Buffering", "no") // otherwise buffering proxies would hold back all events
	header.Set("X-Content-Type-Options", "nosniff")
	e.w.WriteHeader(http.StatusOK)
	_ = e.writeText([]byte(":\n\n"))
}

func (e *eventWriter) writeResponse(response *graphql.Response) error {
	var event bytes.Buffer
	event.WriteString("event: next\ndata: ")
	event.Write(oneLine(joinResponse(response)))
	event.WriteString("\n\n")
	return e.writeText(event.Bytes())
}

// oneLine returns JSON without line breaks, which occur only between its tokens.
func oneLine(text []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\n"), []byte(" ")), []byte("\r"), []byte(" "))
}

// writeEnd writes the reason, if any, and the complete event.
func (e *eventWriter) writeEnd(ctx context.Context, err error) {
	if err != nil && !errors.Is(err, errClientGone) {
		_ = e.writeResponse(&graphql.Response{Errors: gqlerror.List{presentError(ctx, err)}})
	}
	e.writeComplete()
}

func (e *eventWriter) writeComplete() { _ = e.writeText([]byte("event: complete\ndata:\n\n")) }

// writeText writes and disconnects a client that does not read. Errors: read_too_slowly
// when the client has read too late, and those of the connection.
func (e *eventWriter) writeText(text []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	cut := time.AfterFunc(2*e.streams.WriteTimeout, func() { _ = e.control.SetWriteDeadline(time.Unix(1, 0)) })
	defer cut.Stop()
	inTime := e.streams.startWriteTimer()
	if _, err := e.w.Write(text); err != nil {
		return errClientGone
	}
	if err := e.control.Flush(); err != nil {
		return errClientGone
	}
	return inTime()
}
