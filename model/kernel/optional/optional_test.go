package optional_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/optional"
)

func TestOptional(t *testing.T) {
	t.Parallel()
	require.Nil(t, optional.NonZero(""))
	require.Equal(t, new(" "), optional.NonZero(" "))
	require.Equal(t, 1, optional.Or(new(1), 2))
	require.Equal(t, 2, optional.Or(nil, 2))
	require.Equal(t, 1, optional.OrZero(new(1)))
	require.Zero(t, optional.OrZero[int](nil))
}
