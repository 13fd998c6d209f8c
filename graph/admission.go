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

// judge stands between every transport and the executor: a document is found,
// bounded, priced and validated here, before anything of it runs.
type judge struct {
	guard         *guard.Guard
	schema        *ast.Schema
	library       *library
	introspection bool
	documents     *kept[*guard.Document]
}

// documentsKept is how much text of validated documents is remembered, in bytes.
// Their trees take some thirty times as much.
const documentsKept = 1 << 20

// priced is what an operation costs, told in the extensions of its answer.
type priced struct {
	Requested int `json:"requested"`
	Limit     int `json:"limit"`
}

// costName is the member of extensions.
const costName = "cost"

// before lets a transport speak to the judge instead of the executor.
func (j *judge) before(transport graphql.Transport) graphql.Transport {
	return judged{transport, j}
}

type judged struct {
	graphql.Transport

	judge *judge
}

// Do is the transport's own with the judge in between.
func (t judged) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	t.Transport.Do(w, r, court{exec, t.judge})
}

// court is an executor that hears the judge first.
type court struct {
	graphql.GraphExecutor

	judge *judge
}

// CreateOperationContext is the executor's own for a document that the judge lets
// through.
func (c court) CreateOperationContext(ctx context.Context, params *graphql.RawParams) (*graphql.OperationContext, gqlerror.List) {
	refused := &graphql.OperationContext{DisableIntrospection: true}
	document, cost, refusals := c.judge.admit(params)
	if document != nil {
		refused.Stats.SetExtension(costName, priced{cost, c.judge.guard.Limit()})
	}
	if len(refusals) > 0 {
		return refused, refusals
	}
	chosen := document.Operations.ForName(params.OperationName)
	if err := readVariables(c.judge.schema, chosen, params.Variables); err != nil {
		return refused, gqlerror.List{gqlerror.Wrap(err)}
	}
	operation, refusals := c.GraphExecutor.CreateOperationContext(context.WithValue(ctx, documentKey{}, document), params)
	operation.Stats.SetExtension(costName, priced{cost, c.judge.guard.Limit()})
	operation.DisableIntrospection = !c.judge.introspection
	if len(refusals) == 0 && !single(operation) {
		return operation, gqlerror.List{gqlerror.Wrap(model.Fail(model.CodeValidationFailed, "A subscription selects exactly one field."))}
	}
	return operation, explained(refusals)
}

// single tells whether a subscription has the one field that it must have. The
// document does not tell alone: variables decide what is skipped.
func single(operation *graphql.OperationContext) bool {
	return operation.Operation.Operation != ast.Subscription ||
		len(graphql.CollectFields(operation, operation.Operation.SelectionSet, []string{"Subscription"})) == 1
}

// admit finds the document of a request and judges it: what it says, then what it
// costs with these variables, and last, unless it was valid before, whether it is
// valid. The document is nil when it has no cost.
func (j *judge) admit(params *graphql.RawParams) (*guard.Document, int, gqlerror.List) {
	text, err := j.library.find(params)
	if err != nil {
		return nil, 0, gqlerror.List{asGraphQL(err)}
	}
	params.Query = text
	document, valid := j.documents.get(text)
	if !valid {
		if document, err = j.guard.Read(text); err != nil {
			return nil, 0, gqlerror.List{asGraphQL(err)}
		}
	}
	cost, err := document.Cost(params.OperationName, params.Variables)
	if err == nil && !j.introspection && document.Introspects() {
		err = model.Fail(model.CodeValidationFailed, "This server does not tell its schema.")
	}
	if err != nil {
		return document, cost, gqlerror.List{asGraphQL(err)}
	}
	if !valid {
		if refusals := document.Validate(j.introspection); len(refusals) > 0 {
			return document, cost, refusals
		}
		j.documents.add(text, document, len(text))
	}
	j.library.note(params)
	return document, cost, nil
}

type documentKey struct{}

// handed is the executor's cache of documents: it holds the one that the judge
// has just validated, so that nothing is parsed twice.
type handed struct{}

// Get is the document of the operation.
func (handed) Get(ctx context.Context, _ string) (*ast.QueryDocument, bool) {
	document, found := ctx.Value(documentKey{}).(*guard.Document)
	if !found {
		return nil, false
	}
	return document.QueryDocument, true
}

// Add has nothing to do.
func (handed) Add(context.Context, string, *ast.QueryDocument) {}

// asGraphQL is an error with its place, where it has one.
func asGraphQL(err error) *gqlerror.Error {
	var placed *gqlerror.Error
	if errors.As(err, &placed) {
		return placed
	}
	return gqlerror.Wrap(err)
}

// explained gives the executor's own errors, about variables, the code that they
// have over REST.
func explained(refusals gqlerror.List) gqlerror.List {
	for i, e := range refusals {
		if e.Unwrap() == nil {
			ours := gqlerror.Wrap(model.Fail(model.CodeValidationFailed, "%s", guard.Sentence(e.Message)))
			ours.Locations, ours.Path = e.Locations, e.Path
			refusals[i] = ours
		}
	}
	return refusals
}

// costs tells the cost of an operation in its answer.
type costs struct{}

// ExtensionName names it to the executor.
func (costs) ExtensionName() string { return "Cost" }

// Validate has no demands on the schema.
func (costs) Validate(graphql.ExecutableSchema) error { return nil }

// InterceptResponse adds the cost, where there is one.
func (costs) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	if graphql.HasOperationContext(ctx) {
		if price := graphql.GetOperationContext(ctx).Stats.GetExtension(costName); price != nil {
			graphql.RegisterExtension(ctx, costName, price)
		}
	}
	return next(ctx)
}
