package rest_test

import (
	"net/http"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/internal/filestore"
	"parapet/model"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/dbpool"
	"parapet/model/modeltest"
	"parapet/model/wire"
	"parapet/rest"
)

// newSecondServer returns the API of another server process on the same database, with a
// pool and a service of its own.
func (h *testServer) newSecondServer(t *testing.T) http.Handler {
	t.Helper()
	db, err := dbpool.Open(t.Context(), h.URL, 8)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	files, err := filestore.Open(h.Files)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	service, err := model.New(model.Config{DB: db, Queue: modeltest.Queue{}, Files: files, Keys: testKeys(), Development: true})
	require.NoError(t, err)
	handler, err := rest.New(rest.Config{Service: service, Authenticate: h.authenticate, Development: true})
	require.NoError(t, err)
	return handler
}

// The test sends the same key a hundred times concurrently over two servers: one effect
// and one result. Early repeats are answered by 409 with Retry-After.
func TestSameKeyConcurrentlyOverTwoServers(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	doors := []http.Handler{h.handler, h.newSecondServer(t)}
	token, err := h.issuer.Token("acme")
	require.NoError(t, err)
	quote := decodeRecord[wire.Quote](t, h.post(t, 201, "/v1/quotes", quoteBody))
	for _, call := range []request{
		{"POST", "/v1/quotes", quoteBody, nil},
		{"POST", "/v1/policies", `{"quote_id":"` + quote.ID + `"}`, nil},
	} {
		call.headers = []string{"Authorization: Bearer " + token, "Idempotency-Key: all-at-once"}
		answers := make([]*reply, 100)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() { answers[i] = call.sendTo(t, doors[i%2]) })
		}
		all.Wait()
		counts, bodies := map[string]int{}, map[string]int{}
		for _, answer := range answers {
			counts[strconv.Itoa(answer.StatusCode)+answer.Header.Get("Idempotent-Replayed")]++
			if answer.StatusCode == http.StatusCreated {
				bodies[string(answer.Body)]++
				continue
			}
			require.Equal(t, string(apperr.CodeIdempotencyInFlight), requireProblem(t, answer).Code)
			require.NotEmpty(t, answer.Header.Get("Retry-After"))
		}
		t.Logf("%s: %v", call.path, counts)
		require.Equal(t, 1, counts["201"], "one effect: %v", counts)
		require.Len(t, bodies, 1, "one answer")
		require.Equal(t, 100, counts["201"]+counts["201true"]+counts["409"])
		last := call.sendTo(t, doors[1])
		require.Equal(t, "true", last.Header.Get("Idempotent-Replayed"))
		require.Contains(t, bodies, string(last.Body))
	}
	require.Len(t, decodeRecord[wire.List[wire.Quote]](t, h.get(t, "/v1/quotes")).Data, 2)
	require.Len(t, decodeRecord[wire.List[wire.Policy]](t, h.get(t, "/v1/policies")).Data, 1)
}
