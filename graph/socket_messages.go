package graph

import (
	"context"
	"errors"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"parapet/internal/strictjson"
	"parapet/internal/upload"
	"parapet/model"
	"parapet/model/wire"
)

// operationTime is how long an operation over a socket may take that is no
// subscription.
const operationTime = 30 * time.Second

// maxOperationID bounds the ids that a client gives its operations, in bytes.
const maxOperationID = 128

// take does what a message asks for. An error closes the socket.
func (s *socket) take(ctx context.Context, kind websocket.MessageType, text []byte, greeted func()) error {
	var m message
	_, err := strictjson.Bounded(text, strictjson.AsSent)
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil || kind != websocket.MessageText {
		return &closure{closeBadRequest, "Invalid message"}
	}
	switch m.Type {
	case "connection_init":
		greeted()
		return s.greet(ctx, m)
	case "ping":
		return s.send(ctx, message{Type: "pong", Payload: m.Payload})
	case "pong":
		return nil
	case "subscribe":
		return s.subscribe(ctx, m)
	case "complete":
		s.mu.Lock()
		defer s.mu.Unlock()
		if cancel := s.active[m.ID]; cancel != nil {
			cancel()
		}
		return nil
	default:
		return &closure{closeBadRequest, "Unknown type of message"}
	}
}

// greet admits whoever the first message names, or else the request's header.
func (s *socket) greet(ctx context.Context, m message) error {
	if s.actor != nil {
		return &closure{closeGreetedTwice, "Too many initialisation requests"}
	}
	var named struct {
		Authorization string `json:"Authorization,case:ignore"` //nolint:tagliatelle // a header's name
	}
	if len(m.Payload) > 0 && m.Payload.Kind() != 'n' && json.Unmarshal(m.Payload, &named) != nil {
		return &closure{closeBadRequest, "The payload of connection_init is an object whose Authorization is a string"}
	}
	if named.Authorization != "" {
		s.authorization = named.Authorization
	}
	actor, err := s.visit.AdmitBy(ctx, s.authorization)
	if err != nil {
		return s.visit.Shown(ctx, err)
	}
	seat, err := s.streams.enter(actor)
	if err != nil {
		return err
	}
	s.actor, s.leave = &actor, seat.leave
	go s.streams.keep(ctx, actor, s.end, func() error { return s.beat(ctx) })
	return s.send(ctx, message{Type: "connection_ack"})
}

// beat asks the client whether it is there.
func (s *socket) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.streams.Patience)
	defer cancel()
	defer context.AfterFunc(s.streams.closing, cancel)() //nolint:contextcheck // whichever ends first
	if s.conn.Ping(ctx) != nil && s.streams.closing.Err() == nil {
		return errGone
	}
	return nil
}

// subscribe begins an operation of any kind. Each is admitted and counted like a
// request.
func (s *socket) subscribe(ctx context.Context, m message) error {
	if s.actor == nil {
		return &closure{closeUnauthorized, "Unauthorized"}
	}
	if m.ID == "" || len(m.ID) > maxOperationID {
		return &closure{closeBadRequest, "An operation needs an id"}
	}
	s.mu.Lock()
	_, taken := s.active[m.ID]
	busy := len(s.active) >= s.streams.PerSocket
	s.mu.Unlock()
	switch {
	case taken:
		return &closure{closeTwice, "Subscriber for " + m.ID[:min(len(m.ID), 64)] + " already exists"}
	case busy:
		return s.refuse(ctx, m.ID, model.Fail(model.CodeRateLimited, "This socket runs %d operations, the most there can be; complete one first.", s.streams.PerSocket))
	}
	actor, err := s.visit.AdmitBy(ctx, s.authorization)
	asked := new(posted)
	if err == nil {
		err = parse(&upload.Body{JSON: m.Payload}, "", asked)
	}
	if err != nil {
		return s.refuse(ctx, m.ID, err)
	}
	release, err := s.streams.operations.acquire(actor)
	if err != nil {
		return s.refuse(ctx, m.ID, err)
	}
	ctx = graphql.StartOperationTrace(ctx)
	operation, refusals := s.exec.CreateOperationContext(ctx, asked.params(nil))
	if len(refusals) > 0 {
		release()
		return s.refused(ctx, m.ID, s.exec.DispatchError(graphql.WithOperationContext(ctx, operation), refusals).Errors)
	}
	seat := seat{release, release}
	if operation.Operation.Operation == ast.Subscription {
		release()
		if seat, err = s.streams.enter(actor); err != nil {
			return s.refuse(ctx, m.ID, err)
		}
	}
	s.begin(ctx, m.ID, operation, actor, seat)
	return nil
}

// begin runs an operation beside the others.
func (s *socket) begin(ctx context.Context, id string, operation *graphql.OperationContext, actor model.Actor, seat seat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		seat.leave()
		return
	}
	within, cancel := bounded(ctx, operation)
	s.active[id] = cancel
	s.running.Go(func() {
		defer seat.leave()
		err := s.streams.run(within, s.exec, operation, actor, func(response *graphql.Response) error {
			return s.send(ctx, message{ID: id, Type: "next", Payload: inOne(response)})
		})
		var closed *closure // says why itself, in the frame that closes the socket
		unwanted := within.Err() != nil && (err == nil || errors.As(err, &closed))
		cancel()
		s.mu.Lock()
		delete(s.active, id)
		s.mu.Unlock()
		seat.free()
		switch {
		case unwanted:
		case err != nil:
			_ = s.refuse(ctx, id, err)
		default:
			_ = s.send(ctx, message{ID: id, Type: "complete"})
		}
	})
}

// bounded is the context of an operation: nobody knows how long a subscription lasts.
func bounded(ctx context.Context, operation *graphql.OperationContext) (context.Context, context.CancelFunc) {
	if operation.Operation.Operation == ast.Subscription {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, operationTime)
}

// refuse ends an operation with an error.
func (s *socket) refuse(ctx context.Context, id string, err error) error {
	return s.refused(ctx, id, gqlerror.List{present(ctx, err)})
}

func (s *socket) refused(ctx context.Context, id string, refusals gqlerror.List) error {
	text, err := wire.Encode(refusals)
	if err != nil {
		return err
	}
	return s.send(ctx, message{ID: id, Type: "error", Payload: text})
}
