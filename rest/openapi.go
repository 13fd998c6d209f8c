package rest

import (
	"context"
	"encoding/json" //nolint:depguard // huma's document writes itself for this package only
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"parapet/model"
)

// introduction is what a stranger reads first.
const introduction = `Parametric cover: a quote is bound to a policy, a measured event opens a claim, the claim decides itself, the payout follows.

Requests are strict: a member that does not exist is refused, and everything that is wrong is told at once. Clients must ignore unknown members of answers and tolerate new enum values. Money is a whole number of minor units; measured values are decimal strings with a unit; times are RFC 3339 in UTC.

Every POST takes an ` + "`Idempotency-Key`" + `: the same key and request answer the first answer again, for 30 days.`

// tags order the document like a manual.
var tags = []*huma.Tag{
	{Name: "Quotes", Description: "What cover would cost, and why."},
	{Name: "Policies", Description: "Cover that was bound."},
	{Name: "Claims", Description: "What is owed because of something that happened, and its story."},
	{Name: "Attachments", Description: "Documents that belong to a claim."},
	{Name: "Messages", Description: "The conversation about a claim."},
	{Name: "Payouts", Description: "Where the money goes."},
	{Name: "Observations", Description: "What was measured; from data sources, and in rehearsals."},
}

// document describes the door from the table it serves, so that it cannot drift.
func (d *door) document() *huma.OpenAPI {
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
	return doc
}

func (r *route) operation(schemas huma.Registry) *huma.Operation {
	op := &huma.Operation{
		Method: r.method, Path: r.path, OperationID: r.id, Tags: []string{r.tag},
		Summary: r.summary, Description: r.about,
		Security:   []map[string][]string{{"bearer": {string(r.scope)}}},
		Parameters: r.documentedParameters(),
		Responses:  map[string]*huma.Response{},
	}
	if r.in != nil {
		op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			jsonType: {Schema: schemas.Schema(r.in, true, "")},
		}}
	}
	for _, status := range r.statuses {
		op.Responses[strconv.Itoa(status)] = r.success(status, schemas)
	}
	for _, status := range r.failures() {
		op.Responses[strconv.Itoa(status)] = &huma.Response{Ref: "#/components/responses/" + problemName(status)}
	}
	return op
}

func (r *route) documentedParameters() []*huma.Param {
	text := func() *huma.Schema { return &huma.Schema{Type: huma.TypeString} }
	var all []*huma.Param
	for _, name := range parameters(r.path) {
		all = append(all, &huma.Param{Name: name, In: "path", Required: true, Schema: text()})
	}
	if r.listed {
		least, most := 1.0, float64(model.MaxPageSize)
		all = append(all,
			&huma.Param{Name: "limit", In: "query", Description: "How many records at most.", Schema: &huma.Schema{Type: huma.TypeInteger, Minimum: &least, Maximum: &most, Default: model.DefaultPageSize}},
			&huma.Param{Name: "cursor", In: "query", Description: "next_cursor of the page before.", Schema: text()})
	}
	if r.method == http.MethodPost {
		key, least, most := text(), 1, maxIdempotencyKey
		key.MinLength, key.MaxLength, key.Pattern = &least, &most, "^[!-~]+$"
		all = append(all, &huma.Param{Name: "Idempotency-Key", In: "header", Description: "Makes it safe to send the request again.", Schema: key})
	}
	return all
}

func (r *route) success(status int, schemas huma.Registry) *huma.Response {
	names := []string{"X-Request-Id"}
	response := &huma.Response{Description: "What there is."}
	if status == http.StatusCreated {
		response.Description = "What was made."
	}
	switch {
	case r.file:
		response.Content = map[string]*huma.MediaType{"*/*": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}}
	default:
		response.Content = map[string]*huma.MediaType{jsonType: {Schema: schemas.Schema(r.out, true, "")}}
	}
	if r.method == http.MethodGet {
		names = append(names, "ETag")
	} else {
		names = append(names, "Idempotent-Replayed")
	}
	if r.located && status == http.StatusCreated {
		names = append(names, "Location")
	}
	response.Headers = map[string]*huma.Param{}
	for _, name := range names {
		response.Headers[name] = &huma.Param{Ref: "#/components/headers/" + name}
	}
	return response
}

// failures are the statuses that an operation can answer, by what it takes.
func (r *route) failures() []int {
	all := []int{
		http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
		http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable,
	}
	if !r.file {
		all = append(all, http.StatusNotAcceptable)
	}
	if r.in != nil {
		all = append(all, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity)
	}
	return all
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
