package graph

import "github.com/vektah/gqlparser/v2/ast"

// conditions are the variables that directives such as @include and @skip take as "if" in an
// operation and its fragments, by name.
type conditions struct {
	variables map[string]bool
	spread    map[string]bool // fragments that were read
}

// readConditions returns the conditions of a validated operation.
func readConditions(operation *ast.OperationDefinition) map[string]bool {
	c := conditions{variables: map[string]bool{}, spread: map[string]bool{}}
	c.addSelections(operation.SelectionSet)
	return c.variables
}

func (c conditions) addSelections(set ast.SelectionSet) {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			c.addDirectives(s.Directives)
			c.addSelections(s.SelectionSet)
		case *ast.InlineFragment:
			c.addDirectives(s.Directives)
			c.addSelections(s.SelectionSet)
		case *ast.FragmentSpread:
			c.addDirectives(s.Directives)
			if !c.spread[s.Name] {
				c.spread[s.Name] = true
				c.addSelections(s.Definition.SelectionSet)
			}
		}
	}
}

func (c conditions) addDirectives(directives ast.DirectiveList) {
	for _, directive := range directives {
		if condition := directive.Arguments.ForName("if"); condition != nil && condition.Value.Kind == ast.Variable {
			c.variables[condition.Value.Raw] = true
		}
	}
}
