package graph_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/graph"
)

const createEndpoint = `mutation { createWebhookEndpoint(input: {url: \"https://example.com/hooks\", eventTypes: [QUOTE_CREATED]}) { webhookEndpoint { id } } }`

// The headers of a mutation's response are known only after it has run.
func TestEventStreamOfMutationHasItsHeaders(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for _, replayed := range []string{"", "true"} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/graphql", strings.NewReader(`{"query":"`+createEndpoint+`"}`))
		request.Header = http.Header{"Authorization": {"acme"}, "Content-Type": {jsonType}, "Accept": {"text/event-stream"}, "Idempotency-Key": {"k1"}}
		recorder := httptest.NewRecorder()
		d.ServeHTTP(recorder, request)
		response := recorder.Result() // with the headers as they were when the response began
		require.NoError(t, response.Body.Close())
		require.Equal(t, replayed, response.Header.Get("Idempotent-Replayed"))
		require.Equal(t, "text/event-stream; charset=utf-8", response.Header.Get("Content-Type"))
		require.Contains(t, recorder.Body.String(), `"webhookEndpoint":{"id":"whe_`)
		require.True(t, strings.HasSuffix(recorder.Body.String(), "event: complete\ndata:\n\n"))
	}
}

func TestSocketMutationHasItsPosition(t *testing.T) {
	t.Parallel()
	s := newServedFixture(t, graph.Streams{})
	c := s.dialSocket(t, "acme")
	for id, query := range []string{createEndpoint, "{ viewer { name } }"} {
		c.sendMessage(fmt.Sprintf(`{"id":"%d","type":"subscribe","payload":{"query":"%s"}}`, id, query))
		payload := string(c.readMessage().Payload)
		if id == 0 {
			require.Regexp(t, `"readAfter":"1:[0-9A-F]+/[0-9A-F]+"`, payload)
		} else {
			require.NotContains(t, payload, "readAfter")
		}
		require.Equal(t, "complete", c.readMessage().Type)
	}
}
