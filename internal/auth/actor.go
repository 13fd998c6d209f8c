package auth

import (
	"cmp"
	"regexp"
	"strings"
	"unicode"

	"parapet/model"
)

// partnerSlug is the pattern of a partner's immutable name.
var partnerSlug = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// maxNameBytes limits the names that are stored in our records, in bytes.
const maxNameBytes = 255

// newActor converts the verified token's holder to the domain's actor. A token has
// exactly one role: partner, operator or data source.
func (v *Verifier) newActor(c claims) (model.Actor, error) {
	var actor model.Actor
	scopes, err := c.scopeList()
	if err != nil {
		return actor, errTokenInvalid("%v", err)
	}
	for _, scope := range scopes {
		actor.Scopes = append(actor.Scopes, model.Scope(scope))
	}
	if actor.Client, err = v.clientName(c); err != nil {
		return model.Actor{}, errTokenInvalid("%v", err)
	}
	actor.Name = actor.Client
	if actor.Issuer, err = c.stringClaim("iss"); err != nil {
		return model.Actor{}, errTokenInvalid("%v", err)
	}
	if actor.Partner, err = c.stringClaim(v.config.PartnerClaim); err != nil {
		return model.Actor{}, errTokenInvalid("%v", err)
	}
	if err := v.setRole(&actor); err != nil {
		return model.Actor{Name: actor.Name, Issuer: actor.Issuer, Client: actor.Client, Partner: actor.Partner}, err
	}
	if actor.Kind != model.ActorPartner {
		if actor.Subject, err = subjectName(c, actor.Client); err != nil {
			return model.Actor{}, errTokenInvalid("%v", err)
		}
	}
	if actor.Kind == model.ActorOperator {
		actor.Name = actor.Subject
	}
	if actor.HasScope(model.ScopeObservationsWrite) {
		if err := v.setSources(&actor, c); err != nil {
			return model.Actor{}, err
		}
	}
	return actor, nil
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

func (v *Verifier) setRole(actor *model.Actor) error {
	operator, observer := actor.HasScope(model.ScopeOperator), actor.HasScope(model.ScopeObservationsWrite)
	switch {
	case actor.Partner != "" && !partnerSlug.MatchString(actor.Partner):
		return errTokenInvalid("its claim %s is not a partner's slug", v.config.PartnerClaim)
	case actor.Partner != "" && operator:
		return errTokenInvalid("it belongs to a partner and to an operator at once")
	case actor.Partner != "" && observer && !v.config.AllowPartnerSource:
		return model.Fail(model.CodeInsufficientScope,
			"A partner's token may not have the scope %s: partners may not report the observations that decide their own payouts.", model.ScopeObservationsWrite)
	case actor.Partner != "":
		actor.Kind = model.ActorPartner
	case operator:
		actor.Kind = model.ActorOperator
	case observer:
		actor.Kind = model.ActorSource
	default:
		return model.Fail(model.CodeInsufficientScope,
			"The token has neither the claim %s nor the scope %s or %s.", v.config.PartnerClaim, model.ScopeOperator, model.ScopeObservationsWrite)
	}
	return nil
}

// setSources sets the sources for which the holder may post observations. Without the
// claim it is any source in development and none elsewhere.
func (v *Verifier) setSources(actor *model.Actor, c claims) error {
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
