package graph

import (
	"slices"

	"github.com/vektah/gqlparser/v2/ast"

	"parapet/internal/upload"
)

// attachedContent is the only input member that accepts content decoded while the request
// arrives, and contentInputs are the inputs that have it.
const attachedContent = "contentBase64"

var contentInputs = []string{"AddAttachmentInput", "LoadPriceHistoryInput"}

// countAttachedContents counts the variables of an operation that hold contents and are
// used only as the content of an attachment or a price history. A long string in any other
// place is rejected before execution.
func countAttachedContents(operation *ast.OperationDefinition, variables map[string]any) (count int) {
	for _, v := range operation.VariableDefinitions {
		switch value := variables[v.Variable].(type) {
		case upload.Ref:
			if isOnlyAttachmentContent(operation.SelectionSet, v.Variable) {
				count++
			}
		case map[string]any:
			if _, is := value[attachedContent].(upload.Ref); is && slices.Contains(contentInputs, v.Type.NamedType) {
				count++
			}
		}
	}
	return count
}

// isOnlyAttachmentContent reports whether a selection uses a variable only as the content
// of an attachment.
func isOnlyAttachmentContent(set ast.SelectionSet, variable string) bool {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			for _, argument := range s.Arguments {
				if isVariable(argument.Value, variable) || !onlyContentIn(argument.Value, variable) {
					return false
				}
			}
			if !isOnlyAttachmentContent(s.SelectionSet, variable) {
				return false
			}
		case *ast.InlineFragment:
			if !isOnlyAttachmentContent(s.SelectionSet, variable) {
				return false
			}
		case *ast.FragmentSpread:
			if !isOnlyAttachmentContent(s.Definition.SelectionSet, variable) {
				return false
			}
		}
	}
	return true
}

func onlyContentIn(value *ast.Value, variable string) bool {
	for _, child := range value.Children {
		if isVariable(child.Value, variable) && (child.Name != attachedContent || value.Definition == nil || !slices.Contains(contentInputs, value.Definition.Name)) ||
			!onlyContentIn(child.Value, variable) {
			return false
		}
	}
	return true
}

func isVariable(value *ast.Value, name string) bool {
	return value.Kind == ast.Variable && value.Raw == name
}
