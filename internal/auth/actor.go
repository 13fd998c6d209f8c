package auth

import (
	"cmp"
	"regexp"
	"strings"
	"unicode"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
)

// partnerSlug is the pattern of a partner's immutable name.
var partnerSlug = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// maxNameBytes limits the names that are stored in our records, in bytes.
const maxNameBytes = 255

// newActor converts the verified token's holder to the domain's actor. A token has
// exactly one role: partner, operator or data source.
func (v *Verifier) newActor(c claims) (actor.Actor, error) {
	var caller actor.Actor
	scopes, err := c.scopeList()
	if err != nil {
		return caller, errTokenInvalid("%v", err)
	}
	for _, scope := range scopes {
		caller.Scopes = append(caller.Scopes, actor.Scope(scope))
	}
	if caller.Client, err = v.clientName(c); err != nil {
		return actor.Actor{}, errTokenInvalid("%v", err)
	}
	caller.Name = caller.Client
	if caller.Issuer, err = c.stringClaim("iss"); err != nil {
		return actor.Actor{}, errTokenInvalid("%v", err)
	}
	if caller.Partner, err = c.stringClaim(v.config.PartnerClaim); err != nil {
		return actor.Actor{}, errTokenInvalid("%v", err)
	}
	if err := v.setRole(&caller); err != nil {
		return actor.Actor{Name: caller.Name, Issuer: caller.Issuer, Client: caller.Client, Partner: caller.Partner}, err
	}
	if caller.Kind != actor.KindPartner {
		if caller.Subject, err = subjectName(c, caller.Client); err != nil {
			return actor.Actor{}, errTokenInvalid("%v", err)
		}
	}
	if caller.Kind == actor.KindOperator {
		caller.Name = caller.Subject
		if caller.SignIn, err = v.signIn(c, caller); err != nil {
			return actor.Actor{}, errTokenInvalid("%v", err)
		}
	}
	if caller.HasScope(actor.ScopeObservationsWrite) {
		if err := v.setSources(&caller, c); err != nil {
			return actor.Actor{}, err
		}
	}
	return caller, nil
}

// signIn returns when the person behind a token signed in; nil for a client that acts for
// itself, whose token names the client as its subject (RFC 9068 section 2.2).
func (v *Verifier) signIn(c claims, caller actor.Actor) (*actor.SignIn, error) {
	if v.config.SignInMaxAge <= 0 || caller.Subject == caller.Client {
		return nil, nil //nolint:nilnil // nothing is required of it
	}
	at, err := c.timeClaim("auth_time")
	return &actor.SignIn{At: at, MaxAge: v.config.SignInMaxAge}, err
}

// subjectName returns the person behind an operator's client: approvals by two people
// must distinguish two people at one client from one person at two clients. Without a
// subject it is the client.
func subjectName(c claims, client string) (string, error) {
	subject, err := c.stringClaim("sub")
	switch {
	case err != nil || subject == "":
		return client, err
	case len(subject) > maxNameBytes || strings.ContainsFunc(subject, unicode.IsControl):
		return "", errNoClientName
	}
	return subject, nil
}

// clientName returns the OAuth client, from the claim that the issuer uses.
func (v *Verifier) clientName(c claims) (string, error) {
	var names [4]string // cid is Okta's
	for at, claim := range []string{"client_id", "cid", "azp", "sub"} {
		var err error
		if names[at], err = c.stringClaim(claim); err != nil {
			return "", err
		}
	}
	name := cmp.Or(names[:]...)
	if name == "" || len(name) > maxNameBytes || strings.ContainsFunc(name, unicode.IsControl) {
		return "", errNoClientName
	}
	return name, nil
}

func (v *Verifier) setRole(caller *actor.Actor) error {
	operator, observer := caller.HasScope(actor.ScopeOperator), caller.HasScope(actor.ScopeObservationsWrite)
	switch {
	case caller.Partner != "" && !partnerSlug.MatchString(caller.Partner):
		return errTokenInvalid("its claim %s is not a partner's slug", v.config.PartnerClaim)
	case caller.Partner != "" && operator:
		return errTokenInvalid("it belongs to a partner and to an operator at once")
	case caller.Partner != "" && observer && !v.config.AllowPartnerSource:
		return apperr.Fail(apperr.CodeInsufficientScope,
			"A partner's token may not have the scope %s: partners may not report the observations that decide their own payouts.", actor.ScopeObservationsWrite)
	case caller.Partner != "":
		caller.Kind = actor.KindPartner
	case operator:
		caller.Kind = actor.KindOperator
	case observer:
		caller.Kind = actor.KindSource
	default:
		return apperr.Fail(apperr.CodeInsufficientScope,
			"The token has neither the claim %s nor the scope %s or %s.", v.config.PartnerClaim, actor.ScopeOperator, actor.ScopeObservationsWrite)
	}
	return nil
}

// setSources sets the sources for which the holder may post observations. Without the
// claim it is any source in development and none elsewhere.
func (v *Verifier) setSources(actor *actor.Actor, c claims) error {
	sources, err := c.listClaim("source")
	if err != nil {
		return errTokenInvalid("%v", err)
	}
	for _, source := range sources {
		if source == "" || len(source) > maxNameBytes || strings.ContainsFunc(source, unicode.IsControl) {
			return errTokenInvalid("its claim source names something that is not a data source")
		}
	}
	actor.Sources = sources
	_, named := c["source"]
	actor.AnySource = !named && v.config.AllowAnySource
	return nil
}
