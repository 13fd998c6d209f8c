package rest

import (
	"cmp"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"parapet/model"
	"parapet/model/wire"
)

// told is one kind of record that events tell of.
type told struct {
	object  string // the member object of the record, and subject.type
	schema  string // of the event
	record  reflect.Type
	summary string
	example string // the operation whose answer shows the record
}

// tells are the kinds of records that events tell of, in the order of the story.
var tells = []told{
	{"quote", "QuoteEvent", reflect.TypeFor[wire.Quote](), "A quote was made, bound, or expired", "getQuote"},
	{"policy", "PolicyEvent", reflect.TypeFor[wire.Policy](), "A policy changed", "getPolicy"},
	{"claim", "ClaimEvent", reflect.TypeFor[wire.Claim](), "A claim changed", "getClaim"},
	{"attachment", "AttachmentEvent", reflect.TypeFor[wire.Attachment](), "A document was added to a claim", "createAttachment"},
	{"message", "MessageEvent", reflect.TypeFor[wire.Message](), "A message was added to a claim", "createMessage"},
	{"payout_method", "PayoutMethodEvent", reflect.TypeFor[wire.PayoutMethod](), "A payout method changed", "createPayoutMethod"},
	{"payout", "PayoutEvent", reflect.TypeFor[wire.Payout](), "A payout moved", "getPayout"},
	{"webhook_endpoint", "WebhookEndpointEvent", reflect.TypeFor[wire.WebhookEndpoint](), "A webhook endpoint was enabled or disabled", "getWebhookEndpoint"},
}

// added are the events of a claim that tell of what was added to it.
var added = map[model.EventType]string{
	model.EventClaimAttachmentAdded: "attachment", model.EventClaimMessageAdded: "message",
}

// subjectOf is the kind of record that an event type tells of: what stands before
// the dot, but for what was added.
func subjectOf(event model.EventType) string {
	noun, _, _ := strings.Cut(string(event), ".")
	return cmp.Or(added[event], noun)
}

// eventTypes are the words of the catalogue that tell of a kind of record, or all.
func eventTypes(object string) []any {
	var all []any
	for _, event := range model.EventTypes() {
		if object == "" || subjectOf(event) == object {
			all = append(all, string(event))
		}
	}
	return all
}

// subjects are the kinds of records.
func subjects() []any {
	var all []any
	for _, kind := range tells {
		all = append(all, kind.object)
	}
	return all
}

// webhooks describe what is sent to partners: one entry for each kind of record,
// with the event types that tell of it.
func webhooks(schemas huma.Registry) map[string]*huma.PathItem {
	all := map[string]*huma.PathItem{}
	envelope := schemaOf[wire.Event](schemas)
	for _, kind := range tells {
		schemas.Map()[kind.schema] = &huma.Schema{
			Description: "An event that tells of a " + strings.ReplaceAll(kind.object, "_", " ") + ".",
			AllOf: []*huma.Schema{envelope, {Type: huma.TypeObject, Properties: map[string]*huma.Schema{
				"type": {Type: huma.TypeString, Enum: eventTypes(kind.object), Description: "What happened."},
				"data": {Type: huma.TypeObject, Required: []string{"object"}, Description: "What it happened to.", Properties: map[string]*huma.Schema{
					"object": schemas.Schema(kind.record, true, ""),
				}},
			}}},
		}
		all[kind.object] = &huma.PathItem{Post: kind.operation()}
	}
	return all
}

func (k told) operation() *huma.Operation {
	var types []string
	for _, name := range eventTypes(k.object) {
		types = append(types, "`"+name.(string)+"`")
	}
	header := func(name, about, example string) *huma.Param {
		return &huma.Param{Name: name, In: "header", Required: true, Schema: text(), Description: about, Example: example}
	}
	return &huma.Operation{
		OperationID: "on" + k.schema, Tags: []string{"Webhooks"}, Summary: k.summary,
		Description: "Types: " + strings.Join(types, ", ") + ".", Security: []map[string][]string{},
		Parameters: []*huma.Param{
			header("webhook-id", "The event's id. An event that comes twice has the same.", "evt_01m7x70nb4e0aazazj0jprpmcs"),
			header("webhook-timestamp", "Seconds since 1970 of this attempt. Refuse what is older than five minutes: it may be a replay.", "1795288228"),
			header("webhook-signature", "v1, and the base64 of HMAC-SHA256 over webhook-id.webhook-timestamp.body with your endpoint's secret; two of them, with a blank between, for 24 hours after a rotation.", "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="),
		},
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			jsonType: {Schema: &huma.Schema{Ref: "#/components/schemas/" + k.schema}},
		}},
		Responses: map[string]*huma.Response{
			"2XX": {Description: "You have it; the body of your answer is not read."},
			"410": {Description: "You want no more: the endpoint is disabled."},
			"4XX": {Description: "It is sent again, up to ten times within four days, and then parked; Retry-After is honoured up to 24 hours. Redirects and server errors are the same."},
		},
	}
}

// exemplify shows an event of the kind, around the record of an example.
func (k told) exemplify(examples map[string]map[string]any) any {
	object := map[string]any{}
	for _, status := range []string{"200", "201"} {
		if shown, ok := examples[k.example][status].(map[string]any); ok {
			object = shown
		}
	}
	at := object["updated_at"]
	return map[string]any{
		"id": "evt_01m7x70nb4e0aazazj0jprpmcs", "object": "event", "type": eventTypes(k.object)[0], "partner": "acme",
		"created_at": at, "updated_at": at, "version": 1, "sequence": 42,
		"subject":     map[string]any{"type": k.object, "id": object["id"], "version": object["version"]},
		"occurred_at": at, "data": map[string]any{"object": object},
		"hash": "2242a1db5fb6d424097caff9253573bd569298a30ca54497dc5b366f0ad0c151",
	}
}
