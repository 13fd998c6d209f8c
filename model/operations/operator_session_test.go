package operations_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

func TestEndedSessionsAreRememberedUntilTheyExpire(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	ended := func(id string) bool { return modeltest.Must(b.Service.Operations.IsSessionEnded(t.Context(), id)) }
	require.False(t, ended("one"))
	require.NoError(t, b.Service.Operations.EndSession(t.Context(), "one", time.Now().Add(-48*time.Hour)))
	require.True(t, ended("one"))
	require.False(t, ended("two"))
	require.NoError(t, b.Service.Operations.EndSession(t.Context(), "two", time.Now().Add(time.Hour)))
	require.NoError(t, b.Service.Operations.EndSession(t.Context(), "two", time.Now().Add(time.Hour)), "a second sign-out changes nothing")
	require.True(t, ended("two"))
	require.False(t, ended("one"), "its cookie expired long ago")
}
