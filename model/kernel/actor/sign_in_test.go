package actor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
)

func TestRecentSignInIsYoungerThanItsMaxAge(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	signedIn := func(age time.Duration) actor.Actor {
		return actor.Actor{SignIn: &actor.SignIn{At: now.Add(-age), MaxAge: 15 * time.Minute}}
	}
	require.NoError(t, actor.Actor{}.RequireRecentSignIn(now), "a client without a person")
	require.NoError(t, signedIn(15*time.Minute-1).RequireRecentSignIn(now))
	for _, caller := range []actor.Actor{signedIn(15 * time.Minute), {SignIn: &actor.SignIn{MaxAge: 15 * time.Minute}}} {
		var refusal *apperr.Error
		require.ErrorAs(t, caller.RequireRecentSignIn(now), &refusal)
		require.Equal(t, apperr.CodeInsufficientUserAuthentication, refusal.Code)
		require.Equal(t, map[string]any{"max_age": 900}, refusal.Extra)
		require.Contains(t, refusal.Detail, "15 minutes")
	}
}
