package rest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"parapet/internal/refusal"
	"parapet/model"
	"parapet/model/wire"
)

// codes are everything an operation can be refused with: what follows from what
// it takes, and what its row of the table adds.
func (r *route) codes() []model.Code {
	all := slices.Concat([]model.Code{
		model.CodeParameterInvalid, model.CodeTokenMissing, model.CodeTokenInvalid, model.CodeTokenExpired,
		model.CodeInsufficientScope, model.CodePartnerDisabled, model.CodeNotFound, model.CodeRateLimited,
		model.CodeInternal, model.CodeUnavailable,
	}, r.refusals)
	if !r.file {
		all = append(all, model.CodeNotAcceptable)
	}
	if r.listed {
		all = append(all, model.CodeCursorInvalid)
	}
	if r.in != nil || r.bare {
		all = append(all, model.CodeMalformedJSON, model.CodeUnknownField, model.CodeDuplicateField,
			model.CodeBodyTooLarge, model.CodeMediaTypeUnsupported, model.CodeValidationFailed)
	}
	if r.method == http.MethodPost {
		all = append(all, model.CodeIdempotencyKeyInvalid, model.CodeIdempotencyInFlight, model.CodeIdempotencyKeyReused)
	}
	if r.method != http.MethodGet {
		all = append(all, model.CodeVersionMismatch)
	}
	return all
}

// byStatus groups codes as responses do, each group in order.
func byStatus(codes []model.Code) map[int][]string {
	groups := map[int][]string{}
	for _, code := range codes {
		status := refusal.KindOf(code).Status
		groups[status] = append(groups[status], string(code))
	}
	for status := range groups {
		slices.Sort(groups[status])
		groups[status] = slices.Compact(groups[status])
	}
	return groups
}

// shared are the statuses that mean the same for every operation; they stand in
// components once.
var shared = []int{
	http.StatusUnauthorized, http.StatusNotAcceptable, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
	http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable,
}

// problems are the answers that are no success, by status.
func (r *route) problems(schemas huma.Registry) map[int]*huma.Response {
	all := map[int]*huma.Response{}
	for status, codes := range byStatus(r.codes()) {
		if slices.Contains(shared, status) {
			all[status] = &huma.Response{Ref: "#/components/responses/" + problemName(status)}
		} else {
			all[status] = refusing(schemas, status, codes)
		}
	}
	return all
}

// sharedProblems are the answers in components.
func (d *door) sharedProblems(schemas huma.Registry) map[string]*huma.Response {
	var codes []model.Code
	for i := range d.routes {
		codes = append(codes, d.routes[i].codes()...)
	}
	groups, all := byStatus(codes), map[string]*huma.Response{}
	for _, status := range shared {
		all[problemName(status)] = refusing(schemas, status, groups[status])
	}
	return all
}

// refusing is a response with its codes, and an example of each.
func refusing(schemas huma.Registry, status int, codes []string) *huma.Response {
	examples := map[string]*huma.Example{}
	for _, code := range codes {
		examples[code] = &huma.Example{Summary: refusal.KindOf(model.Code(code)).Title, Value: exampleOf(model.Code(code))}
	}
	response := &huma.Response{
		Description: "Codes: " + strings.Join(codes, ", ") + ".",
		Content:     map[string]*huma.MediaType{problemType: {Schema: schemaOf[problem](schemas), Examples: examples}},
	}
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusConflict:
		response.Headers = referred(slices.Concat(everywhere, []string{"Retry-After"})...)
	case http.StatusUnauthorized, http.StatusForbidden:
		response.Headers = referred(slices.Concat(everywhere, []string{"WWW-Authenticate"})...)
	default:
		response.Headers = referred(everywhere...)
	}
	return response
}

// exampleOf is a problem with a code, as it comes.
func exampleOf(code model.Code) any {
	c := &call{instance: "/v1/…", id: "01a1fa6b-33f1-716c-8eb5-f238a40bd080"}
	e := model.Fail(code, "%s.", refusal.KindOf(code).Title)
	if code == model.CodeValidationFailed {
		e = model.Invalid(model.FieldError{Pointer: "/metadata/a", Code: "type", Detail: "Give a string."})
	}
	if code == model.CodeQuoteAlreadyBound {
		e.ResourceID = "pol_01m7x6n10jewfsb9zcqnfs2052"
	}
	return plain(c.problem(e))
}

// plain is a record as the document's writer takes it.
func plain(record any) any {
	var value any
	text, err := wire.Encode(record)
	if err == nil {
		err = wire.Decode(text, &value)
	}
	if err != nil {
		panic(err) // a record of constants
	}
	return value
}

// problemName names a status in components/responses: NotFound.
func problemName(status int) string { return strings.ReplaceAll(http.StatusText(status), " ", "") }
