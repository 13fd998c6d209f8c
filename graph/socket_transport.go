package graph

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"
	"github.com/go-json-experiment/json/jsontext"

	"parapet/internal/refusal"
	"parapet/internal/visit"
	"parapet/model"
	"parapet/model/wire"
)

// transportProtocol is the subprotocol of npm's graphql-ws.
const transportProtocol = "graphql-transport-ws"

// Why a socket is closed, in the numbers of the protocol.
const (
	closeBadRequest   = 4400
	closeUnauthorized = 4401
	closeForbidden    = 4403 // clients come again, with a new token
	closeProtocol     = 4406
	closeSilent       = 4408
	closeTwice        = 4409
	closeGreetedTwice = 4429
)

// closure closes a socket for what its client did.
type closure struct {
	code websocket.StatusCode
	text string
}

func (c *closure) Error() string { return c.text }

// overSocket speaks graphql-transport-ws.
type overSocket struct{ streams *streams }

// upgrades tells whether a request wants to become a WebSocket.
func upgrades(r *http.Request) bool { return strings.EqualFold(r.Header.Get("Upgrade"), "websocket") }

// Supports implements graphql.Transport.
func (overSocket) Supports(r *http.Request) bool { return upgrades(r) }

// Do serves one socket until either side closes it.
func (o overSocket) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	if !o.streams.welcomes(r) {
		refuse(r.Context(), w, responseType, model.Fail(refusal.CodeOriginRefused, "Pages of this origin may not open a WebSocket here."))
		return
	}
	ctx, release := visit.From(r.Context()).Lasting(r.Context())
	defer release()
	// The origin was judged above, in words of our own.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{transportProtocol}, InsecureSkipVerify: true})
	if err != nil {
		return // it has been answered
	}
	conn.SetReadLimit(bodyLimit)
	if conn.Subprotocol() == "" {
		_ = conn.Close(closeProtocol, "Subprotocol not acceptable: use "+transportProtocol)
		return
	}
	s := &socket{streams: o.streams, exec: exec, conn: conn, visit: visit.From(ctx), authorization: r.Header.Get("Authorization"), active: map[string]context.CancelFunc{}}
	s.serve(ctx)
}

// welcomes tells whether the page that a request comes from, if any, may open a
// socket: the server's own, and those of the origins it was told.
func (s *streams) welcomes(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true // no browser
	}
	from, err := url.Parse(origin)
	return err == nil && from.Host != "" && (strings.EqualFold(from.Host, r.Host) || slices.Contains(s.Origins, origin))
}

// socket is one connection.
type socket struct {
	streams       *streams
	exec          graphql.GraphExecutor
	conn          *websocket.Conn
	visit         *visit.Visit
	authorization string // as the header or the first message has it
	actor         *model.Actor
	end           context.CancelCauseFunc
	leave         func()

	mu      sync.Mutex
	over    bool // nothing begins any more
	active  map[string]context.CancelFunc
	running sync.WaitGroup
}

// serve reads until the client closes or something ends the socket. Then whatever
// runs is told why, and the client after it.
func (s *socket) serve(ctx context.Context) {
	ctx, s.end = context.WithCancelCause(ctx)
	var closing sync.WaitGroup
	closing.Go(func() {
		<-ctx.Done()
		s.mu.Lock()
		s.over = true
		s.mu.Unlock()
		s.running.Wait()
		code, text := farewell(reason(ctx))
		_ = s.conn.Close(code, text)
	})
	silent := time.AfterFunc(s.streams.Greeting, func() { s.end(&closure{closeSilent, "Connection initialisation timeout"}) })
	defer silent.Stop()
	for greeted := func() { silent.Stop() }; ; {
		// The socket is closed with a reason, not with ctx.
		kind, text, err := s.conn.Read(context.WithoutCancel(ctx))
		if err == nil {
			err = s.take(ctx, kind, text, greeted)
		}
		if err != nil {
			s.end(gone(err))
			break
		}
	}
	closing.Wait()
	if s.leave != nil {
		s.leave()
	}
}

// gone is why reading ended: for what the client did, or because it is not there.
func gone(err error) error {
	if closed := (*closure)(nil); errors.As(err, &closed) {
		return closed
	}
	if known := (*model.Error)(nil); errors.As(err, &known) {
		return known
	}
	return errGone
}

// farewell is how a socket is closed. Clients of the protocol come again after
// closeForbidden and the codes of RFC 6455 that say later.
func farewell(cause error) (websocket.StatusCode, string) {
	closed, known := (*closure)(nil), (*model.Error)(nil)
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
	switch refusal.KindOf(known.Code).Status {
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

// send writes one message. A client that does not read ends the socket.
func (s *socket) send(ctx context.Context, m message) error {
	text, err := wire.Encode(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*s.streams.Patience)
	defer cancel()
	inTime := s.streams.watch()
	if s.conn.Write(ctx, websocket.MessageText, text) != nil {
		s.end(errGone)
		return errGone
	}
	if err := inTime(); err != nil {
		s.end(err)
		return err
	}
	return nil
}
