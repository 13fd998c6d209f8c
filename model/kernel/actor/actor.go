package actor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"parapet/model/kernel/apperr"
)

// Kind is the role of an actor.
type Kind string

const (
	// KindSystem is Parapet itself: matching, sweeps, relays.
	KindSystem Kind = "system"
	// KindPartner acts for one partner and sees that partner's records only.
	KindPartner Kind = "partner"
	// KindOperator works at Parapet. It reads the records of all partners and writes
	// none.
	KindOperator Kind = "operator"
	// KindRail is a payment rail that reports the result of a payout.
	KindRail Kind = "rail"
	// KindSource is a hazard data source posting observations.
	KindSource Kind = "source"
)

// Scope is a permission named in an access token.
type Scope string

// These are the scopes of the contract. Every operation names the one it needs.
const (
	ScopeQuotesWrite        Scope = "quotes:write"
	ScopeQuotesRead         Scope = "quotes:read"
	ScopePoliciesWrite      Scope = "policies:write"
	ScopePoliciesRead       Scope = "policies:read"
	ScopeClaimsWrite        Scope = "claims:write"
	ScopeClaimsRead         Scope = "claims:read"
	ScopePayoutMethodsWrite Scope = "payout_methods:write"
	ScopePayoutsRead        Scope = "payouts:read"
	ScopeProductsRead       Scope = "products:read"
	ScopeEventsRead         Scope = "events:read"
	ScopeWebhooksRead       Scope = "webhooks:read"
	ScopeWebhooksWrite      Scope = "webhooks:write"
	ScopeObservationsWrite  Scope = "observations:write"
	ScopeOperator           Scope = "operator"
)

// PartnerScopes lists every scope that a partner's client may be granted.
func PartnerScopes() []Scope {
	return []Scope{
		ScopeQuotesWrite, ScopeQuotesRead, ScopePoliciesWrite, ScopePoliciesRead,
		ScopeClaimsWrite, ScopeClaimsRead, ScopePayoutMethodsWrite, ScopePayoutsRead,
		ScopeProductsRead, ScopeEventsRead, ScopeWebhooksRead, ScopeWebhooksWrite,
	}
}

// Actor is the caller of an operation. API layers build it from a verified token; the
// domain trusts nothing else about the caller.
type Actor struct {
	Kind    Kind
	Partner string // the partner's slug; empty unless Kind is KindPartner
	Name    string // shown in timelines: the token's client or subject
	Client  string // the OAuth client
	// Issuer signed the token and calls its holder Subject. Together they identify an
	// operator or a data source. Subject is empty for partners.
	Issuer, Subject string
	Scopes          []Scope
	// SignIn is set for an operator who must have signed in recently to move money.
	SignIn *SignIn
	// ExpiresAt is when the token expires; subscriptions of the actor end then. Zero
	// means never.
	ExpiresAt time.Time
	// Sources lists the sources that a data source may post for. An empty list with
	// AnySource false means none.
	Sources   []string
	AnySource bool
	// IdempotencyKey is the key of this request, nil without one. The actor carries it
	// because keys are unique per actor.
	IdempotencyKey *IdempotencyKey
	// RequestID is the X-Request-Id. Operation is the name of the operation in the API
	// that received it. Both are for the audit log.
	RequestID, Operation string
	// Precondition is the record version that this request requires, nil without one.
	Precondition *Precondition
}

// System is Parapet acting by itself.
func System() Actor { return Actor{Kind: KindSystem, Name: "parapet"} }

// DisplayName is the name that partners see. An operator is shown as Parapet;
// operator_actions records which one it was.
func (a Actor) DisplayName() string {
	if a.Kind == KindOperator {
		return System().Name
	}
	return a.Name
}

// partnerCaller begins the name of a caller that is a partner.
const partnerCaller = "partner/"

// CallerName is the name under which the use of limits is counted: of the partner, or of
// the client without one.
func (a Actor) CallerName() string {
	if a.Partner != "" {
		return partnerCaller + a.Partner
	}
	return "client/" + a.Client
}

// PartnerOfCaller returns the partner that a CallerName names.
func PartnerOfCaller(name string) (slug string, is bool) {
	return strings.CutPrefix(name, partnerCaller)
}

// HasScope reports whether the actor's token carries the scope.
func (a Actor) HasScope(scope Scope) bool { return slices.Contains(a.Scopes, scope) }

// PreferScope returns the first scope, or the second when the actor has only the second.
func (a Actor) PreferScope(scope, other Scope) Scope {
	if !a.HasScope(scope) && a.HasScope(other) {
		return other
	}
	return scope
}

// ScopeForOwnRecords returns the scope that a partner needs to act on its own records;
// all other actors need the operator scope.
func (a Actor) ScopeForOwnRecords(scope Scope) Scope {
	if a.Kind == KindPartner {
		return scope
	}
	return ScopeOperator
}

// RequireScope returns an error when the actor lacks the scope. Operators read every
// partner's records but write none of them; their own operations use the operator scope.
func (a Actor) RequireScope(scope Scope) error {
	if a.IsAllowed(scope) {
		return nil
	}
	refusal := apperr.Fail(apperr.CodeInsufficientScope, "The token lacks the scope %s; ask the issuer for it.", scope)
	if a.Kind == KindOperator && scope != ScopeObservationsWrite {
		refusal.Detail = fmt.Sprintf("This needs a partner's token with the scope %s; operators do not act for partners.", scope)
	}
	refusal.Extra = map[string]any{"scope": string(scope)}
	return refusal
}

// IsAllowed reports whether the actor may act under a scope: operators have every read scope
// and their own, data sources only that of observations.
func (a Actor) IsAllowed(scope Scope) bool {
	switch a.Kind {
	case KindSystem:
		return true
	case KindOperator:
		return strings.HasSuffix(string(scope), ":read") || scope == ScopeOperator || scope == ScopeObservationsWrite && a.HasScope(scope)
	case KindPartner:
		return a.HasScope(scope)
	case KindSource:
		return scope == ScopeObservationsWrite && a.HasScope(scope)
	case KindRail:
	}
	return false
}

// PartnerScope returns the partner whose records a figure covers: the actor's own, or
// the one an operator names; empty means all partners.
func (a Actor) PartnerScope(partner string) (string, error) {
	if a.Kind != KindPartner {
		return partner, nil
	}
	if partner != "" && partner != a.Partner {
		return "", apperr.Fail(apperr.CodePartnerMismatch, "The token belongs to the partner %q; leave the partner out or name that one.", a.Partner)
	}
	return a.Partner, nil
}
