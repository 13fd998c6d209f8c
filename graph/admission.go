package graph

import (
	"context"
	"errors"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"parapet/graph/guard"
	"parapet/model"
)

// admission runs before the executor: it finds the document, checks its limits, computes
// its cost and validates it.
type admission struct {
	guard         *guard.Guard
	schema        *ast.Schema
	documents     *documentStore
	introspection bool
	validated     *lruCache[*guard.Document]
}

// maxDocumentBytes is how much text of validated documents is remembered, in bytes.
// Their trees take some thirty times as much.
const maxDocumentBytes = 1 << 20

// costInfo is what an operation costs, told in the extensions of its answer.
type costInfo struct {
	Requested int `json:"requested"`
	Limit     int `json:"limit"`
}

// costExtension is the member of extensions.
const costExtension = "cost"

// gate lets a transport speak to the judge instead of the executor.
func (a *admission) gate(transport graphql.Transport) graphql.Transport {
	return gatedTransport{transport, a}
}

type gatedTransport struct {
	graphql.Transport

	admission *admission
}

// Do is the transport's own with the judge in between.
func (t gatedTransport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	t.Transport.Do(w, r, gatedExecutor{exec, t.admission})
}

// gatedExecutor is an executor that hears the judge first.
type gatedExecutor struct {
	graphql.GraphExecutor

	admission *admission
}

// CreateOperationContext is the executor's own for a document that the judge lets
// through.
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
	operation.DisableIntrospection = !c.admission.introspection
	if len(refusals) == 0 && !selectsOneField(operation) {
		return operation, gqlerror.List{gqlerror.Wrap(model.Fail(model.CodeValidationFailed, "A subscription selects exactly one field."))}
	}
	return operation, withErrorCodes(refusals)
}

// selectsOneField reports whether a subscription selects exactly one field. Variables
// decide what is skipped, so the document alone does not show it.
func selectsOneField(operation *graphql.OperationContext) bool {
	return operation.Operation.Operation != ast.Subscription ||
		len(graphql.CollectFields(operation, operation.Operation.SelectionSet, []string{"Subscription"})) == 1
}

// admit finds the document of a request and checks it: limits, then cost with these
// variables, then validity unless it was validated before. The document is nil when it
// has no cost.
func (a *admission) admit(params *graphql.RawParams) (*guard.Document, int, gqlerror.List) {
	text, err := a.documents.findText(params)
	if err != nil {
		return nil, 0, gqlerror.List{toGraphQLError(err)}
	}
	params.Query = text
	document, valid := a.validated.get(text)
	if !valid {
		if document, err = a.guard.Read(text); err != nil {
			return nil, 0, gqlerror.List{toGraphQLError(err)}
		}
	}
	cost, err := document.Cost(params.OperationName, params.Variables)
	if err == nil && !a.introspection && document.Introspects() {
		err = model.Fail(model.CodeValidationFailed, "This server does not tell its schema.")
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

type documentKey struct{}

// documentCache is the executor's document cache: it returns the document that admission
// has just validated, so that nothing is parsed twice.
type documentCache struct{}

// Get is the document of the operation.
func (documentCache) Get(ctx context.Context, _ string) (*ast.QueryDocument, bool) {
	document, found := ctx.Value(documentKey{}).(*guard.Document)
	if !found {
		return nil, false
	}
	return document.QueryDocument, true
}

// Add has nothing to do.
func (documentCache) Add(context.Context, string, *ast.QueryDocument) {}

// toGraphQLError is an error with its place, where it has one.
func toGraphQLError(err error) *gqlerror.Error {
	var placed *gqlerror.Error
	if errors.As(err, &placed) {
		return placed
	}
	return gqlerror.Wrap(err)
}

// withErrorCodes gives the executor's own errors, about variables, the code that they
// have over REST.
func withErrorCodes(refusals gqlerror.List) gqlerror.List {
	for i, e := range refusals {
		if e.Unwrap() == nil {
			ours := gqlerror.Wrap(model.Fail(model.CodeValidationFailed, "%s", guard.Sentence(e.Message)))
			ours.Locations, ours.Path = e.Locations, e.Path
			refusals[i] = ours
		}
	}
	return refusals
}

// costExtensionWriter tells the cost of an operation in its answer.
type costExtensionWriter struct{}

// ExtensionName names it to the executor.
func (costExtensionWriter) ExtensionName() string { return "Cost" }

// Validate has no demands on the schema.
func (costExtensionWriter) Validate(graphql.ExecutableSchema) error { return nil }

// InterceptResponse adds the cost, where there is one.
func (costExtensionWriter) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	if graphql.HasOperationContext(ctx) {
		if price := graphql.GetOperationContext(ctx).Stats.GetExtension(costExtension); price != nil {
			graphql.RegisterExtension(ctx, costExtension, price)
		}
	}
	return next(ctx)
}
