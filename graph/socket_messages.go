package graph

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"parapet/internal/strictjson"
	"parapet/internal/upload"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/wal"
	"parapet/model/wire"
)

// operationTimeout limits an operation over a socket other than a subscription.
const operationTimeout = 30 * time.Second

// maxOperationID limits the ids that a client gives its operations, in bytes.
const maxOperationID = 128

// handleMessage handles a message. An error closes the socket.
func (s *socket) handleMessage(ctx context.Context, kind websocket.MessageType, text []byte, greeted func()) error {
	var m message
	_, err := strictjson.CheckBounds(text, strictjson.AsSent)
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil || kind != websocket.MessageText {
		return &closeError{closeBadRequest, "Invalid message"}
	}
	switch m.Type {
	case "connection_init":
		greeted()
		return s.initConnection(ctx, m)
	case "ping":
		return s.sendMessage(ctx, message{Type: "pong", Payload: m.Payload})
	case "pong":
		return nil
	case "subscribe":
		return s.startOperation(ctx, m)
	case "complete":
		s.completeOperation(m.ID)
		return nil
	default:
		return &closeError{closeBadRequest, "Unknown type of message"}
	}
}

// initConnection authenticates with the token in the first message, or else with the
// request's header.
func (s *socket) initConnection(ctx context.Context, m message) error {
	if s.actor != nil {
		return &closeError{closeDuplicateInit, "Too many initialisation requests"}
	}
	var named struct {
		Authorization string `json:"Authorization,case:ignore"` //nolint:tagliatelle // a header's name
	}
	if len(m.Payload) > 0 && m.Payload.Kind() != 'n' && json.Unmarshal(m.Payload, &named) != nil {
		return &closeError{closeBadRequest, "The payload of connection_init is an object whose Authorization is a string"}
	}
	if named.Authorization != "" {
		s.authorization = named.Authorization
	}
	actor, err := s.visit.AuthenticateWith(ctx, s.authorization)
	if err != nil {
		return s.visit.PublicError(ctx, err)
	}
	slot, err := s.streams.acquireSlot(actor)
	if err != nil {
		return err
	}
	stopKeepAlive := s.streams.startKeepAlive(ctx, actor, s.cancel, func() error { return s.pingClient(ctx) })
	s.actor, s.releaseSlot = &actor, func() { stopKeepAlive(); slot.finish() }
	return s.sendMessage(ctx, message{Type: "connection_ack"})
}

// pingClient checks that the client answers. It ignores the end of ctx, which would cut
// the connection in the middle of a frame. It returns when the client answers, after
// WriteTimeout, or when the socket is closed.
func (s *socket) pingClient(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.streams.WriteTimeout)
	defer cancel()
	if s.conn.Ping(ctx) != nil {
		return errClientGone
	}
	return nil
}

// startOperation starts an operation of any kind. Each is authenticated and counted like
// a request.
func (s *socket) startOperation(ctx context.Context, m message) error {
	if s.actor == nil {
		return &closeError{closeUnauthorized, "Unauthorized"}
	}
	if m.ID == "" || len(m.ID) > maxOperationID {
		return &closeError{closeBadRequest, "An operation needs an id"}
	}
	s.mu.Lock()
	_, taken := s.active[m.ID]
	busy := len(s.active) >= s.streams.MaxPerSocket
	s.mu.Unlock()
	switch {
	case taken:
		return &closeError{closeDuplicateID, "Subscriber for " + m.ID[:min(len(m.ID), 64)] + " already exists"}
	case busy:
		return s.sendError(ctx, m.ID, apperr.Fail(apperr.CodeRateLimited, "This socket runs %d operations, the most that are allowed; complete one first.", s.streams.MaxPerSocket))
	}
	actor, err := s.visit.AuthenticateWith(ctx, s.authorization)
	if err != nil {
		return s.sendError(ctx, m.ID, err)
	}
	asked, err := parsePayload(m.Payload)
	if closed := (*closeError)(nil); errors.As(err, &closed) {
		return closed
	}
	if err != nil {
		return s.sendError(ctx, m.ID, err)
	}
	release, err := s.streams.operations.acquireOperation(actor)
	if err != nil {
		return s.sendError(ctx, m.ID, err)
	}
	ctx = graphql.StartOperationTrace(ctx)
	operation, refusals := s.exec.CreateOperationContext(ctx, asked.toRawParams(nil))
	if len(refusals) > 0 {
		release()
		return s.sendErrors(ctx, m.ID, s.exec.DispatchError(graphql.WithOperationContext(ctx, operation), refusals).Errors)
	}
	slot := slot{release, release}
	if operation.Operation.Operation == ast.Subscription {
		release()
		if slot, err = s.acquireSubscription(actor); err != nil {
			return s.sendError(ctx, m.ID, err)
		}
	}
	s.runOperation(ctx, m.ID, operation, actor, slot)
	return nil
}

