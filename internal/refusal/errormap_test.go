package refusal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model"
)

// codes reads the domain's list, so that a new one without a status is found.
func codes(t *testing.T) (all []model.Code) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../model/error.go", nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if ok && strings.HasPrefix(spec.Names[0].Name, "Code") {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			all = append(all, model.Code(text))
		}
		return true
	})
	return all
}

func TestEveryCodeHasAStatus(t *testing.T) {
	t.Parallel()
	all := append(codes(t), CodeQueryTooCostly, CodeQueryNotTrusted, CodePersistedQueryNotFound, CodeOriginRefused, CodeReadTooSlowly)
	require.Len(t, kinds, len(all))
	for _, code := range all {
		require.GreaterOrEqual(t, KindOf(code).Status, 400, code)
		require.NotEmpty(t, KindOf(code).Title, code)
	}
}
