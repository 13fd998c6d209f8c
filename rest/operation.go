package rest

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"parapet/model"
)

func (r *route) operation(schemas huma.Registry) *huma.Operation {
	op := &huma.Operation{
		Method: r.method, Path: r.path, OperationID: r.id, Tags: []string{r.tag},
		Summary: r.summary, Description: r.about,
		Security:   r.security(),
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
	if r.method == http.MethodGet {
		op.Responses["304"] = &huma.Response{Description: "You have it already.", Headers: referred(append(everywhere, "ETag")...)}
	}
	for status, response := range r.problems(schemas) {
		op.Responses[strconv.Itoa(status)] = response
	}
	return op
}

// security names the scopes, one of which a token needs.
func (r *route) security() []map[string][]string {
	var all []map[string][]string
	for _, scope := range r.scopes() {
		all = append(all, map[string][]string{"bearer": {string(scope)}})
	}
	return all
}

// documentedParameters are the parameters of path, query and header.
func (r *route) documentedParameters() []*huma.Param {
	var all []*huma.Param
	for _, name := range parameters(r.path) {
		all = append(all, &huma.Param{Name: name, In: "path", Required: true, Description: pathParameters[name], Schema: text()})
	}
	for _, name := range r.filters {
		all = append(all, r.documentedFilter(name))
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
	if r.held != nil {
		all = append(all, &huma.Param{Name: "If-Match", In: "header", Description: "ETag of the record that the write is about; another version than this answers 412.", Schema: text()})
	}
	return all
}

func text() *huma.Schema { return &huma.Schema{Type: huma.TypeString} }

var pathParameters = map[string]string{
	"quote_id":      "Id of a quote, quo_….",
	"policy_id":     "Id of a policy, pol_….",
	"claim_id":      "Id of a claim, clm_….",
	"attachment_id": "Id of an attachment of the claim, att_….",
	"payout_id":     "Id of a payout, pay_….",
	"key":           "Key of a product, such as quake-circle.",
}

func (r *route) documentedFilter(name string) *huma.Param {
	p := &huma.Param{Name: name, In: "query", Schema: text()}
	switch name {
	case "status":
		p.Description, p.Schema.Enum = "Only records in this state.", statuses[r.out]
	case "product":
		p.Description = "Only records of this product, by its key."
	case "policy_id":
		p.Description = "Only claims under this policy."
	case "partner_reference":
		p.Description = "Only the record with this name of yours."
	case "created_from":
		p.Description, p.Schema.Format = "Only records created at this instant or later.", "date-time"
	case "created_to":
		p.Description, p.Schema.Format = "Only records created before this instant.", "date-time"
	}
	return p
}

func (r *route) success(status int, schemas huma.Registry) *huma.Response {
	names := slices.Clone(everywhere)
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
	response.Headers = referred(names...)
	return response
}
