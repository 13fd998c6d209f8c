package rest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"parapet/internal/errormap"
	"parapet/model/kernel/apperr"
	"parapet/model/wire"
)

// errorCodes returns all error codes of an operation: those that follow from its form and
// those in its row of the table.
func (r *route) errorCodes() []apperr.Code {
	all := slices.Concat([]apperr.Code{
		apperr.CodeParameterInvalid, apperr.CodeTokenMissing, apperr.CodeTokenInvalid, apperr.CodeTokenExpired,
		apperr.CodeInsufficientScope, apperr.CodePartnerDisabled, apperr.CodeNotFound, apperr.CodeRateLimited,
		apperr.CodeInternal, apperr.CodeUnavailable,
	}, r.extraCodes)
	if !r.returnsFile {
		all = append(all, apperr.CodeNotAcceptable)
	}
	if r.isPaged {
		all = append(all, apperr.CodeCursorInvalid)
	}
	if r.inputType != nil || r.takesEmptyBody {
		all = append(all, apperr.CodeMalformedJSON, apperr.CodeUnknownField, apperr.CodeDuplicateField,
			apperr.CodeBodyTooLarge, apperr.CodeMediaTypeUnsupported, apperr.CodeValidationFailed)
	}
	if r.method == http.MethodPost {
		all = append(all, apperr.CodeIdempotencyKeyInvalid, apperr.CodeIdempotencyInFlight, apperr.CodeIdempotencyKeyReused)
	}
	if r.method != http.MethodGet {
		all = append(all, apperr.CodeVersionMismatch)
	}
	return all
}

// groupByStatus groups codes by HTTP status, each group sorted.
func groupByStatus(codes []apperr.Code) map[int][]string {
	groups := map[int][]string{}
	for _, code := range codes {
		status := errormap.MeaningOf(code).Status
		groups[status] = append(groups[status], string(code))
	}
	for status := range groups {
		slices.Sort(groups[status])
		groups[status] = slices.Compact(groups[status])
	}
	return groups
}

// sharedStatuses are the statuses with the same meaning for every operation; components
// contain them once.
var sharedStatuses = []int{
	http.StatusUnauthorized, http.StatusNotAcceptable, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
	http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable,
}

// problemResponses returns the error responses by status.
func (r *route) problemResponses(schemas huma.Registry) map[int]*huma.Response {
	all := map[int]*huma.Response{}
	for status, codes := range groupByStatus(r.errorCodes()) {
		if slices.Contains(sharedStatuses, status) {
			all[status] = &huma.Response{Ref: "#/components/responses/" + problemName(status)}
		} else {
			all[status] = problemResponse(schemas, status, codes)
		}
	}
	return all
}

// sharedProblemResponses returns the error responses in components.
func (s *server) sharedProblemResponses(schemas huma.Registry) map[string]*huma.Response {
	var codes []apperr.Code
	for i := range s.routes {
		codes = append(codes, s.routes[i].errorCodes()...)
	}
	groups, all := groupByStatus(codes), map[string]*huma.Response{}
	for _, status := range sharedStatuses {
		all[problemName(status)] = problemResponse(schemas, status, groups[status])
	}
	return all
}

// problemResponse returns a response with its codes and an example of each.
func problemResponse(schemas huma.Registry, status int, codes []string) *huma.Response {
	examples := map[string]*huma.Example{}
	for _, code := range codes {
		examples[code] = &huma.Example{Summary: errormap.MeaningOf(apperr.Code(code)).Title, Value: exampleProblem(apperr.Code(code))}
	}
	response := &huma.Response{
		Description: "Codes: " + strings.Join(codes, ", ") + ".",
		Content:     map[string]*huma.MediaType{problemType: {Schema: schemaOf[problem](schemas), Examples: examples}},
	}
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusConflict:
		response.Headers = headerRefs(slices.Concat(responseHeaders, []string{"Retry-After"})...)
	case http.StatusUnauthorized, http.StatusForbidden:
		response.Headers = headerRefs(slices.Concat(responseHeaders, []string{"WWW-Authenticate"})...)
	default:
		response.Headers = headerRefs(responseHeaders...)
	}
	return response
}

// exampleProblem returns an example problem with a code.
func exampleProblem(code apperr.Code) any {
	c := &requestContext{instance: "/v1/…", requestID: "01a1fa6b-33f1-716c-8eb5-f238a40bd080"}
	e := apperr.Fail(code, "%s.", errormap.MeaningOf(code).Title)
	if code == apperr.CodeValidationFailed {
		e = apperr.Invalid(apperr.FieldError{Pointer: "/metadata/a", Code: "type", Detail: "Give a string."})
	}
	if code == apperr.CodeQuoteAlreadyBound {
		e.ResourceID = "pol_01m7x6n10jewfsb9zcqnfs2052"
	}
	return toPlainJSON(c.newProblem(e))
}

// toPlainJSON converts a record to plain JSON values for the document's encoder.
func toPlainJSON(record any) any {
	var value any
	text, err := wire.Encode(record)
	if err == nil {
		err = wire.Decode(text, &value)
	}
	if err != nil {
		panic(err) // constant records always encode
	}
	return value
}

// problemName returns the name of a status in components/responses: NotFound.
func problemName(status int) string { return strings.ReplaceAll(http.StatusText(status), " ", "") }
