package rest

import (
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"parapet/model"
)

func stringSchema() *huma.Schema { return &huma.Schema{Type: huma.TypeString} }

func countSchema() *huma.Schema {
	least := 0.0
	return &huma.Schema{Type: huma.TypeInteger, Minimum: &least}
}

// responseHeaders are the headers of every response.
var responseHeaders = []string{
	"X-Request-Id", "traceparent", "RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
}

// sharedHeaders are the response headers in components.
func sharedHeaders() map[string]*huma.Param {
	return map[string]*huma.Param{
		"X-Request-Id": {
			Required: true, Schema: stringSchema(), Example: "01a1fa6b-33f1-716c-8eb5-f238a40bd080",
			Description: "Yours, when the request had one of 1 to 128 visible ASCII characters, or a new one. It is in our logs: name it when you ask us.",
		},
		"traceparent": {
			Required: true, Schema: stringSchema(), Example: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
			Description: "The trace that the request belongs to (W3C Trace Context): yours continued, or a new one.",
		},
		"ETag": {
			Required: true, Schema: stringSchema(),
			Description: "A digest of this representation, embedded records included (strong, RFC 9110 section 8.8.3). If-None-Match with it answers 304, If-Match makes a write depend on it.",
		},
		"Location":            {Required: true, Schema: stringSchema(), Example: "/v1/quotes/quo_01m7x6n10jewfsb9zcqnfs2052", Description: "Where the new record can be read, under the base address that was called."},
		"Idempotent-Replayed": {Schema: &huma.Schema{Type: huma.TypeString, Enum: []any{"true"}}, Description: "true when this is the first answer again, because the Idempotency-Key was used for this request before; absent otherwise."},
		"Retry-After":         {Schema: countSchema(), Example: 1, Description: "Whole seconds to wait before the same request can succeed."},
		"WWW-Authenticate":    {Schema: stringSchema(), Example: `Bearer error="invalid_token"`, Description: "What is wrong with the token, for OAuth clients (RFC 6750 section 3), and where tokens come from (RFC 9728 section 5.1)."},
		"Content-Disposition": {Required: true, Schema: stringSchema(), Example: `attachment; filename=damage.pdf`, Description: "Save it, under the name it was sent with (RFC 6266; other than ASCII by RFC 8187)."},
		"RateLimit":           {Schema: stringSchema(), Example: `"default";r=199;t=1`, Description: "What is left of the allowance: r requests now, all of them after t seconds (draft-ietf-httpapi-ratelimit-headers-10)."},
		"RateLimit-Policy":    {Schema: stringSchema(), Example: `"default";q=200;w=2`, Description: "The allowance: q requests in w seconds."},
		"RateLimit-Limit":     {Schema: countSchema(), Example: 200, Description: "The allowance, as earlier drafts spell it: requests in one go."},
		"RateLimit-Remaining": {Schema: countSchema(), Example: 199, Description: "Requests left of it now."},
		"RateLimit-Reset":     {Schema: countSchema(), Example: 1, Description: "Seconds until all of it is back; never sooner than Retry-After."},
	}
}

// sharedParameters are the parameters in components, which mean the same for all
// operations.
func sharedParameters() map[string]*huma.Param {
	key, least, most := stringSchema(), 1, maxIdempotencyKey
	key.MinLength, key.MaxLength, key.Pattern = &least, &most, "^[!-~]+$"
	fewest, largest := 1.0, float64(model.MaxPageSize)
	size := &huma.Schema{Type: huma.TypeInteger, Minimum: &fewest, Maximum: &largest, Default: model.DefaultPageSize}
	return map[string]*huma.Param{
		"limit":  {Name: "limit", In: "query", Schema: size, Description: "How many records the page has at most."},
		"cursor": {Name: "cursor", In: "query", Schema: stringSchema(), Description: "next_cursor of the page before. It belongs to this list, filter and partner: another is 400 cursor_invalid."},
		"Idempotency-Key": {
			Name: "Idempotency-Key", In: "header", Schema: key, Example: "booking-4711",
			Description: "Makes it safe to send the request again: the same key with the same request is answered with the first answer for 30 days, with another request it is 422 idempotency_key_reused, and while the first one runs 409 idempotency_in_flight. Refusals are not kept.",
		},
		"If-Match": {
			Name: "If-Match", In: "header", Schema: stringSchema(), Example: `"4P0dKeNhHLRZ5mfXVYjsGGUQGzFkGUXIzKFf3PrtBrE"`,
			Description: "ETag of the record that the write is about, from reading it. When the record is another by the time of writing, the answer is 412 version_mismatch and nothing is written. * is any version.",
		},
		"If-None-Match": {
			Name: "If-None-Match", In: "header", Schema: stringSchema(), Example: `"4P0dKeNhHLRZ5mfXVYjsGGUQGzFkGUXIzKFf3PrtBrE"`,
			Description: "ETag of what you have: while it is still the same, the answer is 304 without a body.",
		},
	}
}

// notModifiedResponse is the response to a matching If-None-Match.
func notModifiedResponse() *huma.Response {
	return &huma.Response{Description: "You have it already: it is what If-None-Match names.", Headers: headerRefs(slices.Concat(responseHeaders, []string{"ETag"})...)}
}

// headerRefs returns references to headers in components.
func headerRefs(names ...string) map[string]*huma.Param {
	all := map[string]*huma.Param{}
	for _, name := range names {
		all[name] = &huma.Param{Ref: "#/components/headers/" + name}
	}
	return all
}

// parameterRefs returns references to parameters in components.
func parameterRefs(names ...string) []*huma.Param {
	var all []*huma.Param
	for _, name := range names {
		all = append(all, &huma.Param{Ref: "#/components/parameters/" + name})
	}
	return all
}
