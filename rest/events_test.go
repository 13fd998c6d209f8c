package rest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/wire"
	"parapet/rest"
)

func TestEventFeedFilters(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	quote, policy, claim := h.createClaim(t)
	require.Empty(t, decodeRecord[wire.List[wire.Event]](t, h.get(t, "/v1/events")).Data, "not before they have numbers")
	h.Relay()
	all := decodeRecord[wire.List[wire.Event]](t, h.get(t, "/v1/events?limit=100")).Data
	for i, event := range all {
		require.Equal(t, int64(i+1), event.Sequence)
		one := h.get(t, "/v1/events/"+event.ID)
		whole, err := wire.Encode(event)
		require.NoError(t, err)
		require.Equal(t, string(whole), string(one.Body))
	}
	for query, types := range map[string][]string{
		"?subject=" + quote.ID:                                  {"quote.created", "quote.bound"},
		"?subject=" + policy.ID + "&types=policy.cancelled":     {},
		"?types=quote.bound,policy.activated":                   {"quote.bound", "policy.activated"},
		"?after_sequence=" + strconv.Itoa(len(all)-1):           {all[len(all)-1].Type},
		"?after_sequence=" + strconv.Itoa(len(all)) + "&wait=0": {},
		"?after_sequence=9223372036854775807":                   {},
	} {
		found := []string{}
		for _, event := range decodeRecord[wire.List[wire.Event]](t, h.get(t, "/v1/events"+query)).Data {
			found = append(found, event.Type)
		}
		require.ElementsMatch(t, types, found, query)
	}
	first := decodeRecord[wire.List[wire.Event]](t, h.get(t, "/v1/events?limit=2"))
	next := decodeRecord[wire.List[wire.Event]](t, h.get(t, "/v1/events?limit=100&cursor="+*first.NextCursor))
	require.Equal(t, all, append(first.Data, next.Data...))
	for query, pointer := range map[string]string{
		"?after_sequence=-1": "/after_sequence", "?after_sequence=1e3": "/after_sequence", "?wait=31": "/wait", "?wait=": "/wait", "?wait=99999999999": "/wait",
		"?types=": "/types", "?types=a,,b": "/types", "?types=quote.created,quote.lost": "/types", "?subject=x": "/subject", "?subject=evt_01h455vb4pex5vsknk084sn02q": "/subject",
		"?partner=globex": "/partner", "?after_sequence=99999999999999999999": "/after_sequence",
	} {
		require.Equal(t, pointer, requireProblem(t, h.expectStatus(t, 400, request{"GET", "/v1/events" + query, "", nil})).Errors[0].Pointer, query)
	}
	require.Empty(t, decodeRecord[wire.List[wire.Event]](t, h.sendAs(t, "globex", nil, request{"GET", "/v1/events", "", nil})).Data)
	require.Equal(t, 404, requireProblem(t, h.sendAs(t, "globex", nil, request{"GET", "/v1/events/" + all[0].ID, "", nil})).Status)
	require.Equal(t, 400, requireProblem(t, h.sendAs(t, "operator", nil, request{"GET", "/v1/events", "", nil})).Status, "whose?")
	require.Len(t, decodeRecord[wire.List[wire.Event]](t, h.sendAs(t, "operator", nil, request{"GET", "/v1/events?limit=100&partner=acme", "", nil})).Data, len(all))
	require.Len(t, decodeRecord[wire.List[wire.Event]](t, h.get(t, "/v1/events?partner=acme&subject="+claim.ID+"&limit=1")).Data, 1)
}

// More readers wait than the pool has connections. Each receives the event, and other
// requests are served meanwhile.
func TestEventWaitHoldsNoConnection(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	var answers []<-chan *reply
	for range 40 {
		answers = append(answers, h.waitForEvent(t.Context(), t))
	}
	quote := decodeRecord[wire.Quote](t, h.post(t, 201, "/v1/quotes", quoteBody))
	h.Relay()
	for _, waiting := range answers {
		answer := <-waiting
		require.Equal(t, http.StatusOK, answer.StatusCode)
		require.Equal(t, quote.ID, decodeRecord[wire.List[wire.Event]](t, answer).Data[0].Subject.ID)
	}
}

// The server does not wait for a reader that has left, and a server that stops does not
// wait for any reader.
func TestEventWaitEnds(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	ctx, leave := context.WithCancel(t.Context())
	left := h.waitForEvent(ctx, t)
	leave()
	<-left
	stays := h.waitForEvent(t.Context(), t)
	h.Service.Events.EndWaits()
	require.Empty(t, decodeRecord[wire.List[wire.Event]](t, <-stays).Data)
}

// waitForEvent sends a request that waits for an event and returns the response.
func (h *testServer) waitForEvent(ctx context.Context, t *testing.T) <-chan *reply {
	t.Helper()
	token, err := h.issuer.Token("acme")
	require.NoError(t, err)
	in := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/events?wait=30", nil)
	in.Header.Set("Authorization", "Bearer "+token)
	answer := make(chan *reply, 1)
	go func() {
		recorder := httptest.NewRecorder()
		h.handler.ServeHTTP(recorder, in)
		answer <- &reply{recorder.Code, recorder.Header(), recorder.Body.Bytes()}
	}()
	return answer
}

// The requested wait is added to the time of every response.
func TestEventWaitExtendsTheTimeout(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]time.Duration{"": 30, "?wait=30": 60, "?wait=31": 60, "?wait=x": 30, "?types=wait&wait=7": 37} {
		synctest.Test(t, func(t *testing.T) {
			var until time.Time
			handler := newHandler(t, func(c *rest.Config) {
				c.Authenticate = func(ctx context.Context, _ string) (actor.Actor, error) {
					until, _ = ctx.Deadline()
					return actor.Actor{}, apperr.Fail(apperr.CodeTokenInvalid, "no")
				}
			})
			began := time.Now()
			request{"GET", "/v1/events" + query, "", nil}.sendTo(t, handler)
			require.Equal(t, want*time.Second, until.Sub(began), query)
		})
	}
}
