package signin

import (
	"context"
	"net/http"
	"net/url"

	"parapet/internal/gateway"
	"parapet/model/kernel/actor"
)

// Guard passes signed-in operators to next, which gets them from Operator. It redirects
// other users to the issuer and rejects cross-site requests.
func (u *OperatorUI) Guard(next http.Handler) http.Handler {
	return u.crossOrigin.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, known := u.readSession(r)
		if !known {
			u.redirectToSignIn(w, r)
			return
		}
		ended, err := u.config.Sessions.IsSessionEnded(r.Context(), s.ID)
		switch {
		case err != nil:
			u.renderFailure(w, r, http.StatusServiceUnavailable, "Your sign-in cannot be checked now. Try again in a minute.", err)
			return
		case ended:
			u.redirectToSignIn(w, r)
			return
		}
		who := actor.Actor{Kind: actor.KindOperator, Name: s.Subject, Issuer: s.Issuer, Subject: s.Subject, Client: s.Client, Scopes: []actor.Scope{actor.ScopeOperator}, ExpiresAt: s.Until}
		if request := gateway.FromContext(r.Context()); request != nil {
			request.SetActor(who)
		}
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), operatorKey{}, who)))
	}))
}

// readSession returns the session of the request's cookie, unless it has expired.
func (u *OperatorUI) readSession(r *http.Request) (s session, known bool) {
	known = u.openSealedCookie(r, sessionCookie, &s) && s.ID != "" && s.Subject != "" && u.config.Now().Before(s.Until)
	return s, known
}

type operatorKey struct{}

// Operator returns the operator that Guard admitted.
func Operator(ctx context.Context) (actor.Actor, bool) {
	who, ok := ctx.Value(operatorKey{}).(actor.Actor)
	return who, ok
}

// redirectToSignIn redirects a page load to the issuer; a script's request, which cannot
// follow the redirect, gets 401.
func (u *OperatorUI) redirectToSignIn(w http.ResponseWriter, r *http.Request) {
	if dest := r.Header.Get("Sec-Fetch-Dest"); r.Method != http.MethodGet || dest != "" && dest != "document" {
		renderPage(w, http.StatusUnauthorized, pageContent{Title: "Signed out", Text: "Your sign-in has ended. Load the page again.", Enter: signInPath})
		return
	}
	http.Redirect(w, r, signInPath+"?"+url.Values{"to": {r.URL.RequestURI()}}.Encode(), http.StatusSeeOther)
}
