package guard

import (
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/model/kernel/apperr"
)

// measurement walks the tree with fragments spread and fields of one name merged, and
// stops at the first limit.
type measurement struct {
	limits      Limits
	fragments   map[string]*ast.FragmentDefinition
	used        map[string]bool
	aliases     int
	introspects bool // queries the schema
	work        *Work
}

// measureTree checks the limits of the tree and reports whether it queries the schema.
func (g *Guard) measureTree(tree *ast.QueryDocument, work *Work) (introspects bool, _ error) {
	if len(tree.Operations) > g.limits.Operations {
		return false, newCostError(tree.Operations[g.limits.Operations].Position, "The query holds more than %d operations. Send them separately.", g.limits.Operations)
	}
	if len(tree.Operations) == 0 {
		return false, newError(nil, apperr.CodeValidationFailed, "The query holds no operation.")
	}
	m := &measurement{limits: g.limits, fragments: map[string]*ast.FragmentDefinition{}, used: map[string]bool{}, work: work}
	for _, fragment := range tree.Fragments {
		if m.fragments[fragment.Name] != nil {
			return false, newError(fragment.Position, apperr.CodeValidationFailed, "There is more than one fragment %s. Give each a name of its own.", fragment.Name)
		}
		m.fragments[fragment.Name] = fragment
	}
	if err := m.checkCycles(tree.Fragments); err != nil {
		return false, err
	}
	for _, operation := range tree.Operations {
		if err := m.measureLevel([]ast.SelectionSet{operation.SelectionSet}, operation.Position, 1); err != nil {
			return false, err
		}
	}
	for _, fragment := range tree.Fragments { // validation would still walk it
		if !m.used[fragment.Name] {
			return false, newError(fragment.Position, apperr.CodeValidationFailed, "The fragment %s is never used. Leave it out.", fragment.Name)
		}
	}
	return m.introspects, nil
}

// checkCycles rejects fragments that contain themselves.
func (m *measurement) checkCycles(fragments ast.FragmentDefinitionList) error {
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
					return newError(s.Position, apperr.CodeValidationFailed, "There is no fragment %s.", s.Name)
				case state[s.Name] == open:
					return newError(s.Position, apperr.CodeValidationFailed, "The fragment %s contains itself.", s.Name)
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

// level is the fields of one object by name: everything selected on it, directly and
// through fragments.
type level struct {
	*measurement

	names       []string
	fields      map[string][]ast.SelectionSet
	visited     int
	spreads     int
	inlineDepth int // nesting depth of inline fragments
}

// measureLevel measures the selections on one object and below it. Validation compares
// fields of one name with each other, and each spread with the other spreads and the
// fields around it, and repeats this for each inline fragment; Merges limits the sum.
func (m *measurement) measureLevel(sets []ast.SelectionSet, at *ast.Position, depth int) error {
	if depth > m.limits.Depth {
		return newCostError(at, "The query is deeper than %d levels. Ask for less at once.", m.limits.Depth)
	}
	l := &level{measurement: m, fields: map[string][]ast.SelectionSet{}}
	for _, set := range sets {
		if err := l.collectSelections(set, 0); err != nil {
			return err
		}
	}
	merges := l.spreads * (l.spreads + l.visited)
	for _, name := range l.names {
		same := len(l.fields[name])
		merges += same * (same - 1) / 2
	}
	m.work.Merges += merges * (1 + l.inlineDepth)
	if m.work.Merges > m.limits.Merges {
		return newCostError(at, "The query repeats too many fields or fragments on one object. Select each once.")
	}
	for _, name := range l.names {
		below := l.fields[name]
		first := firstPosition(below)
		if first == nil {
			continue
		}
		if err := m.measureLevel(below, first, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// firstPosition returns the position of the first selection in sets, nil without one.
func firstPosition(sets []ast.SelectionSet) *ast.Position {
	for _, set := range sets {
		if len(set) > 0 {
			return set[0].GetPosition()
		}
	}
	return nil
}

func (l *level) collectSelections(set ast.SelectionSet, inline int) error {
	l.inlineDepth = max(l.inlineDepth, inline)
	for _, selection := range set {
		l.visited++
		l.work.Fields++
		if l.work.Fields > l.limits.Fields {
			return newCostError(selection.GetPosition(), "The query selects more than %d fields, with fragments expanded. Ask for less, or in several queries.", l.limits.Fields)
		}
		var err error
		switch s := selection.(type) {
		case *ast.Field:
			err = l.addField(s)
		case *ast.InlineFragment:
			err = l.collectSelections(s.SelectionSet, inline+1)
		case *ast.FragmentSpread:
			l.spreads++
			l.used[s.Name] = true
			err = l.addSpread(s, inline)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *level) addField(f *ast.Field) error {
	if f.Alias != f.Name {
		l.aliases++
		if l.aliases > l.limits.Aliases {
			return newCostError(f.Position, "The query has more than %d aliases. Ask in several queries.", l.limits.Aliases)
		}
	}
	l.introspects = l.introspects || f.Name == "__schema" || f.Name == "__type"
	if _, known := l.fields[f.Alias]; !known {
		l.names = append(l.names, f.Alias)
	}
	l.fields[f.Alias] = append(l.fields[f.Alias], f.SelectionSet)
	return nil
}

func (l *level) addSpread(s *ast.FragmentSpread, inline int) error {
	fragment := l.fragments[s.Name]
	if fragment == nil {
		return newError(s.Position, apperr.CodeValidationFailed, "There is no fragment %s.", s.Name)
	}
	return l.collectSelections(fragment.SelectionSet, inline)
}
