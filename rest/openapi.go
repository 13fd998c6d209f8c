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

// introduction is what a stranger reads first.
//
//go:embed guide.md
var introduction string

// tags order the document like a manual.
var tags = []*huma.Tag{
	{Name: "Products", Description: "What can be covered, and on which terms."},
	{Name: "Quotes", Description: "What cover would cost, and why."},
	{Name: "Policies", Description: "Cover that was bound."},
	{Name: "Claims", Description: "What is owed because of something that happened, and its story."},
	{Name: "Attachments", Description: "Documents that belong to a claim."},
	{Name: "Messages", Description: "The conversation about a claim."},
	{Name: "Payouts", Description: "Where the money goes."},
	{Name: "Observations", Description: "What was measured; from data sources, and in rehearsals."},
}

// document describes the door from the table it serves, so that it cannot drift.
func (d *door) document() (*huma.OpenAPI, error) {
	schemas := newSchemas()
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "Parapet", Version: "1.0.0", Description: introduction,
			License: &huma.License{Name: "Proprietary", Identifier: "LicenseRef-Proprietary"},
		},
		Tags: tags,
		Components: &huma.Components{
			Schemas: schemas, Responses: d.sharedProblems(schemas), Headers: headers(),
			SecuritySchemes: map[string]*huma.SecurityScheme{"bearer": {
				Type: "http", Scheme: "bearer", BearerFormat: "JWT",
				Description: "An access token of a trusted issuer (RFC 9068). Each operation names the scope it needs.",
			}},
		},
	}
	for _, base := range d.bases {
		doc.Servers = append(doc.Servers, &huma.Server{URL: strings.TrimSuffix(d.BaseURL, "/") + base})
	}
	for i := range d.routes {
		doc.AddOperation(d.routes[i].operation(schemas))
	}
	finish(schemas, d.routes)
	return doc, errors.Join(describe(schemas), illustrate(doc))
}

func headers() map[string]*huma.Param {
	text := &huma.Schema{Type: huma.TypeString}
	return map[string]*huma.Param{
		"X-Request-Id":        {Description: "Yours, when it has 1 to 128 visible ASCII characters, or a new one. It is in our logs.", Schema: text, Required: true},
		"ETag":                {Description: "A digest of the answer; If-None-Match with it answers 304.", Schema: text, Required: true},
		"Location":            {Description: "Where the record can be read.", Schema: text, Required: true},
		"Idempotent-Replayed": {Description: "true when this is the first answer again.", Schema: text},
		"RateLimit":           {Description: "What is left of the allowance: r requests now, all of them after t seconds (draft-ietf-httpapi-ratelimit-headers).", Schema: text},
		"RateLimit-Policy":    {Description: "The allowance: q requests in w seconds.", Schema: text},
		"Retry-After":         {Description: "Seconds to wait before trying again.", Schema: &huma.Schema{Type: huma.TypeInteger}},
		"WWW-Authenticate":    {Description: "RFC 6750.", Schema: text},
	}
}

// publish serves the document, for everybody and in both forms.
func (d *door) publish(doc *huma.OpenAPI) error {
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
		d.mux.Handle("GET "+version+"/openapi."+form, d.public(func(_ context.Context, c *call) error {
			c.send(http.StatusOK, "application/"+form, forms[form])
			return nil
		}))
	}
	return nil
}
