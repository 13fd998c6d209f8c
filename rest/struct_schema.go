package rest

import (
	"reflect"
	"strings"
	"sync"
)

// structSchema is the JSON form of a struct, read from its tags once.
type structSchema struct {
	members     []schemaMember
	byName      map[string]int
	memberNames string // for error texts: "there are a, b"
}

type schemaMember struct {
	name      string
	index     []int
	goType    reflect.Type
	omitEmpty bool // omitted from JSON when empty
	required  bool // neither omitted nor a pointer
}

var structSchemas sync.Map // of reflect.Type to *structSchema

func loadStructSchema(t reflect.Type) *structSchema {
	if known, ok := structSchemas.Load(t); ok {
		return known.(*structSchema)
	}
	s := &structSchema{byName: map[string]int{}}
	var names []string
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "" || name == "-" {
			continue // embedded structs have no name; their members are visible themselves
		}
		omitted := strings.HasPrefix(options, "omit")
		s.byName[name] = len(s.members)
		s.members = append(s.members, schemaMember{
			name: name, index: field.Index, goType: field.Type, omitEmpty: omitted,
			required: !omitted && field.Type.Kind() != reflect.Pointer,
		})
		names = append(names, name)
	}
	s.memberNames = "there are " + strings.Join(names, ", ")
	if len(names) == 0 {
		s.memberNames = "the object has no members"
	}
	known, _ := structSchemas.LoadOrStore(t, s)
	return known.(*structSchema)
}

// isNullable reports whether null has its own meaning: the type is a pointer to a
// pointer, whose outer nil means absent.
func isNullable(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Pointer
}
