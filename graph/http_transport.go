package graph

import (
	"context"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"parapet/graph/scalar"
	"parapet/internal/visit"
	"parapet/model"
)

// overHTTP is the GraphQL over HTTP specification, draft of July 2025: one
// operation a request, by POST, or by GET where it changes nothing.
//
// A subscription is answered as server-sent events, and so is anything that is
// wanted in no other form.
type overHTTP struct{ streams *streams }

// Supports everything that is no other transport's.
func (overHTTP) Supports(*http.Request) bool { return true }

// Do answers one request.
func (o overHTTP) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	ctx := r.Context()
	accept := r.Header.Values("Accept")
	media, err := mediaType(accept)
	streamed, only := wantsEvents(accept), false
	if err != nil && streamed {
		only, err = true, nil
	}
	if err == nil {
		err = allowed(w, r.Method)
	}
	if err != nil {
		refuse(ctx, w, media, err)
		return
	}
	asked, err := read(r)
	defer asked.close()
	if err != nil {
		refuse(ctx, w, media, err)
		return
	}
	ctx = scalar.WithContents(ctx, asked.body)
	release, err := o.streams.operations.acquire(reader(ctx).Actor)
	if err != nil {
		refuse(ctx, w, media, err)
		return
	}
	defer release()
	operation, refusals := exec.CreateOperationContext(ctx, asked.params(r.Header))
	ctx = graphql.WithOperationContext(ctx, operation)
	streamed = streamed && (only || len(refusals) == 0 && operation.Operation.Operation == ast.Subscription)
	if len(refusals) == 0 {
		err = fits(w, r, operation.Operation, asked, streamed)
	}
	switch {
	case err != nil:
		refuse(ctx, w, media, err)
		return
	case streamed:
		if len(refusals) == 0 && operation.Operation.Operation == ast.Subscription {
			release() // it counts as a subscription
		}
		o.streams.over(ctx, w, exec, operation, refusals, reader(ctx).Actor)
		return
	case len(refusals) > 0:
		write(w, media, statusOf(media, refusals), false, exec.DispatchError(ctx, refusals))
		return
	}
	answer(ctx, w, media, exec, operation)
}

// answer runs an operation and writes its response.
func answer(ctx context.Context, w http.ResponseWriter, media string, exec graphql.GraphExecutor, operation *graphql.OperationContext) {
	responses, inside := exec.DispatchOperation(ctx, operation)
	response := responses(inside)
	if err := budgetError(inside, operation); err != nil {
		refusals := gqlerror.List{asGraphQL(err)}
		write(w, media, statusOf(media, refusals), false, exec.DispatchError(ctx, refusals))
		return
	}
	if response == nil || visit.CallerLeft(ctx) { // the library answers nothing once the context has ended
		refuse(ctx, w, media, context.Cause(ctx))
		return
	}
	write(w, media, http.StatusOK, true, response)
}

// allowed refuses what is neither GET nor POST.
func allowed(w http.ResponseWriter, method string) error {
	if method == http.MethodGet || method == http.MethodHead || method == http.MethodPost {
		return nil
	}
	w.Header().Set("Allow", "GET, POST")
	return model.Fail(model.CodeMethodNotAllowed, "This address takes GET and POST.")
}

// fits refuses an operation that must not come in this way: a mutation by GET,
// which anybody's link could start, a subscription where nobody listens, and a long
// string that is not the content of an attachment.
func fits(w http.ResponseWriter, r *http.Request, operation *ast.OperationDefinition, asked *posted, streamed bool) error {
	switch kind := operation.Operation; {
	case kind == ast.Mutation && r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		return model.Fail(model.CodeMethodNotAllowed, "A mutation is sent by POST.")
	case kind == ast.Subscription && !streamed:
		return model.Fail(model.CodeNotAcceptable, "A subscription is answered with Accept: text/event-stream, or over a WebSocket.")
	case attached(operation, asked.Variables) < asked.body.Contents():
		return errTooLarge()
	default:
		return nil
	}
}
