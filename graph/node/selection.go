package node

import (
	"context"
	"strings"
	"unicode"

	"github.com/vektah/gqlparser/v2/ast"

	"parapet/model/kernel/store"
)

type selectionKey struct{}

// SelectionOf returns what a validated document selects, anywhere in it.
func SelectionOf(schema *ast.Schema, document *ast.QueryDocument) *store.Selection {
	selected := &store.Selection{Members: map[string]map[string]bool{}}
	for _, operation := range document.Operations {
		addFields(selected, schema, operation.SelectionSet)
	}
	for _, fragment := range document.Fragments {
		addFields(selected, schema, fragment.SelectionSet)
	}
	return selected
}

// WithSelection adds a selection to the context, so that lists leave out the columns of other
// members.
func WithSelection(ctx context.Context, selected *store.Selection) context.Context {
	return context.WithValue(ctx, selectionKey{}, selected)
}

// selectionFrom returns the selection of WithSelection, nil without one.
func selectionFrom(ctx context.Context) *store.Selection {
	selected, _ := ctx.Value(selectionKey{}).(*store.Selection)
	return selected
}

// addFields adds the fields of a selection set. The fields of an interface are added to
// each of its types.
func addFields(selected *store.Selection, schema *ast.Schema, set ast.SelectionSet) {
	for _, each := range set {
		switch each := each.(type) {
		case *ast.Field:
			for _, of := range schema.GetPossibleTypes(each.ObjectDefinition) {
				kind := snakeCase(of.Name)
				if selected.Members[kind] == nil {
					selected.Members[kind] = map[string]bool{}
				}
				selected.Members[kind][snakeCase(each.Name)] = true
			}
			addFields(selected, schema, each.SelectionSet)
		case *ast.InlineFragment:
			addFields(selected, schema, each.SelectionSet)
		case *ast.FragmentSpread: // its fragment is added once
		}
	}
}

// snakeCase returns the name of the domain for a name of the schema: cover_phase for
// coverPhase.
func snakeCase(name string) string {
	var out strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}

// selectedPage is orderedPage for a list that leaves out columns.
func selectedPage(ctx context.Context, first *int, after, order *string) store.PageRequest {
	in := orderedPage(first, after, order)
	in.Selection = selectionFrom(ctx)
	return in
}
