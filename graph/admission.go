package graph

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"parapet/graph/guard"
	"parapet/graph/node"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
)

// admission checks a request before the executor runs it: it finds the document, checks
// its limits, computes its cost and validates it.
type admission struct {
	guard         *guard.Guard
	schema        *ast.Schema
	documents     *documentStore
	introspection bool
	validated     *lruCache[*admittedDocument]
}

// maxDocumentBytes limits the text of the cached validated documents, in bytes. Their
// syntax trees take about thirty times as much.
const maxDocumentBytes = 1 << 20

// costInfo is the cost of an operation, shown in the extensions of the response.
type costInfo struct {
	Requested int `json:"requested"`
	Limit     int `json:"limit"`
}

// costExtension is the name of the member of extensions.
const costExtension = "cost"

// gate makes a transport pass each request through admission before the executor.
func (a *admission) gate(transport graphql.Transport) graphql.Transport {
	return gatedTransport{transport, a}
}

type gatedTransport struct {
	graphql.Transport

	admission *admission
}

// Do calls the wrapped transport with a gated executor.
func (t gatedTransport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	t.Transport.Do(w, r, gatedExecutor{exec, t.admission})
}

// gatedExecutor passes each document through admission before the executor runs it.
type gatedExecutor struct {
	graphql.GraphExecutor

	admission *admission
}

// CreateOperationContext rejects the document or calls the executor.
func (c gatedExecutor) CreateOperationContext(ctx context.Context, params *graphql.RawParams) (*graphql.OperationContext, gqlerror.List) {
	refused := &graphql.OperationContext{DisableIntrospection: true}
	document, cost, refusals := c.admission.admit(params)
	if document != nil {
		refused.Stats.SetExtension(costExtension, costInfo{cost, c.admission.guard.Limit()})
	}
	if len(refusals) > 0 {
		return refused, refusals
	}
	chosen := document.Operations.ForName(params.OperationName)
	if err := readVariables(c.admission.schema, chosen, params.Variables); err != nil {
		return refused, gqlerror.List{gqlerror.Wrap(err)}
	}
	operation, refusals := c.GraphExecutor.CreateOperationContext(context.WithValue(ctx, documentKey{}, document), params)
	operation.Stats.SetExtension(costExtension, costInfo{cost, c.admission.guard.Limit()})
	operation.Stats.SetExtension(selectionExtension, document.selection)
	operation.DisableIntrospection = !c.admission.introspection
	if len(refusals) == 0 && !selectsOneField(operation) {
		return operation, gqlerror.List{gqlerror.Wrap(apperr.Fail(apperr.CodeValidationFailed, "A subscription selects exactly one field."))}
	}
	return operation, withErrorCodes(refusals)
}

// selectsOneField reports whether a subscription selects exactly one field. Variables
// decide what is skipped, so the document alone does not show it.
func selectsOneField(operation *graphql.OperationContext) bool {
	return operation.Operation.Operation != ast.Subscription ||
		len(graphql.CollectFields(operation, operation.Operation.SelectionSet, []string{"Subscription"})) == 1
}

// admit finds the document of a request and checks its limits, its cost with these
// variables and, unless it was validated before, its validity. The document is nil when
// it has no cost.
func (a *admission) admit(params *graphql.RawParams) (*admittedDocument, int, gqlerror.List) {
	text, err := a.documents.findText(params)
	if err != nil {
		return nil, 0, gqlerror.List{toGraphQLError(err)}
	}
	params.Query = text
	document, valid := a.validated.get(text)
	if !valid {
		read, err := a.guard.Read(text)
		if err != nil {
			return nil, 0, gqlerror.List{toGraphQLError(err)}
		}
		selection := sync.OnceValue(func() *store.Selection { return node.SelectionOf(a.schema, read.QueryDocument) })
		document = &admittedDocument{read, selection}
	}
	cost, err := document.Cost(params.OperationName, params.Variables)
	if err == nil && !a.introspection && document.Introspects() {
		err = apperr.Fail(apperr.CodeValidationFailed, "This server does not show its schema.")
	}
	if err != nil {
		return document, cost, gqlerror.List{toGraphQLError(err)}
	}
	if !valid {
		if refusals := document.Validate(a.introspection); len(refusals) > 0 {
			return document, cost, refusals
		}
		a.validated.add(text, document, len(text))
	}
	a.documents.rememberPersisted(params)
	return document, cost, nil
}

// admittedDocument is a document and what it selects, which is known once it is valid.
type admittedDocument struct {
	*guard.Document

	selection func() *store.Selection
}

// selectionExtension names the selection of the document among the statistics of an operation.
// Unlike the cost, it is not shown.
const selectionExtension = "selection"

// withSelection is middleware of operations that adds what their documents select.
func withSelection(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	selection := graphql.GetOperationContext(ctx).Stats.GetExtension(selectionExtension).(func() *store.Selection) //nolint:forcetypeassert // admission sets it
	return next(node.WithSelection(ctx, selection()))
}

type documentKey struct{}

// documentCache is the executor's document cache: it returns the document that admission
// has just validated, so that nothing is parsed twice.
type documentCache struct{}

// Get returns the document of the operation.
func (documentCache) Get(ctx context.Context, _ string) (*ast.QueryDocument, bool) {
	document, found := ctx.Value(documentKey{}).(*admittedDocument)
	if !found {
		return nil, false
	}
	return document.QueryDocument, true
}

// Add does nothing.
func (documentCache) Add(context.Context, string, *ast.QueryDocument) {}

// toGraphQLError converts an error and keeps its location, if it has one.
func toGraphQLError(err error) *gqlerror.Error {
	var placed *gqlerror.Error
	if errors.As(err, &placed) {
		return placed
	}
	return gqlerror.Wrap(err)
}

// withErrorCodes gives the executor's own errors, which concern variables, their REST
// code.
func withErrorCodes(refusals gqlerror.List) gqlerror.List {
	for i, e := range refusals {
		if e.Unwrap() == nil {
			ours := gqlerror.Wrap(apperr.Fail(apperr.CodeValidationFailed, "%s", guard.Sentence(e.Message)))
			ours.Locations, ours.Path = e.Locations, e.Path
			refusals[i] = ours
		}
	}
	return refusals
}

// costExtensionWriter adds the cost of an operation to its response.
type costExtensionWriter struct{}

// ExtensionName returns the name for the executor.
func (costExtensionWriter) ExtensionName() string { return "Cost" }

// Validate accepts every schema.
func (costExtensionWriter) Validate(graphql.ExecutableSchema) error { return nil }

// InterceptResponse adds the cost, if there is one.
func (costExtensionWriter) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	if graphql.HasOperationContext(ctx) {
		if price := graphql.GetOperationContext(ctx).Stats.GetExtension(costExtension); price != nil {
			graphql.RegisterExtension(ctx, costExtension, price)
		}
	}
	return next(ctx)
}
