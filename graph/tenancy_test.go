package graph_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/graph"
	"parapet/model/kernel/actor"
	"parapet/model/modeltest"
)

// idsIn returns the paths of the members that take an id within a value of a type, with
// the value's own name first.
func idsIn(s *ast.Schema, of *ast.Type, at string) (all []string) {
	def := s.Types[of.Name()]
	if of.Name() == "ID" {
		return []string{at}
	}
	if def.Kind != ast.InputObject || strings.Count(at, ".") > 8 { // an input may hold itself
		return nil
	}
	for _, member := range def.Fields {
		all = append(all, idsIn(s, member.Type, at+"."+member.Name)...)
	}
	return all
}

// documentWriter writes a document with an id in one place. All other arguments are
// valid, so that only the id can cause an error.
type documentWriter struct {
	schema *ast.Schema
	place  string
	id     string
	own    map[string]string // the caller's records, by the prefix of their ids
}

// ofName are the prefixes of ids by the names of members.
var ofName = map[string]string{
	"quoteId": "quo", "policyId": "pol", "claimId": "clm", "payoutId": "pay", "webhookEndpointId": "whe", "endpointId": "whe", "deliveryId": "dlv", "observationId": "obs",
}

// fitting has values for members that need a specific value of their type, and for those
// that the domain requires although the type does not: otherwise another error would be
// reported first.
var fitting = map[string]string{
	"occurrence": `{sourceEvent: {source: "usgs", id: "felt"}}`, "input.fileName": `"a.txt"`, "input.contentType": `"text/plain"`, "input.contentBase64": `"YQ=="`,
	"input.currency": `"USD"`, "input.beneficiary.country": `"TW"`, "input.iban": `{iban: "DE89370400440532013000"}`,
}

// value returns the text of the value at a place.
func (a documentWriter) value(of *ast.Type, at string) string {
	switch def := a.schema.Types[of.Name()]; {
	case fitting[at] != "" && !strings.HasPrefix(a.place, at+"."):
		return fitting[at]
	case of.Elem != nil:
		return "[" + a.value(of.Elem, at) + "]"
	case at == a.place:
		return fmt.Sprintf("%q", a.id)
	case of.NamedType == "ID":
		return fmt.Sprintf("%q", a.own[ofName[at[strings.LastIndex(at, ".")+1:]]])
	case def.Kind == ast.Enum:
		return def.EnumValues[0].Name
	case def.Kind == ast.InputObject:
		return "{" + a.members(def.Fields, at+".") + "}"
	}
	return map[string]string{
		"Int": "1", "Long": "1", "Float": "1.5", "Boolean": "true", "DateTime": `"2026-01-02T03:04:05Z"`, "Decimal": `"6.5"`, "JSON": "{}", "Metadata": "{}", "Duration": `"P1D"`, "String": `"x"`,
	}[of.NamedType]
}

// members returns the members of an input that are required or lead to the place.
func (a documentWriter) members(fields ast.FieldList, within string) string {
	var all []string
	for _, field := range fields {
		at := within + field.Name
		if field.Type.NonNull && field.DefaultValue == nil || fitting[at] != "" || a.place == at || strings.HasPrefix(a.place, at+".") {
			all = append(all, field.Name+": "+a.value(field.Type, at))
		}
	}
	return strings.Join(all, ", ")
}

// arguments returns the arguments of a field that are required or lead to the place.
func (a documentWriter) arguments(given ast.ArgumentDefinitionList) string {
	var fields ast.FieldList
	for _, argument := range given {
		fields = append(fields, &ast.FieldDefinition{Name: argument.Name, Type: argument.Type, DefaultValue: argument.DefaultValue})
	}
	if text := a.members(fields, ""); text != "" {
		return "(" + text + ")"
	}
	return ""
}

// fieldPlace is a place in the schema that takes an id.
type fieldPlace struct {
	field *ast.FieldDefinition
	way   string // the query text before the field: the operation and the fields around it
	depth int    // number of braces that way opens
	at    string
}

func (p fieldPlace) document(a documentWriter) string {
	a.place = p.at
	selection := ""
	if def := a.schema.Types[p.field.Type.Name()]; def.IsCompositeType() {
		selection = " { __typename }"
	}
	return p.way + p.field.Name + a.arguments(p.field.Arguments) + selection + strings.Repeat(" }", p.depth)
}

// allFieldPlaces returns all fields of the schema: root fields, and fields of their
// results, reached without an id. An unreachable field fails the test.
func allFieldPlaces(t *testing.T, s *ast.Schema, own map[string]string) (all []fieldPlace) {
	t.Helper()
	type visit struct {
		on    *ast.Definition
		way   string
		depth int
	}
	visits := []visit{{s.Query, "query { ", 1}, {s.Mutation, "mutation { ", 1}, {s.Subscription, "subscription { ", 1}}
	seen := map[string]bool{}
	for len(visits) > 0 {
		v := visits[0]
		visits = visits[1:]
		if seen[v.on.Name] {
			continue
		}
		seen[v.on.Name] = true
		for _, field := range v.on.Fields {
			needed := false
			for _, argument := range field.Arguments {
				for _, at := range idsIn(s, argument.Type, argument.Name) {
					all = append(all, fieldPlace{field, v.way, v.depth, at})
				}
				needed = needed || argument.Type.NonNull && len(idsIn(s, argument.Type, argument.Name)) > 0
			}
			if to := s.Types[field.Type.Name()]; to.Kind == ast.Object && !needed && v.on != s.Mutation && v.on != s.Subscription {
				visits = append(visits, visit{to, v.way + field.Name + documentWriter{schema: s, own: own}.arguments(field.Arguments) + " { ", v.depth + 1})
			}
		}
	}
	for name, def := range s.Types {
		for _, field := range def.Fields {
			for _, argument := range field.Arguments {
				if len(idsIn(s, argument.Type, argument.Name)) > 0 {
					require.True(t, seen[name], "no way without an id leads to %s.%s; this test must learn one", name, field.Name)
				}
			}
		}
	}
	return all
}

