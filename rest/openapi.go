package rest

import (
	"context"
	_ "embed"
	"encoding/json" //nolint:depguard // huma's document writes itself for this package only
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// introduction is the beginning of the document.
//
//go:embed guide.md
var introduction string

// hashesGuide ends the introduction: how partners recompute the hashes.
//
//go:embed hashes.md
var hashesGuide string

// The guides to prices, events, webhooks, GraphQL and the sandbox.
var (
	//go:embed receipts.md
	receiptsGuide string
	//go:embed prices.md
	pricesGuide string
	//go:embed events.md
	eventsGuide string
	//go:embed webhooks.md
	webhooksGuide string
	//go:embed graphql.md
	graphqlGuide string
	//go:embed sandbox.md
	sandboxGuide string
)

// tags order the document like a manual.
var tags = []*huma.Tag{
	{Name: "Products", Description: "What you can insure, and on which terms. A product is a versioned document. It has the JSON Schema of a quote's `context` with every default, the trigger, the shape of the payout, the loadings of the price, and worked examples that the version passes. A quote names a product and keeps the version it was priced with."},
	{Name: "Quotes", Description: "What cover costs, and why: all terms that would bind, the premium line by line, every number behind it, and every past event that would have paid. A quote is `priced` until it is `bound` or `expired`, usually after 24 hours. A quote reserves nothing."},
	{Name: "Prices", Description: pricesGuide},
	{Name: "Policies", Description: "Cover that was bound. A policy is `active` from the moment of binding, even before its period begins; `cover_phase` says whether the period has begun or ended. A policy is `exhausted` when nothing is left of its limit, `expired` after its period, `cancelled` when you cancel it before cover begins or an operator cancels it, and `archived` when its reporting window is over and nothing is open."},
	{Name: "Claims", Description: "What a policy owes because of an event, and its history. Matching opens and decides most claims when a source reports the event; you can open one too. An `opened` claim becomes `approved`, `deferred` (for example until the source's values are final), `declined` or `withdrawn`. An `approved` claim becomes `closed` when everything is paid and confirmed, and `approved` again when a payout comes back or its storm grows."},
	{Name: "Receipts", Description: receiptsGuide},
	{Name: "Attachments", Description: "Documents that belong to a claim: at most 50, of 10 MiB each; pdf, png, jpeg, webp, heic, csv, json, geojson and plain text. They are stored as they were sent, and downloaded with headers that keep browsers from running them."},
	{Name: "Messages", Description: "The conversation about a claim between you and our operators, as plain text."},
	{Name: "Payouts", Description: "Where the money goes, and where it is now. A payout method is an account for one claim, or for a policy and all its claims; the rail verifies it. A payout is `pending`, then `releasing` while it is sent, `released` when the rail accepted it, and `reconciled` when the rail's own report confirms it. A `blocked` payout gives the cause in `blocked_reason`. `reconciling` means that the outcome is unknown: only the rail's answer or report resolves it."},
	{Name: "Observations", Description: "What was measured: earthquakes, positions of storms, days at a weather station. Data sources report observations; in development, partners rehearse with them. You can report the same observation again: it changes nothing. A changed observation is a revision."},
	{Name: "Events", Description: eventsGuide},
	{Name: "Webhooks", Description: webhooksGuide},
	{Name: "Sandbox", Description: sandboxGuide},
	{Name: "GraphQL", Description: graphqlGuide},
}

// buildDocument builds the OpenAPI document from the table of served routes, so that both
// always agree.
func (s *server) buildDocument() (*huma.OpenAPI, error) {
	schemas := newSchemas()
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "Parapet", Version: "1.0.0", Description: introduction + "\n" + hashesGuide,
			License: &huma.License{Name: "Apache 2.0", Identifier: "Apache-2.0"},
		},
		Tags:         tags,
		ExternalDocs: &huma.ExternalDocs{Description: "The documentation: guides, reference, errors, operation.", URL: s.BaseURL + "/docs"},
		Components: &huma.Components{
			Schemas: schemas, Responses: s.sharedProblemResponses(schemas), Headers: sharedHeaders(), Parameters: sharedParameters(),
			SecuritySchemes: map[string]*huma.SecurityScheme{"bearer": {
				Type: "http", Scheme: "bearer", BearerFormat: "JWT",
				Description: "An access token of a trusted issuer (RFC 9068). Each operation names the scope it needs.",
			}},
		},
	}
	for _, base := range s.basePaths {
		doc.Servers = append(doc.Servers, &huma.Server{URL: strings.TrimSuffix(s.BaseURL, "/") + base})
	}
	doc.Components.Responses["NotModified"] = notModifiedResponse()
	for i := range s.routes {
		doc.AddOperation(s.routes[i].toOperation(schemas))
	}
	addWebhookComponents(doc.Components)
	var unknown error
	doc.Webhooks, unknown = describeWebhooks(schemas)
	completeSchemas(schemas, s.routes)
	return doc, errors.Join(unknown, addDescriptions(schemas), addExamples(doc))
}

// registerDocument serves the document as JSON and YAML, without authentication.
func (s *server) registerDocument(doc *huma.OpenAPI) error {
	asJSON, err := json.Marshal(doc)
	if err != nil {
		return fmt.Errorf("write the OpenAPI document: %w", err)
	}
	asYAML, err := doc.YAML()
	if err != nil {
		return fmt.Errorf("write the OpenAPI document: %w", err)
	}
	forms := map[string][]byte{"json": asJSON, "yaml": asYAML}
	for _, form := range slices.Sorted(maps.Keys(forms)) {
		s.mux.Handle("GET "+versionPath+"/openapi."+form, s.publicHandler(func(_ context.Context, c *requestContext) error {
			c.Header().Set("Cache-Control", "no-cache") // revalidated each time, usually without sending it again
			c.writeBody(http.StatusOK, "application/"+form, forms[form])
			return nil
		}))
	}
	return nil
}
