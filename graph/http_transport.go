package graph

import (
	"context"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"parapet/graph/scalar"
	"parapet/internal/gateway"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/replica"
)

// httpTransport implements the GraphQL over HTTP specification, draft of July 2025: one
// operation per request, by POST, or by GET for queries.
//
// A subscription is answered as server-sent events, and so is any operation whose client
// accepts no other form.
type httpTransport struct{ streams *streams }

// Supports accepts every request that the other transports do not.
func (httpTransport) Supports(*http.Request) bool { return true }

// Do answers one request.
func (o httpTransport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	ctx := r.Context()
	accept := r.Header.Values("Accept")
	media, err := mediaType(accept)
	streamed, only := acceptsEventStream(accept), false
	if err != nil && streamed {
		only, err = true, nil
	}
	if err == nil {
		err = checkMethod(w, r.Method)
	}
	if err != nil {
		writeError(ctx, w, media, err)
		return
	}
	asked, err := readRequest(r)
	defer asked.closeBody()
	if err != nil {
		writeError(ctx, w, media, err)
		return
	}
	ctx = scalar.WithContents(ctx, asked.body)
	release, err := o.streams.operations.acquireOperation(readerFrom(ctx).Actor)
	if err != nil {
		writeError(ctx, w, media, err)
		return
	}
	defer release()
	operation, refusals := exec.CreateOperationContext(ctx, asked.toRawParams(r.Header))
	ctx = graphql.WithOperationContext(ctx, operation)
	streamed = streamed && (only || len(refusals) == 0 && operation.Operation.Operation == ast.Subscription)
	if len(refusals) == 0 {
		err = checkOperation(w, r, operation.Operation, asked, streamed)
	}
	switch {
	case err != nil:
		writeError(ctx, w, media, err)
		return
	case streamed:
		if len(refusals) == 0 && operation.Operation.Operation == ast.Subscription {
			release() // it counts as a subscription
		}
		o.streams.serveEvents(ctx, w, exec, operation, refusals, readerFrom(ctx).Actor)
		return
	case len(refusals) > 0:
		writeResponse(w, media, statusOf(media, refusals), false, exec.DispatchError(ctx, refusals))
		return
	}
	writeResult(ctx, w, media, exec, operation)
}

// writeResult runs an operation and writes its response. Only a query may read from
// replicas.
func writeResult(ctx context.Context, w http.ResponseWriter, media string, exec graphql.GraphExecutor, operation *graphql.OperationContext) {
	if operation.Operation.Operation == ast.Query {
		ctx = replica.Allow(ctx)
	}
	responses, inside := exec.DispatchOperation(ctx, operation)
	response := responses(inside)
	if err := budgetError(inside, operation); err != nil {
		refusals := gqlerror.List{toGraphQLError(err)}
		writeResponse(w, media, statusOf(media, refusals), false, exec.DispatchError(ctx, refusals))
		return
	}
	if response == nil || gateway.CallerLeft(ctx) { // gqlgen answers nothing once the context has ended
		writeError(ctx, w, media, context.Cause(ctx))
		return
	}
	writeResponse(w, media, http.StatusOK, true, response)
}

// checkMethod rejects methods other than GET and POST.
func checkMethod(w http.ResponseWriter, method string) error {
	if method == http.MethodGet || method == http.MethodHead || method == http.MethodPost {
		return nil
	}
	w.Header().Set("Allow", "GET, POST")
	return apperr.Fail(apperr.CodeMethodNotAllowed, "This address accepts GET and POST.")
}

// checkOperation rejects an operation that this request must not run: a mutation by GET,
// which any link could start; a subscription without a stream; a long string outside the
// content of an attachment.
func checkOperation(w http.ResponseWriter, r *http.Request, operation *ast.OperationDefinition, asked *requestBody, streamed bool) error {
	switch kind := operation.Operation; {
	case kind == ast.Mutation && r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		return apperr.Fail(apperr.CodeMethodNotAllowed, "Send a mutation by POST.")
	case kind == ast.Subscription && !streamed:
		return apperr.Fail(apperr.CodeNotAcceptable, "A subscription is answered with Accept: text/event-stream, or over a WebSocket.")
	case countAttachedContents(operation, asked.Variables) < asked.body.Contents():
		return errTooLarge()
	default:
		return nil
	}
}
