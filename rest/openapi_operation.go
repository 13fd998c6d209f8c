package rest

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"parapet/model/events"
)

func (r *route) toOperation(schemas huma.Registry) *huma.Operation {
	op := &huma.Operation{
		Method: r.method, Path: r.path, OperationID: r.operationID, Tags: []string{r.tag},
		Summary: r.summary, Description: r.description,
		Security:   r.securityRequirements(),
		Parameters: r.operationParameters(),
		Responses:  map[string]*huma.Response{},
	}
	if r.inputType != nil {
		op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			jsonType: {Schema: schemas.Schema(r.inputType, true, "")},
		}}
		if r.method == http.MethodPatch {
			op.RequestBody.Content[mergePatchType] = &huma.MediaType{Schema: schemas.Schema(r.inputType, true, "")}
		}
	}
	for _, status := range r.successStatuses {
		op.Responses[strconv.Itoa(status)] = r.successResponse(status, schemas)
	}
	if r.method == http.MethodGet {
		op.Responses["304"] = &huma.Response{Ref: "#/components/responses/NotModified"}
	}
	for status, response := range r.problemResponses(schemas) {
		op.Responses[strconv.Itoa(status)] = response
	}
	return op
}

// securityRequirements lists the scopes, one of which a token needs.
func (r *route) securityRequirements() []map[string][]string {
	var all []map[string][]string
	for _, scope := range r.acceptedScopes() {
		all = append(all, map[string][]string{"bearer": {string(scope)}})
	}
	return all
}

// operationParameters returns the parameters of path, query and header.
func (r *route) operationParameters() []*huma.Param {
	var all []*huma.Param
	for _, name := range pathParameterNames(r.path) {
		all = append(all, &huma.Param{Name: name, In: "path", Required: true, Description: pathParameters[name], Schema: stringSchema()})
	}
	for _, name := range r.filters {
		all = append(all, r.filterParameter(name))
	}
	if r.isPaged {
		all = append(all, parameterRefs("limit", "cursor")...)
	}
	switch r.method {
	case http.MethodGet:
		all = append(all, parameterRefs("If-None-Match")...)
	case http.MethodPost:
		all = append(all, parameterRefs("Idempotency-Key")...)
	}
	if r.matchTarget != nil {
		all = append(all, parameterRefs("If-Match")...)
	}
	return append(all, parameterRefs(readAfterHeader)...)
}

var pathParameters = map[string]string{
	"quote_id":         "Id of a quote, quo_….",
	"policy_id":        "Id of a policy, pol_….",
	"claim_id":         "Id of a claim, clm_….",
	"attachment_id":    "Id of an attachment of the claim, att_….",
	"payout_id":        "Id of a payout, pay_….",
	"payout_method_id": "Id of a payout method, pmt_….",
	"occurrence_id":    "Id of an occurrence, occ_….",
	"observation_id":   "Id of an observation, obs_….",
	"run_id":           "Id of a run of the sandbox, run_….",
	"event_id":         "Id of an event, evt_….",
	"endpoint_id":      "Id of a webhook endpoint, whe_….",
	"delivery_id":      "Id of a delivery, dlv_….",
	"key":              "Key of a product, such as quake-circle.",
}

func (r *route) filterParameter(name string) *huma.Param {
	p := &huma.Param{Name: name, In: "query", Schema: stringSchema()}
	switch name {
	case "status":
		p.Description, p.Schema.Enum = "Only records in this state.", statusesByList[r.outputType]
	case "product":
		p.Description = "Only records of this product, by its key."
	case "policy_id":
		p.Description = "Only records under this policy."
	case "claim_id":
		p.Description = "Only payouts of this claim."
	case "partner_reference":
		p.Description = "Only the record with this partner_reference."
	case "created_from":
		p.Description, p.Schema.Format = "Only records created at this instant or later.", "date-time"
	case "created_to":
		p.Description, p.Schema.Format = "Only records created before this instant.", "date-time"
	case "after_sequence":
		p.Description, p.Schema = "Only events with a greater sequence. Give the sequence of the last event you have, or 0 for all.", countSchema()
	case "generation":
		p.Description, p.Schema = "Generation of the event whose sequence you give; 1 when left out. After a restore from a backup, sequences after the end of the backup belong to other events: an after_sequence of an older generation beyond that end is 400 cursor_invalid.", countSchema()
	case "types":
		p.Description, p.Example = "Only events of these types, separated by commas.", "claim.approved,payout.released"
	case "subject":
		p.Description, p.Example = "Only events about the record with this id.", "clm_01m7x6n10jewfsb9zcqnfs2052"
	case "part":
		p.Description, p.Schema = "The receipt as it was after this part of the claim, 1 for the first decision; all parts when left out.", countSchema()
	case "wait":
		most := events.MaxEventWait.Seconds()
		p.Description, p.Schema = "How many seconds an answer may wait for its first event when there is none yet.", countSchema()
		p.Schema.Maximum = &most
	case "partner":
		p.Description = "The partner whose feed to read. Only for operators, who must give it."
	}
	return p
}

// documentedAs is the type of the record in the document, where the response is written
// from stored text.
func (r route) documentedAs(record reflect.Type) route { r.outputType = record; return r }

func (r *route) successResponse(status int, schemas huma.Registry) *huma.Response {
	names := slices.Clone(responseHeaders)
	response := &huma.Response{Description: r.successDescription(status)}
	out := r.outputType
	if status == http.StatusCreated && r.createdType != nil {
		out = r.createdType
	}
	switch {
	case r.returnsFile:
		names = append(names, "Content-Disposition")
		response.Content = map[string]*huma.MediaType{"*/*": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}}
	case out != nil:
		response.Content = map[string]*huma.MediaType{jsonType: {Schema: schemas.Schema(out, true, "")}}
	}
	switch r.method {
	case http.MethodGet:
		names = append(names, "ETag")
	case http.MethodPost:
		names = append(names, "Idempotent-Replayed")
	}
	if r.method != http.MethodGet {
		names = append(names, readAfterHeader)
	}
	if r.locates(status) {
		names = append(names, "Location")
	}
	response.Headers = headerRefs(names...)
	return response
}

// successDescription describes a success status.
func (r *route) successDescription(status int) string {
	switch {
	case status == http.StatusCreated:
		return "The record was created."
	case status == http.StatusAccepted && r.location != "":
		return "It begins within a second: poll the run at Location until its status is done or failed."
	case status == http.StatusAccepted && r.isSandboxOnly:
		return "The rail reports it within seconds; this is the payout before."
	case status == http.StatusAccepted:
		return "The event will be sent; this is its delivery."
	case status == http.StatusNoContent:
		return "It is gone."
	case len(r.successStatuses) > 1:
		return "The record existed already; this is its present state."
	case r.returnsFile:
		return "The bytes, as they were sent."
	case r.isPaged:
		return "A page of records."
	default:
		return "The record as it is now."
	}
}
