package graph

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"
	"github.com/go-json-experiment/json/jsontext"

	"parapet/internal/errormap"
	"parapet/internal/gateway"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/wire"
)

// transportProtocol is the subprotocol of the npm package graphql-ws.
const transportProtocol = "graphql-transport-ws"

// The close codes of the protocol.
const (
	closeBadRequest    = 4400
	closeUnauthorized  = 4401
	closeForbidden     = 4403 // clients reconnect with a new token
	closeProtocol      = 4406
	closeInitTimeout   = 4408
	closeDuplicateID   = 4409
	closeDuplicateInit = 4429
)

// closeError closes a socket because of a protocol error of the client.
type closeError struct {
	code websocket.StatusCode
	text string
}

func (c *closeError) Error() string { return c.text }

// socketTransport implements graphql-transport-ws.
type socketTransport struct{ streams *streams }

// isUpgrade reports whether a request asks to become a WebSocket.
func isUpgrade(r *http.Request) bool { return strings.EqualFold(r.Header.Get("Upgrade"), "websocket") }

// Supports implements graphql.Transport.
func (socketTransport) Supports(r *http.Request) bool { return isUpgrade(r) }

// Do serves one socket until either side closes it.
func (o socketTransport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	if !o.streams.isAllowedOrigin(r) {
		writeError(r.Context(), w, responseType, apperr.Fail(errormap.CodeOriginRefused, "Pages of this origin may not open a WebSocket here."))
		return
	}
	ctx, release := gateway.FromContext(r.Context()).WithoutDeadline(r.Context())
	defer release()
	// The origin was checked above, with our own error text.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{transportProtocol}, InsecureSkipVerify: true})
	if err != nil {
		return // Accept has answered the request
	}
	conn.SetReadLimit(maxBody)
	if conn.Subprotocol() == "" {
		_ = conn.Close(closeProtocol, "Subprotocol not acceptable: use "+transportProtocol)
		return
	}
	s := &socket{streams: o.streams, exec: exec, conn: conn, visit: gateway.FromContext(ctx), authorization: r.Header.Get("Authorization"), active: map[string]*activeOperation{}}
	s.serveMessages(ctx)
}

// isAllowedOrigin reports whether the page that sent a request may open a socket: pages
// of the server itself and of Streams.Origins, and clients without an origin.
func (s *streams) isAllowedOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true // not a browser
	}
	from, err := url.Parse(origin)
	return err == nil && from.Host != "" && (strings.EqualFold(from.Host, r.Host) || slices.Contains(s.Origins, origin))
}

// socket is one connection.
type socket struct {
	streams       *streams
	exec          graphql.GraphExecutor
	conn          *websocket.Conn
	visit         *gateway.Request
	authorization string // from the header or the first message
	actor         *actor.Actor
	cancel        context.CancelCauseFunc
	releaseSlot   func()
	subscribed    atomic.Bool // a subscription uses the socket's own slot

	mu      sync.Mutex // also held while a message of an operation is written
	closed  bool       // no operation starts any more
	active  map[string]*activeOperation
	running sync.WaitGroup
}

// serveMessages reads messages until the client closes the socket or an error ends it.
// Running operations then end, and the close frame gives the reason.
func (s *socket) serveMessages(ctx context.Context) {
	ctx, s.cancel = context.WithCancelCause(ctx)
	closed := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(closed)
		s.close(endCause(ctx))
	})
	silent := time.AfterFunc(s.streams.InitTimeout, func() { s.cancel(&closeError{closeInitTimeout, "Connection initialisation timeout"}) })
	defer silent.Stop()
	for greeted := func() { silent.Stop() }; ; {
		// The socket is closed with a reason, not by ending ctx.
		kind, text, err := s.conn.Read(context.WithoutCancel(ctx))
		if err == nil {
			err = s.handleMessage(ctx, kind, text, greeted)
		}
		if err != nil {
			s.cancel(readEndCause(err))
			break
		}
	}
	<-closed
	if s.releaseSlot != nil {
		s.releaseSlot()
	}
}

// close waits for the operations and closes the connection with the reason.
func (s *socket) close(cause error) {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.running.Wait()
	code, text := closeFrame(cause)
	_ = s.conn.Close(code, text)
}

// readEndCause returns why reading ended: an error of the client, or a lost client.
func readEndCause(err error) error {
	if closed := (*closeError)(nil); errors.As(err, &closed) {
		return closed
	}
	if known := (*apperr.Error)(nil); errors.As(err, &known) {
		return known
	}
	return errClientGone
}

// closeFrame returns the close code and reason. Clients of the protocol reconnect after
// closeForbidden and the retryable codes of RFC 6455.
func closeFrame(cause error) (websocket.StatusCode, string) {
	closed, known := (*closeError)(nil), (*apperr.Error)(nil)
	switch {
	case cause == nil:
		return websocket.StatusNormalClosure, ""
	case errors.As(cause, &closed):
		return closed.code, closed.text
	case !errors.As(cause, &known):
		return websocket.StatusInternalError, "Something went wrong on our side"
	}
	text := string(known.Code) + ": " + known.Detail
	text = strings.ToValidUTF8(text[:min(len(text), 120)], "") // a close frame holds 123 bytes
	switch errormap.MeaningOf(known.Code).Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return closeForbidden, text
	case http.StatusServiceUnavailable:
		return websocket.StatusGoingAway, text
	default:
		return websocket.StatusTryAgainLater, text
	}
}

// message is one message of the protocol.
type message struct {
	ID      string         `json:"id,omitzero"`
	Type    string         `json:"type"`
	Payload jsontext.Value `json:"payload,omitzero"`
}

// sendMessage writes one message. A client that does not read in time ends the socket.
func (s *socket) sendMessage(ctx context.Context, m message) error {
	text, err := wire.Encode(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*s.streams.WriteTimeout)
	defer cancel()
	inTime := s.streams.startWriteTimer()
	if s.conn.Write(ctx, websocket.MessageText, text) != nil {
		s.cancel(errClientGone)
		return errClientGone
	}
	if err := inTime(); err != nil {
		s.cancel(err)
		return err
	}
	return nil
}
