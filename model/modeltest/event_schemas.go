package modeltest

import (
	"bytes"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"parapet/model/events"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// checkEventSchemas numbers the waiting events and validates every event, as partners
// read it, against the schema of its type.
func (b *Bundle) checkEventSchemas() {
	b.t.Helper()
	b.Relay()
	var partners []string
	require.NoError(b.t, b.DB.Bun.NewRaw("select distinct partner from event_sequence").Scan(b.ctx, &partners))
	for _, partner := range partners {
		for after, generation := int64(0), 0; ; {
			page, err := b.Service.Events.List(b.ctx, b.Operator, events.Filter{Partner: partner, After: after, Generation: generation}, store.PageRequest{Limit: store.MaxPageSize})
			require.NoError(b.t, err)
			for _, event := range page.Data {
				after, generation = event.Sequence, event.Generation
				b.checkEventSchema(event)
			}
			if !page.HasMore {
				break
			}
		}
	}
}

func (b *Bundle) checkEventSchema(occurred wire.Event) {
	b.t.Helper()
	schema, err := eventSchema(event.Type(occurred.Type))
	require.NoError(b.t, err)
	require.NotNil(b.t, schema, "%s is not in the catalogue", occurred.Type)
	text, err := wire.Encode(occurred)
	require.NoError(b.t, err)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(b.t, err)
	require.NoError(b.t, schema.Validate(value), "%s: the catalogue says otherwise; make generate?", occurred.Type)
}

// compiledSchemas caches the compiled schemas, by event type.
var compiledSchemas sync.Map

// eventSchema returns the catalogue's schema of an event type; nil for an unknown type.
func eventSchema(kind event.Type) (*jsonschema.Schema, error) {
	if known, ok := compiledSchemas.Load(kind); ok {
		return known.(*jsonschema.Schema), nil //nolint:forcetypeassert // stored below
	}
	described, err := events.Descriptions()
	if err != nil {
		return nil, err
	}
	for _, each := range described {
		if each.Type != kind {
			continue
		}
		source, err := jsonschema.UnmarshalJSON(bytes.NewReader(each.Schema))
		if err != nil {
			return nil, err
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource("event.json", source); err != nil {
			return nil, err
		}
		compiled, err := compiler.Compile("event.json")
		compiledSchemas.Store(kind, compiled)
		return compiled, err
	}
	return nil, nil //nolint:nilnil // no such type
}
