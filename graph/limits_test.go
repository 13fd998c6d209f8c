package graph_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/graph"
	"parapet/model/modeltest"
)

// held locks the table of quotes. It returns the number of statements that wait for the
// table, and a function that unlocks it.
func (d *fixture) held(t *testing.T) (waiting func() int, release func()) {
	t.Helper()
	locked, err := d.DB.Pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = locked.Rollback(context.WithoutCancel(t.Context())) })
	_, err = locked.Exec(t.Context(), "lock table quotes in access exclusive mode")
	require.NoError(t, err)
	return func() (n int) {
		row := locked.QueryRow(t.Context(), "select count(*) from pg_locks where not granted and relation = 'quotes'::regclass")
		require.NoError(t, row.Scan(&n))
		return n
	}, func() { require.NoError(t, locked.Rollback(t.Context())) }
}

const listQuotes = `{ quotes(first: 1) { nodes { id } } }`

func TestOperationsOfOnePartnerAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	d := newFixture(t, modeltest.WithConnections(24))
	waiting, release := d.held(t)
	var callers sync.WaitGroup
	statuses := make(chan int, 16)
	for range 16 {
		callers.Go(func() { statuses <- d.send(t, graphqlRequest{document: listQuotes}).status })
	}
	require.Eventually(t, func() bool { return waiting() == 16 }, time.Minute, 5*time.Millisecond)

	recorder := d.post(t.Context(), t, responseType, `{ viewer { name } }`)
	require.Equal(t, http.StatusTooManyRequests, recorder.Code, recorder.Body)
	require.Contains(t, recorder.Body.String(), `"code":"rate_limited"`)
	require.Equal(t, "1", recorder.Header().Get("Retry-After"))
	require.Empty(t, d.send(t, graphqlRequest{as: "globex", document: `{ viewer { name } }`}).Errors, "another partner is not concerned")

	release()
	callers.Wait()
	for range 16 {
		require.Equal(t, http.StatusOK, <-statuses)
	}
	require.Empty(t, d.send(t, graphqlRequest{document: listQuotes}).Errors, "every place is free again")
}

// Operations over a socket are counted with the others; subscriptions are not.
func TestOperationsOverASocketAreBoundedToo(t *testing.T) {
	t.Parallel()
	s := newServedFixture(t, graph.Streams{})
	waiting, release := s.held(t)
	c := s.dialSocket(t, "acme")
	for i := range 3 {
		c.sendMessage(fmt.Sprintf(`{"id":"s%d","type":"subscribe","payload":{"query":"subscription { events { sequence } }"}}`, i))
	}
	for i := range 16 {
		c.sendMessage(fmt.Sprintf(`{"id":"q%d","type":"subscribe","payload":{"query":%q}}`, i, listQuotes))
	}
	c.sendMessage(fmt.Sprintf(`{"id":"more","type":"subscribe","payload":{"query":%q}}`, listQuotes))
	refused := c.readMessage()
	require.Equal(t, "more", refused.ID, string(refused.Payload))
	require.Contains(t, string(refused.Payload), "rate_limited")
	require.Eventually(t, func() bool { return waiting() > 0 }, time.Minute, 5*time.Millisecond)
	release()
	for range 32 { // each has a next and a complete message
		require.Contains(t, c.readMessage().ID, "q")
	}
	c.sendMessage(fmt.Sprintf(`{"id":"again","type":"subscribe","payload":{"query":%q}}`, listQuotes))
	require.Equal(t, "next", c.readMessage().Type)
}

func TestSubscriptionsDoNotCountAsOperations(t *testing.T) {
	t.Parallel()
	s := newServedFixture(t, graph.Streams{})
	for range 17 {
		s.openEventStream(t, "acme", `subscription { events { sequence } }`)
	}
	require.Empty(t, s.send(t, graphqlRequest{document: `{ viewer { name } }`}).Errors)
}

