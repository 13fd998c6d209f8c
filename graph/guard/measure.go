package guard

import (
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/model"
)

// measuring walks a tree as validation and execution will see it: fragments
// spread, fields of one name merged. It stops at the first limit, so that it
// costs no more than the largest document that passes.
type measuring struct {
	limits    Limits
	fragments map[string]*ast.FragmentDefinition
	used      map[string]bool
	aliases   int
	inward    bool // asks about the schema
	work      *Work
}

// measure also tells whether the schema is asked about.
func (g *Guard) measure(tree *ast.QueryDocument, work *Work) (introspects bool, _ error) {
	if len(tree.Operations) > g.limits.Operations {
		return false, tooCostly(tree.Operations[g.limits.Operations].Position, "The query holds more than %d operations. Send them apart.", g.limits.Operations)
	}
	if len(tree.Operations) == 0 {
		return false, refuse(nil, model.CodeValidationFailed, "The query holds no operation.")
	}
	m := &measuring{limits: g.limits, fragments: map[string]*ast.FragmentDefinition{}, used: map[string]bool{}, work: work}
	for _, fragment := range tree.Fragments {
		if m.fragments[fragment.Name] != nil {
			return false, refuse(fragment.Position, model.CodeValidationFailed, "There is more than one fragment %s. Give each a name of its own.", fragment.Name)
		}
		m.fragments[fragment.Name] = fragment
	}
	if err := m.circles(tree.Fragments); err != nil {
		return false, err
	}
	for _, operation := range tree.Operations {
		if err := m.level([]ast.SelectionSet{operation.SelectionSet}, operation.Position, 1); err != nil {
			return false, err
		}
	}
	for _, fragment := range tree.Fragments { // validation would walk it all the same
		if !m.used[fragment.Name] {
			return false, refuse(fragment.Position, model.CodeValidationFailed, "The fragment %s is never used. Leave it out.", fragment.Name)
		}
	}
	return m.inward, nil
}

// circles refuses fragments that contain themselves.
func (m *measuring) circles(fragments ast.FragmentDefinitionList) error {
	const open, done = 1, 2
	state := map[string]int{}
	var visit func(fragment *ast.FragmentDefinition) error
	var follow func(set ast.SelectionSet) error
	visit = func(fragment *ast.FragmentDefinition) error {
		state[fragment.Name] = open
		err := follow(fragment.SelectionSet)
		state[fragment.Name] = done
		return err
	}
	follow = func(set ast.SelectionSet) error {
		for _, selection := range set {
			var err error
			switch s := selection.(type) {
			case *ast.Field:
				err = follow(s.SelectionSet)
			case *ast.InlineFragment:
				err = follow(s.SelectionSet)
			case *ast.FragmentSpread:
				switch target := m.fragments[s.Name]; {
				case target == nil:
					return refuse(s.Position, model.CodeValidationFailed, "There is no fragment %s.", s.Name)
				case state[s.Name] == open:
					return refuse(s.Position, model.CodeValidationFailed, "The fragment %s contains itself.", s.Name)
				case state[s.Name] != done:
					err = visit(target)
				}
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	for _, fragment := range fragments {
		if state[fragment.Name] == done {
			continue
		}
		if err := visit(fragment); err != nil {
			return err
		}
	}
	return nil
}

// level is the fields of one object: everything that is selected on it, directly
// and through fragments, by name.
type level struct {
	*measuring

	names   []string
	fields  map[string][]ast.SelectionSet
	visited int
	spreads int
	inline  int // how deep inline fragments stand in each other
}

// level measures what is selected on one object, and below. Validation compares
// fields of one name with each other, and each spread with each other and with
// the fields around it, and begins anew with each inline fragment; Merges bounds
// the sum.
func (m *measuring) level(sets []ast.SelectionSet, at *ast.Position, depth int) error {
	if depth > m.limits.Depth {
		return tooCostly(at, "The query is deeper than %d levels. Ask for less at once.", m.limits.Depth)
	}
	l := &level{measuring: m, fields: map[string][]ast.SelectionSet{}}
	for _, set := range sets {
		if err := l.collect(set, 0); err != nil {
			return err
		}
	}
	merges := l.spreads * (l.spreads + l.visited)
	for _, name := range l.names {
		same := len(l.fields[name])
		merges += same * (same - 1) / 2
	}
	m.work.Merges += merges * (1 + l.inline)
	if m.work.Merges > m.limits.Merges {
		return tooCostly(at, "The query repeats too many fields or fragments on one object. Select each once.")
	}
	for _, name := range l.names {
		below := l.fields[name]
		first := firstOf(below)
		if first == nil {
			continue
		}
		if err := m.level(below, first, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// firstOf is where the first selection of sets stands, nil when there is none.
func firstOf(sets []ast.SelectionSet) *ast.Position {
	for _, set := range sets {
		if len(set) > 0 {
			return set[0].GetPosition()
		}
	}
	return nil
}

func (l *level) collect(set ast.SelectionSet, inline int) error {
	l.inline = max(l.inline, inline)
	for _, selection := range set {
		l.visited++
		l.work.Fields++
		if l.work.Fields > l.limits.Fields {
			return tooCostly(selection.GetPosition(), "The query selects more than %d fields, fragments spread. Ask for less, or in several queries.", l.limits.Fields)
		}
		var err error
		switch s := selection.(type) {
		case *ast.Field:
			err = l.field(s)
		case *ast.InlineFragment:
			err = l.collect(s.SelectionSet, inline+1)
		case *ast.FragmentSpread:
			l.spreads++
			l.used[s.Name] = true
			err = l.spread(s, inline)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *level) field(f *ast.Field) error {
	if f.Alias != f.Name {
		l.aliases++
		if l.aliases > l.limits.Aliases {
			return tooCostly(f.Position, "The query has more than %d aliases. Ask in several queries.", l.limits.Aliases)
		}
	}
	l.inward = l.inward || f.Name == "__schema" || f.Name == "__type"
	if _, known := l.fields[f.Alias]; !known {
		l.names = append(l.names, f.Alias)
	}
	l.fields[f.Alias] = append(l.fields[f.Alias], f.SelectionSet)
	return nil
}

func (l *level) spread(s *ast.FragmentSpread, inline int) error {
	fragment := l.fragments[s.Name]
	if fragment == nil {
		return refuse(s.Position, model.CodeValidationFailed, "There is no fragment %s.", s.Name)
	}
	return l.collect(fragment.SelectionSet, inline)
}
