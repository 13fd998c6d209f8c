package fastjson

import (
	"strings"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/introspection"
	"github.com/vektah/gqlparser/v2/ast"
)

// The records that introspection returns, built once per schema. gqlgen builds new ones
// for every object of every response, which allocates twenty times the bytes of the
// response. The names are those of the schema's fields.
type (
	schemaRecord struct {
		Description                               *string
		Types                                     []*typeRecord
		QueryType, MutationType, SubscriptionType *typeRecord
		Directives                                []directiveRecord
	}

	typeRecord struct {
		Kind                              string
		Name, Description, SpecifiedByURL *string
		IsOneOf                           bool
		Interfaces, PossibleTypes         []*typeRecord
		InputFields                       []inputRecord
		OfType                            *typeRecord
		allFields, currentFields          []fieldRecord
		allEnumValues, currentEnumValues  []enumValueRecord
	}

	deprecation struct {
		IsDeprecated      bool
		DeprecationReason *string
	}

	fieldRecord struct {
		deprecation

		Name        string
		Description *string
		Args        []inputRecord
		Type        *typeRecord
	}

	inputRecord struct {
		deprecation

		Name                      string
		Description, DefaultValue *string
		Type                      *typeRecord
	}

	enumValueRecord struct {
		deprecation

		Name        string
		Description *string
	}

	directiveRecord struct {
		Name         string
		Description  *string
		Locations    []string
		Args         []inputRecord
		IsRepeatable bool
	}
)

// Fields returns the fields of an object or an interface.
func (t *typeRecord) Fields(includeDeprecated bool) []fieldRecord {
	if includeDeprecated {
		return t.allFields
	}
	return t.currentFields
}

// EnumValues returns the values of an enum.
func (t *typeRecord) EnumValues(includeDeprecated bool) []enumValueRecord {
	if includeDeprecated {
		return t.allEnumValues
	}
	return t.currentEnumValues
}

// typeRecords are the records of a schema, and of its types by name.
type typeRecords struct {
	schema *schemaRecord
	byName map[string]*typeRecord
}

// loadTypeRecords returns a function that builds the records when it is first called.
func loadTypeRecords(schema *ast.Schema) func() *typeRecords {
	return sync.OnceValue(func() *typeRecords {
		r := &typeRecords{byName: map[string]*typeRecord{}}
		from := introspection.WrapSchema(schema)
		r.schema = &schemaRecord{
			Description: from.Description(), QueryType: r.typeOf(from.QueryType()), MutationType: r.typeOf(from.MutationType()),
			SubscriptionType: r.typeOf(from.SubscriptionType()), Types: r.typesOf(from.Types()),
		}
		for _, d := range from.Directives() {
			r.schema.Directives = append(r.schema.Directives, directiveRecord{
				Name: d.Name, Description: d.Description(), Locations: d.Locations, Args: r.inputsOf(d.Args), IsRepeatable: d.IsRepeatable,
			})
		}
		return r
	})
}

// recordOf returns the record of gqlgen's introspection result; nil for any other result,
// and for a type that does not exist.
func (r *typeRecords) recordOf(result any) any {
	switch result := result.(type) {
	case *introspection.Schema:
		return r.schema
	case *introspection.Type:
		if result != nil && result.Name() != nil {
			return r.byName[*result.Name()]
		}
	}
	return nil
}

// typeOf returns the record of a type. Types refer to each other in cycles, so a named
// record is stored before its fields are built.
func (r *typeRecords) typeOf(t *introspection.Type) *typeRecord {
	if t == nil {
		return nil
	}
	if t.Name() == nil { // a list or a non-null type
		return &typeRecord{
			Kind: t.Kind(), IsOneOf: t.IsOneOf(), OfType: r.typeOf(t.OfType()), Interfaces: r.typesOf(t.Interfaces()), PossibleTypes: r.typesOf(t.PossibleTypes()),
			InputFields: r.inputsOf(t.InputFields()), allFields: r.fieldsOf(t.Fields(true)), currentFields: r.fieldsOf(t.Fields(false)),
			allEnumValues: enumValuesOf(t.EnumValues(true)), currentEnumValues: enumValuesOf(t.EnumValues(false)),
		}
	}
	if known := r.byName[*t.Name()]; known != nil {
		return known
	}
	record := &typeRecord{Kind: t.Kind(), Name: t.Name(), Description: t.Description(), SpecifiedByURL: t.SpecifiedByURL(), IsOneOf: t.IsOneOf()}
	r.byName[*t.Name()] = record
	record.Interfaces, record.PossibleTypes, record.InputFields = r.typesOf(t.Interfaces()), r.typesOf(t.PossibleTypes()), r.inputsOf(t.InputFields())
	record.allFields, record.currentFields = r.fieldsOf(t.Fields(true)), r.fieldsOf(t.Fields(false))
	record.allEnumValues, record.currentEnumValues = enumValuesOf(t.EnumValues(true)), enumValuesOf(t.EnumValues(false))
	return record
}

func (r *typeRecords) typesOf(types []introspection.Type) []*typeRecord {
	records := make([]*typeRecord, len(types))
	for n := range types {
		records[n] = r.typeOf(&types[n])
	}
	return records
}

func (r *typeRecords) fieldsOf(fields []introspection.Field) []fieldRecord {
	records := make([]fieldRecord, len(fields))
	for n := range fields {
		f := &fields[n]
		records[n] = fieldRecord{deprecation{f.IsDeprecated(), f.DeprecationReason()}, f.Name, f.Description(), r.inputsOf(f.Args), r.typeOf(f.Type)}
	}
	return records
}

func (r *typeRecords) inputsOf(inputs []introspection.InputValue) []inputRecord {
	records := make([]inputRecord, len(inputs))
	for n := range inputs {
		v := &inputs[n]
		records[n] = inputRecord{deprecation{v.IsDeprecated(), v.DeprecationReason()}, v.Name, v.Description(), v.DefaultValue, r.typeOf(v.Type)}
	}
	return records
}

func enumValuesOf(values []introspection.EnumValue) []enumValueRecord {
	records := make([]enumValueRecord, len(values))
	for n := range values {
		v := &values[n]
		records[n] = enumValueRecord{deprecation{v.IsDeprecated(), v.DeprecationReason()}, v.Name, v.Description()}
	}
	return records
}

// isIntrospection reports whether a field of the query root asks about the schema.
func isIntrospection(field graphql.CollectedField) bool { return strings.HasPrefix(field.Name, "__") }
