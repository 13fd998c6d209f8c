package rest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"parapet/model/events"
	"parapet/model/events/webhooks"
	"parapet/model/kernel/event"
	"parapet/model/wire"
)

// eventSubject is one type of record that events describe.
type eventSubject struct {
	name       string // value of the member object of the record, and of subject.type
	schema     string // schema of the event
	recordType reflect.Type
	members    map[string]*huma.Schema // further members of data
}

// eventSubjects are the types of records that events describe, in the order of the life
// cycle.
var eventSubjects = []eventSubject{
	{"quote", "QuoteEvent", reflect.TypeFor[wire.Quote](), nil},
	{"policy", "PolicyEvent", reflect.TypeFor[wire.Policy](), nil},
	{"claim", "ClaimEvent", reflect.TypeFor[wire.Claim](), nil},
	{"attachment", "AttachmentEvent", reflect.TypeFor[wire.Attachment](), nil},
	{"message", "MessageEvent", reflect.TypeFor[wire.Message](), nil},
	{"payout_method", "PayoutMethodEvent", reflect.TypeFor[wire.PayoutMethod](), nil},
	{"payout", "PayoutEvent", reflect.TypeFor[wire.Payout](), nil},
	{"webhook_endpoint", "WebhookEndpointEvent", reflect.TypeFor[wire.WebhookEndpoint](), nil},
	{"occurrence", "OccurrenceEvent", reflect.TypeFor[wire.Occurrence](), map[string]*huma.Schema{
		"covers": {Type: huma.TypeInteger, Minimum: new(1.0), Description: "How many of your covers the preliminary readings meet or nearly meet."},
	}},
}

// eventTypes returns the event types of one type of record, or all.
func eventTypes(object string) []any {
	var all []any
	for _, kind := range event.Kinds() {
		if object == "" || kind.Subject == object {
			all = append(all, string(kind.Type))
		}
	}
	return all
}

// subjectTypes returns the types of records.
func subjectTypes() []any {
	var all []any
	for _, kind := range eventSubjects {
		all = append(all, kind.name)
	}
	return all
}

// describeWebhooks describes the webhooks: one entry per event type with its example.
// Event types of one type of record share a schema.
func describeWebhooks(schemas huma.Registry) (map[string]*huma.PathItem, error) {
	described, err := events.Descriptions()
	all := map[string]*huma.PathItem{}
	envelope := schemaOf[wire.Event](schemas)
	for _, kind := range eventSubjects {
		members := map[string]*huma.Schema{"object": schemas.Schema(kind.recordType, true, "")}
		maps.Copy(members, kind.members)
		schemas.Map()[kind.schema] = &huma.Schema{
			Description: "An event about a " + strings.ReplaceAll(kind.name, "_", " ") + ".",
			AllOf: []*huma.Schema{envelope, {Type: huma.TypeObject, Properties: map[string]*huma.Schema{
				"type": {Type: huma.TypeString, Enum: eventTypes(kind.name), Description: "What happened."},
				"data": {Type: huma.TypeObject, Required: slices.Sorted(maps.Keys(members)), Description: "The record that changed.", Properties: members},
			}}},
		}
		for _, event := range described {
			if event.Subject == kind.name {
				all[string(event.Type)] = &huma.PathItem{Post: kind.toOperation(event)}
			}
		}
	}
	return all, err
}

// toOperation describes the webhook request of one event type.
func (k eventSubject) toOperation(event events.EventDescription) *huma.Operation {
	name := "on"
	for _, word := range strings.FieldsFunc(string(event.Type), func(r rune) bool { return r == '.' || r == '_' }) {
		name += strings.ToUpper(word[:1]) + word[1:]
	}
	exactly := &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{
		"type": {Type: huma.TypeString, Enum: []any{string(event.Type)}, Description: event.Description},
	}}
	answers := map[string]*huma.Response{}
	for status, answer := range responseMeanings {
		answers[status] = &huma.Response{Ref: "#/components/responses/" + answer.name}
	}
	return &huma.Operation{
		OperationID: name, Tags: []string{"Webhooks"}, Summary: string(event.Type), Description: event.Description,
		Security: []map[string][]string{}, Parameters: parameterRefs("webhook-id", "webhook-timestamp", "webhook-signature"), Responses: answers,
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{jsonType: {
			Example: event.Example, Schema: &huma.Schema{AllOf: []*huma.Schema{{Ref: "#/components/schemas/" + k.schema}, exactly}},
		}}},
	}
}

// responseMeanings describes how a partner's response is interpreted, by status.
var responseMeanings = map[string]struct{ name, means string }{
	"2XX": {"Received", "You received the event; the body of your answer is ignored."},
	"410": {"Unwanted", "You want no more events: the endpoint is disabled."},
	"4XX": {"SentAgain", fmt.Sprintf("Any other status, redirects included, is a failure. The event is sent again, up to %d times within %.1f hours, and then the delivery has failed; Retry-After is honoured up to 24 hours.", len(webhooks.DeliverySchedule()), webhooks.DeliveryDuration().Hours())},
}

// addWebhookComponents adds the shared parts of all webhooks to components.
func addWebhookComponents(into *huma.Components) {
	header := func(name, about, example string) {
		into.Parameters[name] = &huma.Param{Name: name, In: "header", Required: true, Schema: stringSchema(), Description: about, Example: example}
	}
	header("webhook-id", "The event's id. An event that is sent twice has the same id.", "evt_01m7x70nb4e0aazazj0jprpmcs")
	header("webhook-timestamp", "Time of this attempt, in seconds since 1970. Refuse a delivery that is older than five minutes: it may be a replay.", "1795288228")
	header("webhook-signature", "v1, and the base64 of HMAC-SHA256 over webhook-id.webhook-timestamp.body with your endpoint's secret; for 24 hours after a rotation, two of them separated by a blank.", "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=")
	for _, answer := range responseMeanings {
		into.Responses[answer.name] = &huma.Response{Description: answer.means}
	}
}
