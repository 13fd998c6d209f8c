package money_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/money"
)

func TestParseWhole(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "-0": 0, "0.0": 0, "0e999999999999999999999": 0, "-0.00E-7": 0, "7": 7, "-7": -7,
		"1e2": 100, "1E+2": 100, "100.0": 100, "1.5e1": 15, "-1.25e2": -125, "1200e-2": 12, "0.000001e6": 1,
		"9223372036854775807": 9223372036854775807, "-9223372036854775808": -9223372036854775808,
		"9.223372036854775807e18": 9223372036854775807, "9223372036854775807.000": 9223372036854775807,
		"1" + strings.Repeat("0", 1000) + "e-1000": 1, "0." + strings.Repeat("0", 1000) + "1e1001": 1,
	} {
		got, err := money.ParseWhole(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"0.5", "1.5", "1e-5", "15e-1", "-0.1", "1e-999999999999999999999", "10000000.00000000000000000000001", "9223372036854775807.5"} {
		_, err := money.ParseWhole(text)
		require.ErrorIs(t, err, money.ErrNotWhole, text)
	}
	for _, text := range []string{"9223372036854775808", "-9223372036854775809", "1e19", "1e400", "-1e400", "1e999999999999999999999", "0.1e30"} {
		_, err := money.ParseWhole(text)
		require.ErrorIs(t, err, money.ErrTooLarge, text)
	}
}
