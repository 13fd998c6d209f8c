package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/Khan/genqlient/graphql"
	"github.com/gorilla/websocket"

	v1 "parapet/internal/interop/client-go/graphql/generated/v1"
)

// dialer makes genqlient use gorilla's WebSocket.
type dialer struct{ *websocket.Dialer }

func (d dialer) DialContext(ctx context.Context, url string, header http.Header) (graphql.WSConn, error) {
	conn, answer, err := d.Dialer.DialContext(ctx, url, header)
	if answer != nil {
		_ = answer.Body.Close()
	}
	return conn, err
}

// newWebSocket returns a WebSocket client of the server.
func (s *scenario) newWebSocket(with graphql.WebSocketOption) graphql.WebSocketClient {
	url := strings.Replace(s.ready.GraphQLURL, "http", "ws", 1)
	return graphql.NewClientUsingWebSocket(url, dialer{websocket.DefaultDialer}, with)
}

// subscribeTimeline receives the claim's timeline from its second entry to the payout,
// and checks that a wrong token is rejected.
func (s *scenario) subscribeTimeline(ctx context.Context, claimID string) error {
	account, err := s.ready.Credentials("acme")
	if err != nil {
		return err
	}
	token, err := account.Token(ctx)
	if err != nil {
		return err
	}
	socket := s.newWebSocket(graphql.WithWebsocketHeader(http.Header{"Authorization": {"Bearer " + token.AccessToken}}))
	failed, err := socket.Start(ctx)
	if err != nil {
		return err
	}
	defer socket.Close() //nolint:errcheck // the program ends
	entries, _, err := v1.ClaimTimeline(ctx, socket, claimID, 1)
	if err != nil {
		return err
	}
	for sequence := int64(2); ; sequence++ {
		entry, err := nextEntry(ctx, entries, failed)
		if err != nil {
			return err
		}
		if err := s.Require(entry.Sequence == sequence, "sentence %d came instead of %d", entry.Sequence, sequence); err != nil {
			return err
		}
		if entry.Kind == v1.TimelineKindPayoutReleased {
			break
		}
	}
	unauthenticated := s.newWebSocket(graphql.WithConnectionParams(map[string]any{"Authorization": "Bearer not.a.token"}))
	_, err = unauthenticated.Start(ctx)
	refused := (*websocket.CloseError)(nil)
	return s.Require(errors.As(err, &refused) && refused.Code == 4403, "a wrong token is let in: %v", err)
}

// nextEntry returns the next timeline entry.
func nextEntry(ctx context.Context, entries <-chan v1.ClaimTimelineWsResponse, failed <-chan error) (*v1.ClaimTimelineClaimTimelineTimelineEntry, error) {
	select {
	case answer, more := <-entries:
		if !more || answer.Data == nil {
			return nil, fmt.Errorf("the story ended: %v", answer.Errors)
		}
		return &answer.Data.ClaimTimeline, nil
	case err := <-failed:
		return nil, err
	case <-ctx.Done():
		return nil, errors.New("the release of the payout did not arrive in time")
	}
}
