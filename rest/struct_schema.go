package rest

import (
	"reflect"
	"strings"
	"sync"
)

// shape is what the JSON of a struct must look like, read from its tags once.
type shape struct {
	members []member
	byName  map[string]int
	names   string // for people: "there are a, b"
}

type member struct {
	name     string
	index    []int
	is       reflect.Type
	omitted  bool // left out of JSON when empty
	required bool // neither omitted nor a pointer
}

var shapes sync.Map // of reflect.Type to *shape

func shapeOf(t reflect.Type) *shape {
	if known, ok := shapes.Load(t); ok {
		return known.(*shape)
	}
	s := &shape{byName: map[string]int{}}
	var names []string
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "" || name == "-" {
			continue // embedded structs have no name; their members are visible themselves
		}
		omitted := strings.HasPrefix(options, "omit")
		s.byName[name] = len(s.members)
		s.members = append(s.members, member{
			name: name, index: field.Index, is: field.Type, omitted: omitted,
			required: !omitted && field.Type.Kind() != reflect.Pointer,
		})
		names = append(names, name)
	}
	s.names = "there are " + strings.Join(names, ", ")
	if len(names) == 0 {
		s.names = "the object has no members"
	}
	known, _ := shapes.LoadOrStore(t, s)
	return known.(*shape)
}

// clearable tells whether null is a value of its own: a pointer to a pointer, where
// nil means that nothing was said.
func clearable(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Pointer
}