// parsePayload reads the payload of a subscribe message. A payload of another shape than
// the protocol's gives a closeError; a request may name its document instead of sending a
// query.
func parsePayload(payload jsontext.Value) (*requestBody, error) {
	invalid := &closeError{closeBadRequest, "The payload of subscribe is an object whose query is a string"}
	if len(payload) == 0 || payload.Kind() != '{' {
		return nil, invalid
	}
	asked := new(requestBody)
	err := parseJSON(&upload.Body{JSON: payload}, "", asked)
	if mistyped := (*json.SemanticError)(nil); errors.As(err, &mistyped) {
		return nil, invalid
	}
	if err == nil && asked.Query == "" && asked.DocumentID == "" && asked.Extensions["persistedQuery"] == nil {
		return nil, invalid
	}
	return asked, err
}

// acquireSubscription returns the place of one more subscription: the socket's own for
// the first, further ones are counted. Errors: as acquireSlot.
func (s *socket) acquireSubscription(actor actor.Actor) (slot, error) {
	if err := s.streams.checkOpen(actor); err != nil {
		return slot{}, err
	}
	if !s.subscribed.CompareAndSwap(false, true) {
		return s.streams.acquireSlot(actor)
	}
	free := sync.OnceFunc(func() { s.subscribed.Store(false) })
	return slot{free, free}, nil
}

// activeOperation is an operation that neither side has completed.
type activeOperation struct {
	id  string
	end context.CancelFunc
}

// completeOperation ends an operation for its client, who may use the id and the place
// again at once. Its goroutine ends later and sends nothing more.
func (s *socket) completeOperation(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.active[id]; o != nil {
		delete(s.active, id)
		o.end()
	}
}

// runOperation runs an operation concurrently with the others.
func (s *socket) runOperation(ctx context.Context, id string, operation *graphql.OperationContext, actor actor.Actor, slot slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		slot.finish()
		return
	}
	within, cancel := boundOperation(ctx, operation)
	o := &activeOperation{id: id, end: cancel}
	if operation.Operation.Operation == ast.Subscription {
		// Other operations count until they have stopped: they use the database.
		o.end = func() { cancel(); slot.release() }
	}
	s.active[id] = o
	s.running.Go(func() {
		defer slot.finish()
		commits := new(wal.Recorder)
		err := s.streams.runOperation(wal.WithRecorder(within, commits), s.exec, operation, actor, func(response *graphql.Response) error {
			addReadAfter(response, commits)
			return s.sendOperationMessage(ctx, o, message{ID: id, Type: "next", Payload: joinResponse(response)})
		})
		var closed *closeError // the close frame gives the reason
		unwanted := within.Err() != nil && (err == nil || errors.As(err, &closed))
		cancel()
		slot.release()
		switch {
		case unwanted:
		case err != nil:
			if last, err := newErrorMessage(id, gqlerror.List{presentError(ctx, err)}); err == nil {
				_ = s.sendOperationMessage(ctx, o, last)
			}
		default:
			_ = s.sendOperationMessage(ctx, o, message{ID: id, Type: "complete"})
		}
	})
}

// addReadAfter adds the position of an operation's last write to its response, which has
// no header over a socket.
func addReadAfter(response *graphql.Response, commits *wal.Recorder) {
	if position, wrote := commits.Last(); wrote {
		if response.Extensions == nil {
			response.Extensions = map[string]any{}
		}
		response.Extensions["readAfter"] = position.String()
	}
}

// sendOperationMessage sends a message of an operation unless its client has completed
// it: another operation may have its id. The lock is held while the message is written,
// so that none follows completeOperation. A message other than next is the last one; the
// id is free before the client reads it.
func (s *socket) sendOperationMessage(ctx context.Context, o *activeOperation, m message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active[o.id] != o {
		return nil
	}
	if m.Type != "next" {
		delete(s.active, o.id)
	}
	return s.sendMessage(ctx, m)
}

// boundOperation returns the context of an operation, with a timeout unless it is a
// subscription.
func boundOperation(ctx context.Context, operation *graphql.OperationContext) (context.Context, context.CancelFunc) {
	if operation.Operation.Operation == ast.Subscription {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, operationTimeout)
}

// sendError ends an operation with an error.
func (s *socket) sendError(ctx context.Context, id string, err error) error {
	return s.sendErrors(ctx, id, gqlerror.List{presentError(ctx, err)})
}

func (s *socket) sendErrors(ctx context.Context, id string, refusals gqlerror.List) error {
	m, err := newErrorMessage(id, refusals)
	if err != nil {
		return err
	}
	return s.sendMessage(ctx, m)
}

// newErrorMessage returns the message that ends an operation with errors.
func newErrorMessage(id string, refusals gqlerror.List) (message, error) {
	text, err := wire.Encode(refusals)
	return message{ID: id, Type: "error", Payload: text}, err
}
