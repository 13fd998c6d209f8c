package rest

import (
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"parapet/model/kernel/store"
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
			Description: "Your own, when the request had one of 1 to 128 visible ASCII characters, or a new one. Our logs contain it: give it when you ask us about a request.",
		},
		"traceparent": {
			Required: true, Schema: stringSchema(), Example: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
			Description: "The trace of the request (W3C Trace Context): yours continued, or a new one.",
		},
		"ETag": {
			Required: true, Schema: stringSchema(),
			Description: "A digest of this representation, embedded records included (strong, RFC 9110 section 8.8.3). Send it as If-None-Match to get 304 while nothing has changed, or as If-Match to make a write depend on this version.",
		},
		"Location":            {Required: true, Schema: stringSchema(), Example: "/v1/quotes/quo_01m7x6n10jewfsb9zcqnfs2052", Description: "Where the new record can be read, under the base address that was called."},
		"Idempotent-Replayed": {Schema: &huma.Schema{Type: huma.TypeString, Enum: []any{"true"}}, Description: "true when this is a stored answer, because the Idempotency-Key was used for this request before; absent otherwise."},
		"Retry-After":         {Schema: countSchema(), Example: 1, Description: "Whole seconds to wait before the same request can succeed."},
		"WWW-Authenticate":    {Schema: stringSchema(), Example: `Bearer error="invalid_token"`, Description: "What is wrong with the token, for OAuth clients (RFC 6750 section 3), and where tokens come from (RFC 9728 section 5.1)."},
		"Content-Disposition": {Required: true, Schema: stringSchema(), Example: `attachment; filename=damage.pdf`, Description: "Save it, under the name it was sent with (RFC 6266; other than ASCII by RFC 8187)."},
		readAfterHeader:       {Schema: stringSchema(), Example: "1:0/16B3748", Description: "Position of the database's log after the write: timeline and log sequence number. Send it with a later read, which then sees this write from any server. Absent when nothing was written."},
		"RateLimit":           {Schema: stringSchema(), Example: `"default";r=199;t=1`, Description: "What is left of your quota: r requests now, and the whole quota after t seconds (draft-ietf-httpapi-ratelimit-headers-10)."},
		"RateLimit-Policy":    {Schema: stringSchema(), Example: `"default";q=200;w=2`, Description: "The quota: q requests in w seconds."},
		"RateLimit-Limit":     {Schema: countSchema(), Example: 200, Description: "The quota in the form of earlier drafts: requests at once."},
		"RateLimit-Remaining": {Schema: countSchema(), Example: 199, Description: "Requests that are left of the quota now."},
		"RateLimit-Reset":     {Schema: countSchema(), Example: 1, Description: "Seconds until the whole quota is available again; never less than Retry-After."},
	}
}

// sharedParameters are the parameters in components, which mean the same for all
// operations.
func sharedParameters() map[string]*huma.Param {
	key, least, most := stringSchema(), 1, maxIdempotencyKey
	key.MinLength, key.MaxLength, key.Pattern = &least, &most, "^[!-~]+$"
	fewest, largest := 1.0, float64(store.MaxPageSize)
	size := &huma.Schema{Type: huma.TypeInteger, Minimum: &fewest, Maximum: &largest, Default: store.DefaultPageSize}
	return map[string]*huma.Param{
		"limit":  {Name: "limit", In: "query", Schema: size, Description: "The largest number of records of the page."},
		"cursor": {Name: "cursor", In: "query", Schema: stringSchema(), Description: "next_cursor of the previous page. It belongs to one list, filter and partner: with another one the answer is 400 cursor_invalid."},
		"Idempotency-Key": {
			Name: "Idempotency-Key", In: "header", Schema: key, Example: "booking-4711",
			Description: "Makes it safe to send the request again. For 30 days the same key with the same request returns the stored answer; with another request it is 422 idempotency_key_reused; while the first request runs it is 409 idempotency_in_flight. Only successful answers are stored.",
		},
		"If-Match": {
			Name: "If-Match", In: "header", Schema: stringSchema(), Example: `"4P0dKeNhHLRZ5mfXVYjsGGUQGzFkGUXIzKFf3PrtBrE"`,
			Description: "ETag of the record that you change, from the answer to a GET. When the record has changed since, the answer is 412 version_mismatch and nothing is written. * stands for any version.",
		},
		"If-None-Match": {
			Name: "If-None-Match", In: "header", Schema: stringSchema(), Example: `"4P0dKeNhHLRZ5mfXVYjsGGUQGzFkGUXIzKFf3PrtBrE"`,
			Description: "ETag of the representation that you have: while it is still current, the answer is 304 without a body.",
		},
		readAfterHeader: {
			Name: readAfterHeader, In: "header", Schema: stringSchema(), Example: "1:0/16B3748",
			Description: "Parapet-Read-After of a write, unchanged: the answer sees that write. Any other text is 400 parameter_invalid.",
		},
	}
}

// notModifiedResponse is the response to a matching If-None-Match.
func notModifiedResponse() *huma.Response {
	return &huma.Response{Description: "Your copy is current: its ETag is the one in If-None-Match.", Headers: headerRefs(slices.Concat(responseHeaders, []string{"ETag"})...)}
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