// createOneOfEach creates a record of each type that a partner has and returns their ids,
// by prefix.
func (d *fixture) createOneOfEach(t *testing.T, as string, actor actor.Actor) map[string]string {
	t.Helper()
	b := d.ActingAs(actor)
	policy := b.QuoteAndBind("quake-circle", modeltest.Context{"location": map[string]any{"latitude": hualien.Latitude, "longitude": hualien.Longitude}})
	method := b.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
	b.AdvanceClock(time.Hour)
	felt, _, err := d.Service.Occurrences.RecordObservation(t.Context(), actor, modeltest.Quake("felt", b.Now().Add(-time.Minute), hualien, "7.1"), true)
	require.NoError(t, err)
	b.RunJobs()
	claim := b.OnlyClaim(policy)
	made := d.queryDataAs(t, as, `mutation($claim: ID!) {
		addMessage(input: {claimId: $claim, body: "When?"}) { message { id } }
		addAttachment(input: {claimId: $claim, fileName: "a.txt", contentType: "text/plain", contentBase64: "cGxhaW4gd29yZHM="}) { attachment { id } }
		createWebhookEndpoint(input: {url: "https://partner.example/hooks"}) { webhookEndpoint { id } } }`, map[string]any{"claim": claim.ID})
	id := func(mutation, noun string) string {
		return made[mutation].(map[string]any)[noun].(map[string]any)["id"].(string)
	}
	endpoint := id("createWebhookEndpoint", "webhookEndpoint")
	d.relayEvents(t)
	tested := d.queryDataAs(t, as, `mutation($id: ID!) { testWebhookEndpoint(input: {webhookEndpointId: $id}) { delivery { id eventId } } }`, map[string]any{"id": endpoint})
	delivery := tested["testWebhookEndpoint"].(map[string]any)["delivery"].(map[string]any)
	return map[string]string{
		"quo": policy.QuoteID, "pol": policy.ID, "clm": claim.ID, "pay": claim.Payouts[0].ID, "pmt": method.ID, "msg": id("addMessage", "message"),
		"att": id("addAttachment", "attachment"), "whe": endpoint, "dlv": delivery["id"].(string), "evt": delivery["eventId"].(string),
		"obs": felt.ID, "occ": *felt.OccurrenceID,
	}
}

// requireNoForeignRecord checks that a foreign caller receives no record. A stream of events
// stays open and is read for three heartbeats; each other stream is read until it completes,
// for at most a minute.
func (s *servedFixture) requireNoForeignRecord(t *testing.T, document string) string {
	t.Helper()
	if !strings.HasPrefix(document, "subscription") {
		return s.send(t, graphqlRequest{as: "globex", document: document}).body
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	most, staysOpen := 1200, strings.Contains(document, "{ events(")
	if staysOpen {
		most = 3
	}
	var logged strings.Builder
	l := s.listenUntil(ctx, t, "globex", document)
	beats := 0
	for beats < most && l.Scan() && l.Text() != "event: complete" {
		if l.Text() == ":" {
			beats++
		} else if l.Text() != "" {
			logged.WriteString(l.Text() + "\n")
		}
	}
	require.True(t, staysOpen || beats < most, "the stream does not end: %s", document)
	return logged.String()
}

// theirsAlone are the types of records that belong to no partner.
var theirsAlone = []string{"Moratorium"}

func TestForeignIDsAreNotFound(t *testing.T) {
	t.Parallel()
	s := newServedFixture(t, graph.Streams{Heartbeat: 50 * time.Millisecond, WriteTimeout: time.Minute})
	their := s.createOneOfEach(t, "acme", s.Acme)
	own := s.createOneOfEach(t, "globex", s.Globex)
	kinds := map[string]bool{}
	for prefix, id := range their {
		kinds[s.queryData(t, `query($id: ID!) { node(id: $id) { __typename } }`, map[string]any{"id": id})["node"].(map[string]any)["__typename"].(string)] = true
		require.Equal(t, prefix, id[:3])
	}
	for _, def := range loadCommittedSchema(t).PossibleTypes["Node"] {
		require.True(t, kinds[def.Name] || slices.Contains(theirsAlone, def.Name), "there is no %s here to try with", def.Name)
	}
	before := s.CountRows()
	definitions := loadCommittedSchema(t)
	for _, place := range allFieldPlaces(t, definitions, own) {
		for _, id := range their {
			unknown := id[:4] + "01h455vb4pex5vsknk084sn02q"
			document := place.document(documentWriter{schema: definitions, id: id, own: own})
			answer := s.requireNoForeignRecord(t, document)
			require.Equal(t, strings.ReplaceAll(s.requireNoForeignRecord(t, place.document(documentWriter{schema: definitions, id: unknown, own: own})), unknown, id), answer, document)
			require.NotContains(t, answer, "validation_failed", "the answer is about something else: %s", document)
		}
	}
	require.Equal(t, before, s.CountRows())
}
