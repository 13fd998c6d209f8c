package rest

import (
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"parapet/model/hazard/trigger"
	"parapet/model/wire"
)

// newSchemas returns the registry of schemas, which are made from the decoded and encoded
// Go types.
func newSchemas() huma.Registry {
	schemas := huma.NewMapRegistry("#/components/schemas/", schemaName)
	schemas.RegisterTypeAlias(freeformType, reflect.TypeFor[freeform]())
	return schemas
}

// schemaName distinguishes types of the same name in two packages.
func schemaName(t reflect.Type, hint string) string {
	switch t {
	case reflect.TypeFor[trigger.Payout]():
		return "PayoutShape"
	case reflect.TypeFor[wire.List[wire.ObservationResult]]():
		return "ObservationResults"
	}
	return huma.DefaultSchemaNamer(t, hint)
}

// freeform is a JSON object whose members are not described here, such as a product's
// schema.
type freeform struct{}

// Schema describes any object.
func (freeform) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

// freeformLists are the members that are lists of freeform objects.
var freeformLists = map[reflect.Type][]string{reflect.TypeFor[wire.Product](): {"currencies", "examples"}}

func schemaOf[T any](schemas huma.Registry) *huma.Schema {
	return schemas.Schema(reflect.TypeFor[T](), true, "")
}

// namedOneOf returns a named schema of several alternatives, so that generators create a
// type for it.
func namedOneOf(schemas huma.Registry, name string, forms ...*huma.Schema) *huma.Schema {
	schemas.Map()[name] = oneOf(forms...)
	return &huma.Schema{Ref: "#/components/schemas/" + name}
}

func oneOf(schemas ...*huma.Schema) *huma.Schema { return &huma.Schema{OneOf: schemas} }

// completeSchemas adds what struct tags do not express: requests accept no unknown
// members and no null, responses may gain members, lists are never null, and a nested
// record may be.
func completeSchemas(schemas huma.Registry, routes []route) {
	strict := []string{"ObservationBatch", "ObservationInput", "PolicyholderFields", "SourceEventFields"}
	for _, r := range routes {
		if r.inputType != nil {
			strict = append(strict, schemaName(r.inputType, ""))
		}
	}
	for name, schema := range schemas.Map() {
		t, request := schemas.TypeFromRef("#/components/schemas/"+name), slices.Contains(strict, name)
		if t == nil {
			continue // made of others
		}
		schema.Required = append(schema.Required, alwaysPresent[name]...)
		slices.SortStableFunc(schema.Required, func(a, b string) int { return memberOrder[a] - memberOrder[b] })
		schema.AdditionalProperties = nil
		if request {
			schema.AdditionalProperties = false
		}
		for _, list := range freeformLists[t] {
			property := schema.Properties[list]
			schema.Properties[list] = &huma.Schema{Type: huma.TypeArray, Description: property.Description, Items: freeform{}.Schema(schemas)}
		}
		for _, member := range loadStructSchema(t).members {
			property := schema.Properties[member.name]
			cleared := request && isNullable(member.goType)
			clearNullable(property, !cleared && (request || !member.isNullableInResponse()))
			property.Nullable = property.Nullable || cleared
			if !request && member.isNullableInResponse() && property.Ref != "" {
				schema.Properties[member.name] = oneOf(&huma.Schema{Ref: property.Ref, Description: property.Description}, &huma.Schema{Type: "null"})
			}
		}
	}
}

// alwaysPresent are members that are optional in a request and always present in a
// response.
var alwaysPresent = map[string][]string{"Observation": {"occurred_at", "measures"}, "ObservationRevision": {"occurred_at", "measures"}}

// memberOrder sorts the members that all records share: the identity first, partner
// fields and metadata last.
var memberOrder = map[string]int{
	"id": -2, "object": -1, "partner_reference": 1, "metadata": 2, "partner": 3, "version": 4, "created_at": 5, "updated_at": 6,
}

// isNullableInResponse reports whether a response can contain null: for a pointer that is
// always written.
func (m schemaMember) isNullableInResponse() bool {
	return m.goType.Kind() == reflect.Pointer && !m.omitEmpty
}

func clearNullable(schema *huma.Schema, never bool) {
	if schema.Type == huma.TypeArray || never {
		schema.Nullable = false
	}
}
