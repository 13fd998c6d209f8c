package groupcommit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/groupcommit"
)

func TestReadsAreSentOnceAndCopiedToEachCall(t *testing.T) {
	t.Parallel()
	reads := groupcommit.Reads{}
	one, two, other := []int{}, []int{7, 8, 9}, []int{5}
	require.False(t, reads.Join("a", &one))
	require.True(t, reads.Join("a", &two))
	require.False(t, reads.Join("b", &other))
	one = append(one, 1, 2)
	reads.Copy("a")
	require.Equal(t, []int{1, 2}, two)
	require.Equal(t, []int{5}, other)
	one[0] = 3
	require.Equal(t, []int{1, 2}, two, "they share no memory")
}

func TestCallWithoutAGroupCopiesNothing(t *testing.T) {
	t.Parallel()
	groupcommit.Reads(nil).Copy("a")
}
