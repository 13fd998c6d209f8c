package rest

import (
	"context"
	"encoding/json" //nolint:depguard // huma's document writes itself for this package only
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// introduction is what a stranger reads first.
const introduction = `Parametric cover: a quote is bound to a policy, a measured event opens a claim, the claim decides itself, the payout follows.

Requests are strict: a member that does not exist is refused, and everything that is wrong is told at once. Clients must ignore unknown members of answers and tolerate new enum values. Money is a whole number of minor units; measured values are decimal strings with a unit; times are RFC 3339 in UTC.

Every POST takes an ` + "`Idempotency-Key`" + `: the same key and request answer the first answer again, for 30 days.`

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
			Schemas: schemas, Responses: d.problems(schemas), Headers: headers(),
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
	return doc, describe(schemas)
}

// failures are the statuses of all operations together.
func (d *door) failures() []int {
	var all []int
	for i := range d.routes {
		all = append(all, d.routes[i].failures()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func headers() map[string]*huma.Param {
	text := &huma.Schema{Type: huma.TypeString}
	return map[string]*huma.Param{
		"X-Request-Id":        {Description: "Yours, when it has 1 to 128 visible ASCII characters, or a new one. It is in our logs.", Schema: text},
		"ETag":                {Description: "A digest of the answer; If-None-Match with it answers 304.", Schema: text},
		"Location":            {Description: "Where the record can be read.", Schema: text},
		"Idempotent-Replayed": {Description: "true when this is the first answer again.", Schema: text},
		"Retry-After":         {Description: "Seconds to wait before trying again.", Schema: &huma.Schema{Type: huma.TypeInteger}},
		"WWW-Authenticate":    {Description: "RFC 6750.", Schema: text},
	}
}

// problems are the answers that are not a success, one a status that an operation
// can answer, each with the codes it can carry.
func (d *door) problems(schemas huma.Registry) map[string]*huma.Response {
	codes := map[int][]string{}
	for code, kind := range kinds {
		codes[kind.status] = append(codes[kind.status], string(code))
	}
	all := map[string]*huma.Response{}
	for _, status := range d.failures() {
		slices.Sort(codes[status])
		response := &huma.Response{
			Description: "Codes: " + strings.Join(codes[status], ", ") + ".",
			Content:     map[string]*huma.MediaType{problemType: {Schema: schemaOf[problem](schemas)}},
			Headers:     map[string]*huma.Param{"X-Request-Id": {Ref: "#/components/headers/X-Request-Id"}},
		}
		if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || status == http.StatusConflict {
			response.Headers["Retry-After"] = &huma.Param{Ref: "#/components/headers/Retry-After"}
		}
		if status == http.StatusUnauthorized || status == http.StatusForbidden {
			response.Headers["WWW-Authenticate"] = &huma.Param{Ref: "#/components/headers/WWW-Authenticate"}
		}
		all[problemName(status)] = response
	}
	return all
}

// problemName names a status in components/responses: NotFound.
func problemName(status int) string { return strings.ReplaceAll(http.StatusText(status), " ", "") }

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
