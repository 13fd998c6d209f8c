package scalar_test

import (
	stdjson "encoding/json" //nolint:depguard // the type in which gqlgen hands over a number
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/graph/scalar"
	"parapet/model/kernel/apperr"
)

func TestLongAcceptsWholeNumbersOnly(t *testing.T) {
	t.Parallel()
	for _, v := range []any{int64(math.MaxInt64), stdjson.Number("9223372036854775807"), "9223372036854775807"} {
		n, err := scalar.UnmarshalLong(t.Context(), v)
		require.NoError(t, err)
		require.EqualValues(t, math.MaxInt64, n)
	}
	for _, v := range []any{"9223372036854775808", stdjson.Number("99999999999999999999"), stdjson.Number("1.0"), stdjson.Number("1e3"), 1.5, "x", "", true, []any{1}, map[string]any{}} {
		_, err := scalar.UnmarshalLong(t.Context(), v)
		require.Equal(t, apperr.CodeValidationFailed, apperr.CodeOf(err), "%v", v)
		_, err = scalar.UnmarshalCount(t.Context(), v)
		require.Equal(t, apperr.CodeValidationFailed, apperr.CodeOf(err), "%v", v)
	}
}
