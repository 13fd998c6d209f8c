package events

import (
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/event"
)

// EventDescription is a row of the catalogue with what a reader of events needs.
type EventDescription struct {
	event.Kind

	Schema  jsontext.Value // JSON Schema 2020-12 of the whole event, self-contained
	Example jsontext.Value // a real event with ids and times replaced by constant ones
}

// Name returns the type as REST and webhooks write it.
func (d EventDescription) Name() string { return string(d.Type) }

// eventSchemasJSON has the JSON Schema and an example of every event type, from real
// events; make generate writes it. In this file the schemas share their definitions.
//
//go:embed events.json
var eventSchemasJSON []byte

var eventDescriptions = sync.OnceValues(func() ([]EventDescription, error) {
	var book struct {
		Defs  map[string]jsontext.Value `json:"$defs"`
		Types map[event.Type]struct {
			Schema  map[string]jsontext.Value `json:"schema"`
			Example jsontext.Value            `json:"example"`
		} `json:"types"`
	}
	if err := json.Unmarshal(eventSchemasJSON, &book); err != nil {
		return nil, fmt.Errorf("events.json: %w", err)
	}
	all := make([]EventDescription, len(event.EventKinds))
	for i, kind := range event.EventKinds {
		own := book.Types[kind.Type]
		all[i] = EventDescription{Kind: kind, Example: own.Example}
		if own.Schema == nil {
			continue // a new type before make generate
		}
		defs := make(map[string]jsontext.Value)
		collectDefinitions(defs, book.Defs, own.Schema["$ref"])
		text, err := json.Marshal(defs, json.Deterministic(true))
		if err != nil {
			return nil, err
		}
		own.Schema["$defs"] = text
		if all[i].Schema, err = json.Marshal(own.Schema, json.Deterministic(true)); err != nil {
			return nil, err
		}
	}
	return all, nil
})

var definitionReference = regexp.MustCompile(`"#/\$defs/(\w+)"`)

// collectDefinitions collects the definitions that a schema references, directly or
// through other definitions.
func collectDefinitions(into, from map[string]jsontext.Value, schema jsontext.Value) {
	for _, named := range definitionReference.FindAllSubmatch(schema, -1) {
		if name := string(named[1]); into[name] == nil {
			into[name] = from[name]
			collectDefinitions(into, from, from[name])
		}
	}
}

// Descriptions returns the catalogue with the schema and an example of every type.
func Descriptions() ([]EventDescription, error) { return eventDescriptions() }

// Describe returns Descriptions to an actor that may read events.
func (s *Service) Describe(ctx context.Context, caller actor.Actor) ([]EventDescription, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeEventsRead); err != nil {
		return nil, err
	}
	return Descriptions()
}