// post sends a document with a context of its own.
func (d *fixture) post(ctx context.Context, t *testing.T, accept, document string) *httptest.ResponseRecorder {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": document})
	require.NoError(t, err)
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/graphql", strings.NewReader(string(body)))
	request.Header = http.Header{"Authorization": {"acme"}, "Content-Type": {jsonType}, "Accept": {accept}}
	recorder := httptest.NewRecorder()
	d.ServeHTTP(recorder, request)
	return recorder
}

func TestWorkStopsWhenTheCallerLeaves(t *testing.T) {
	t.Parallel()
	d := newFixture(t, modeltest.WithConnections(24))
	waiting, release := d.held(t)
	ctx, leave := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() { d.post(ctx, t, responseType, listQuotes) })
	}
	require.Eventually(t, func() bool { return waiting() == 16 }, time.Minute, 5*time.Millisecond)
	leave()
	callers.Wait()
	require.Eventually(t, func() bool { return waiting() == 0 }, time.Minute, 5*time.Millisecond, "their statements are cancelled")
	require.Empty(t, d.send(t, graphqlRequest{document: `{ viewer { name } }`}).Errors, "their places are free")
	require.Empty(t, d.loggedCauses)
	release()
}

// longMetadata is metadata of the largest size: 100 KB.
func longMetadata() map[string]string {
	metadata := map[string]string{}
	for i := range 50 {
		metadata[fmt.Sprintf("%040d", i)] = strings.Repeat("𝄞", 500)
	}
	return metadata
}

func TestAnswerThatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	s := newServedFixture(t, graph.Streams{})
	request := s.QuoteRequest("quake-circle", nil)
	request.Metadata = longMetadata()
	_, err := s.Service.Quotes.Create(t.Context(), s.Acme, request)
	require.NoError(t, err)
	answering := func(copies int) string {
		return "{ quotes(first: 1) { nodes " + aliases(copies, "metadata") + " } }"
	}
	for accept, status := range map[string]int{responseType: http.StatusBadRequest, jsonType: http.StatusOK} {
		refused := s.post(t.Context(), t, accept, answering(40))
		require.Equal(t, status, refused.Code, refused.Body)
		require.Contains(t, refused.Body.String(), `"code":"query_too_costly"`)
		require.NotContains(t, refused.Body.String(), `"data"`)
		require.Less(t, refused.Body.Len(), 1<<10)
	}
	require.Empty(t, s.send(t, graphqlRequest{document: answering(25)}).Errors, "2.5 MB are answered")

	c := s.dialSocket(t, "acme")
	c.sendMessage(fmt.Sprintf(`{"id":"1","type":"subscribe","payload":{"query":%q}}`, answering(40)))
	heard := c.readMessage()
	require.Equal(t, "error", heard.Type)
	require.Contains(t, string(heard.Payload), "query_too_costly")
	require.Empty(t, s.loggedCauses)
}

func TestMutationWhoseAnswerIsTooLargeSaysThatItWasCarriedOut(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	got := d.send(t, graphqlRequest{
		document:  "mutation($in: CreateQuoteInput!) { large: createQuote(input: $in) { quote " + aliases(40, "metadata") + " } more: createQuote(input: $in) { quote { id } } }",
		variables: map[string]any{"in": map[string]any{"product": "quake-circle", "context": map[string]any{"partner": "acme"}, "metadata": longMetadata()}},
	})
	require.Equal(t, http.StatusOK, got.status)
	require.JSONEq(t, `{"large":null,"more":null}`, string(got.Data))
	require.Len(t, got.Errors, 2)
	require.Contains(t, got.Errors[0].Message, "was carried out")
	require.NotContains(t, got.Errors[1].Message, "was carried out")
	require.Equal(t, "query_too_costly", got.Errors[1].Extensions.Code)
	require.EqualValues(t, 1, dig(t, d.queryData(t, `{ quotes { totalCount } }`, nil), "quotes", "totalCount"))
}
