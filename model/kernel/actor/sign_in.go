package actor

import (
	"time"

	"parapet/model/kernel/apperr"
)

// SignIn is when a person entered their credentials, and how long that suffices for
// actions that move money. A client that acts for no person has none.
type SignIn struct {
	At     time.Time // zero when the token does not say it
	MaxAge time.Duration
}

// RequireRecentSignIn returns an error when a person signed in too long ago for an action
// that moves money: the step-up challenge of RFC 9470. now is the time of tokens.
func (a Actor) RequireRecentSignIn(now time.Time) error {
	if a.SignIn == nil || !a.SignIn.At.IsZero() && now.Before(a.SignIn.At.Add(a.SignIn.MaxAge)) {
		return nil
	}
	minutes := int(a.SignIn.MaxAge.Minutes())
	refusal := apperr.Fail(apperr.CodeInsufficientUserAuthentication, "You signed in more than %d minutes ago. Sign in again, then repeat this: it needs a recent sign-in.", minutes)
	if a.SignIn.At.IsZero() {
		refusal = apperr.Fail(apperr.CodeInsufficientUserAuthentication,
			"This needs a sign-in of the last %d minutes, and the token has no auth_time. Sign in again with max_age; the issuer must put auth_time into access tokens.", minutes)
	}
	refusal.Extra = map[string]any{"max_age": int(a.SignIn.MaxAge.Seconds())}
	return refusal
}
