package errormap

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
)

// declaredCodes reads the domain's list, so that a new one without a status is found.
func declaredCodes(t *testing.T) (all []apperr.Code) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../model/kernel/apperr/error.go", nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if ok && strings.HasPrefix(spec.Names[0].Name, "Code") {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			all = append(all, apperr.Code(text))
		}
		return true
	})
	return all
}

func TestEveryCodeHasAStatus(t *testing.T) {
	t.Parallel()
	all := append(declaredCodes(t), CodeQueryTooCostly, CodeQueryNotTrusted, CodePersistedQueryNotFound, CodeOriginRefused, CodeReadTooSlowly)
	require.Len(t, meanings, len(all))
	for _, code := range all {
		require.GreaterOrEqual(t, MeaningOf(code).Status, 400, code)
		require.NotEmpty(t, MeaningOf(code).Title, code)
	}
}
