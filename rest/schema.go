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
	if t == reflect.TypeFor[trigger.Payout]() {
		return "PayoutShape"
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
		request := slices.Contains(strict, name)
		schema.AdditionalProperties = nil
		if request {
			schema.AdditionalProperties = false
		}
		t := schemas.TypeFromRef("#/components/schemas/" + name)
		for _, list := range freeformLists[t] {
			property := schema.Properties[list]
			schema.Properties[list] = &huma.Schema{Type: huma.TypeArray, Description: property.Description, Items: freeform{}.Schema(schemas)}
		}
		for _, member := range shapeOf(t).members {
			property := schema.Properties[member.name]
			settleNull(property, request || !member.nullable())
			if !request && member.nullable() && property.Ref != "" {
				schema.Properties[member.name] = oneOf(&huma.Schema{Ref: property.Ref, Description: property.Description}, &huma.Schema{Type: "null"})
			}
		}
	}
}

// nullable tells whether an answer can carry null: for a pointer that is always
// written.
func (m member) nullable() bool { return m.is.Kind() == reflect.Pointer && !m.omitted }

func settleNull(schema *huma.Schema, never bool) {
	if schema.Type == huma.TypeArray || never {
		schema.Nullable = false
	}
}
