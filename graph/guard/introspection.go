package guard

import (
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// The average bytes that an object and a scalar add to an introspection response, with
// their names and descriptions, and the number of bytes that cost as much as one record.
const (
	objectBytes    = 24
	scalarBytes    = 24
	bytesPerRecord = 200
)

// totals counts the entries of each list of introspection: all sums the lists of all
// types; most is the longest list of one type.
type totals struct{ all, most map[string]int }

// countSchema counts the entries that introspection can return.
func countSchema(schema *ast.Schema) totals {
	t := totals{map[string]int{}, map[string]int{}}
	count := func(list string, entries int) {
		t.all[list] += entries
		t.most[list] = max(t.most[list], entries)
	}
	for _, definition := range schema.Types {
		count("__Schema.types", 1)
		if definition.Kind == ast.InputObject {
			count("__Type.inputFields", len(definition.Fields))
		} else {
			count("__Type.fields", len(definition.Fields))
		}
		count("__Type.enumValues", len(definition.EnumValues))
		count("__Type.interfaces", len(definition.Interfaces))
		if definition.IsAbstractType() {
			count("__Type.possibleTypes", len(schema.GetPossibleTypes(definition)))
		}
		for _, field := range definition.Fields {
			count("__Field.args", len(field.Arguments))
		}
	}
	t.most["__Schema.types"] = t.all["__Schema.types"]
	for _, directive := range schema.Directives {
		count("__Schema.directives", 1)
		count("__Directive.args", len(directive.Arguments))
	}
	t.most["__Schema.directives"] = t.all["__Schema.directives"]
	return t
}

// introspectionCost is the cost of __schema or __type, which follows from the size of
// what it returns.
func (c *costEstimator) introspectionCost(f *ast.Field) int {
	name := map[string]string{"__schema": "__Schema", "__type": "__Type"}[f.Name]
	bytes := c.introspectionBytes(f.SelectionSet, name, 1, false)
	return min(1+bytes/bytesPerRecord, maxCountedCost)
}

// introspectionBytes returns the bytes that a selection returns for this number of
// objects of a type. all means that these are all objects of their type, so their lists
// together have totals.all entries.
func (c *costEstimator) introspectionBytes(set ast.SelectionSet, on string, objects int, all bool) int {
	bytes := objects * objectBytes
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			bytes += c.introspectionFieldBytes(s, on, objects, all)
		case *ast.InlineFragment:
			bytes += c.introspectionBytes(s.SelectionSet, on, objects, all)
		case *ast.FragmentSpread:
			if fragment := c.document.Fragments.ForName(s.Name); fragment != nil {
				bytes += c.introspectionBytes(fragment.SelectionSet, on, objects, all)
			}
		}
		bytes = min(bytes, maxCountedCost*bytesPerRecord)
	}
	return bytes
}

func (c *costEstimator) introspectionFieldBytes(f *ast.Field, on string, objects int, all bool) int {
	definition := c.schema.Types[on].Fields.ForName(f.Name)
	if definition == nil || !c.returnsObjects(definition) {
		return objects * scalarBytes
	}
	returned := definition.Type.Name()
	if !strings.HasPrefix(returned, "__") {
		return 0
	}
	list := on + "." + f.Name
	switch {
	case definition.Type.Elem == nil:
		return c.introspectionBytes(f.SelectionSet, returned, objects, false)
	case on == "__Schema" || all:
		return c.introspectionBytes(f.SelectionSet, returned, c.document.guard.totals.all[list], true)
	default:
		return c.introspectionBytes(f.SelectionSet, returned, min(objects, maxCountedCost)*c.document.guard.totals.most[list], false)
	}
}
