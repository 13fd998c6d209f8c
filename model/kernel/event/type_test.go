package event_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/event"
)

func TestCatalogueDescribesEachTypeOfASubjectOnce(t *testing.T) {
	t.Parallel()
	types := event.Types()
	require.Len(t, types, len(event.Kinds()))
	seen := map[event.Type]bool{}
	for i, kind := range event.Kinds() {
		require.Equal(t, kind.Type, types[i])
		require.False(t, seen[kind.Type], "%s twice", kind.Type)
		seen[kind.Type] = true
		object, _, found := strings.Cut(string(kind.Type), ".")
		require.True(t, found)
		if kind.Type != event.ClaimAttachmentAdded && kind.Type != event.ClaimMessageAdded { // about what was added to the claim
			require.Equal(t, object, kind.Subject, "%s", kind.Type)
		}
		require.Regexp(t, `^[A-Z].*\.$`, kind.Description, "%s", kind.Type)
	}
	require.NotContains(t, types, event.TimelineObserved, "it is in timelines only")
}

func TestEventOutsideTheCatalogueIsRefused(t *testing.T) {
	t.Parallel()
	for _, kind := range event.Kinds() {
		require.NoError(t, kind.Type.CheckSubject(kind.Subject))
	}
	require.ErrorContains(t, event.QuoteBound.CheckSubject("policy"), "no event quote.bound of a policy")
	require.Error(t, event.TimelineObserved.CheckSubject("claim"))
	require.Error(t, event.Type("quote.lost").CheckSubject("quote"))
}
