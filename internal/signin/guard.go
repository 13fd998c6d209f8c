package signin

import (
	"context"
	"net/http"
	"net/url"

	"parapet/internal/visit"
	"parapet/model"
)

// Guard lets signed-in operators through to next, which finds them by Operator. It
// sends other readers to the issuer, and refuses what another site asked for.
func (d *Desk) Guard(next http.Handler) http.Handler {
	return d.origins.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, known := d.session(r)
		if !known {
			d.unknown(w, r)
			return
		}
		ended, err := d.config.Sessions.SessionEnded(r.Context(), s.ID)
		switch {
		case err != nil:
			d.fail(w, r, http.StatusServiceUnavailable, "Your sign-in cannot be checked now. Try again in a minute.", err)
			return
		case ended:
			d.unknown(w, r)
			return
		}
		who := model.Actor{Kind: model.ActorOperator, Name: s.Subject, Issuer: s.Issuer, Subject: s.Subject, Client: s.Client, Scopes: []model.Scope{model.ScopeOperator}, Until: s.Until}
		if v := visit.From(r.Context()); v != nil {
			v.Known(who)
		}
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), operatorKey{}, who)))
	}))
}

// session is the session of the request's cookie, unless it has expired.
func (d *Desk) session(r *http.Request) (s session, known bool) {
	known = d.read(r, sessionCookie, &s) && s.ID != "" && s.Subject != "" && d.config.Now().Before(s.Until)
	return s, known
}

type operatorKey struct{}

// Operator is who was let through by Guard.
func Operator(ctx context.Context) (model.Actor, bool) {
	who, ok := ctx.Value(operatorKey{}).(model.Actor)
	return who, ok
}

// unknown sends a page's reader to the issuer; a script in a page, which cannot
// follow, is told.
func (d *Desk) unknown(w http.ResponseWriter, r *http.Request) {
	if dest := r.Header.Get("Sec-Fetch-Dest"); r.Method != http.MethodGet || dest != "" && dest != "document" {
		show(w, http.StatusUnauthorized, content{Title: "Signed out", Text: "Your sign-in has ended. Load the page again.", Enter: enterPath})
		return
	}
	http.Redirect(w, r, enterPath+"?"+url.Values{"to": {r.URL.RequestURI()}}.Encode(), http.StatusSeeOther)
}
