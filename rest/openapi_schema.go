package rest

import (
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"parapet/model/trigger"
	"parapet/model/wire"
)

// newSchemas keeps the document's schemas, made from the types that are decoded
// and encoded.
func newSchemas() huma.Registry {
	schemas := huma.NewMapRegistry("#/components/schemas/", schemaName)
	schemas.RegisterTypeAlias(freeformType, reflect.TypeFor[freeform]())
	return schemas
}

// schemaName keeps apart what has one name in two packages.
func schemaName(t reflect.Type, hint string) string {
	switch t {
	case reflect.TypeFor[trigger.Payout]():
		return "PayoutShape"
	case reflect.TypeFor[wire.List[wire.ObservationResult]]():
		return "ObservationResults"
	}
	return huma.DefaultSchemaNamer(t, hint)
}

// freeform is a JSON object whose members others describe: a product's schema,
// or nobody.
type freeform struct{}

// Schema is any object.
func (freeform) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

// freeformLists are the members that are lists of such objects.
var freeformLists = map[reflect.Type][]string{reflect.TypeFor[wire.Product](): {"currencies", "examples"}}

func schemaOf[T any](schemas huma.Registry) *huma.Schema {
	return schemas.Schema(reflect.TypeFor[T](), true, "")
}

// either is one of several forms, as a schema with a name: generators make a type
// of it.
func either(schemas huma.Registry, name string, forms ...*huma.Schema) *huma.Schema {
	schemas.Map()[name] = oneOf(forms...)
	return &huma.Schema{Ref: "#/components/schemas/" + name}
}

func oneOf(schemas ...*huma.Schema) *huma.Schema { return &huma.Schema{OneOf: schemas} }

// finish says what the types' tags alone do not: requests take no unknown members
// and no null, answers may gain members, lists are never null, and a record inside
// another may be.
func finish(schemas huma.Registry, routes []route) {
	strict := []string{"ObservationBatch", "ObservationInput", "PolicyholderFields", "SourceEventFields"}
	for _, r := range routes {
		if r.in != nil {
			strict = append(strict, schemaName(r.in, ""))
		}
	}
	for name, schema := range schemas.Map() {
		t, request := schemas.TypeFromRef("#/components/schemas/"+name), slices.Contains(strict, name)
		if t == nil {
			continue // made of others
		}
		schema.Required = append(schema.Required, alwaysWritten[name]...)
		slices.SortStableFunc(schema.Required, func(a, b string) int { return rank[a] - rank[b] })
		schema.AdditionalProperties = nil
		if request {
			schema.AdditionalProperties = false
		}
		for _, list := range freeformLists[t] {
			property := schema.Properties[list]
			schema.Properties[list] = &huma.Schema{Type: huma.TypeArray, Description: property.Description, Items: freeform{}.Schema(schemas)}
		}
		for _, member := range shapeOf(t).members {
			property := schema.Properties[member.name]
			cleared := request && clearable(member.is)
			settleNull(property, !cleared && (request || !member.nullable()))
			property.Nullable = property.Nullable || cleared
			if !request && member.nullable() && property.Ref != "" {
				schema.Properties[member.name] = oneOf(&huma.Schema{Ref: property.Ref, Description: property.Description}, &huma.Schema{Type: "null"})
			}
		}
	}
}

// alwaysWritten are members that a request may leave out and an answer never does.
var alwaysWritten = map[string][]string{"Observation": {"occurred_at", "measures"}}

// rank brings the members that all records share to where readers look for them:
// what it is first, what is hung on it last.
var rank = map[string]int{
	"id": -2, "object": -1, "partner_reference": 1, "metadata": 2, "partner": 3, "version": 4, "created_at": 5, "updated_at": 6,
}

// nullable tells whether an answer can carry null: for a pointer that is always
// written.
func (m member) nullable() bool { return m.is.Kind() == reflect.Pointer && !m.omitted }

func settleNull(schema *huma.Schema, never bool) {
	if schema.Type == huma.TypeArray || never {
		schema.Nullable = false
	}
}
