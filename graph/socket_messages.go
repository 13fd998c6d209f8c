package graph

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"parapet/internal/strictjson"
	"parapet/internal/upload"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
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
		s.mu.Lock()
		defer s.mu.Unlock()
		if cancel := s.active[m.ID]; cancel != nil {
			cancel()
		}
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

// pingClient checks that the client answers.
func (s *socket) pingClient(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.streams.WriteTimeout)
	defer cancel()
	defer context.AfterFunc(s.streams.closing, cancel)() //nolint:contextcheck // the first of both ends it
	if s.conn.Ping(ctx) != nil && s.streams.closing.Err() == nil {
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
	asked := new(requestBody)
	if err == nil {
		err = parseJSON(&upload.Body{JSON: m.Payload}, "", asked)
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

// runOperation runs an operation concurrently with the others.
func (s *socket) runOperation(ctx context.Context, id string, operation *graphql.OperationContext, actor actor.Actor, slot slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		slot.finish()
		return
	}
	within, cancel := boundOperation(ctx, operation)
	s.active[id] = cancel
	s.running.Go(func() {
		defer slot.finish()
		err := s.streams.runOperation(within, s.exec, operation, actor, func(response *graphql.Response) error {
			return s.sendMessage(ctx, message{ID: id, Type: "next", Payload: joinResponse(response)})
		})
		var closed *closeError // the close frame gives the reason
		unwanted := within.Err() != nil && (err == nil || errors.As(err, &closed))
		cancel()
		s.mu.Lock()
		delete(s.active, id)
		s.mu.Unlock()
		slot.release()
		switch {
		case unwanted:
		case err != nil:
			_ = s.sendError(ctx, id, err)
		default:
			_ = s.sendMessage(ctx, message{ID: id, Type: "complete"})
		}
	})
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
	text, err := wire.Encode(refusals)
	if err != nil {
		return err
	}
	return s.sendMessage(ctx, message{ID: id, Type: "error", Payload: text})
}
