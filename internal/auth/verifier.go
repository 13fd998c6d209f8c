// Package auth verifies bearer tokens of trusted issuers: it converts a token to the
// domain's Actor, or to an error that states what is wrong with the token. Tokens are
// OAuth 2.0 access tokens in the form of RFC 9068. go-oidc verifies signatures; this
// package checks what go-oidc leaves open for ID tokens (audience, token type, clock
// leeway, lifetime, interval of key fetches).
package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
)

// knownAlgorithms are the algorithms that a configuration may allow: those without a
// shared secret.
var knownAlgorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

var errNoClientName = errors.New("it names no client or subject")

// Config selects the trusted tokens. The zero value of an optional setting is strict or
// the usual default.
type Config struct {
	Issuers      []string // required; must equal iss exactly
	Audience     string   // required; must be in aud
	Algorithms   []string // RS256, ES256 and EdDSA when empty
	PartnerClaim string   // "partner" when empty
	// RequireType accepts only tokens of typ at+jwt, not the JWT of older issuers.
	RequireType bool
	Now         func() time.Time // time.Now when nil
	HTTP        *http.Client     // for requests to issuers; nil means a client that follows no redirect
	// AllowAnySource lets a data source without the claim source post for all sources.
	// For development.
	AllowAnySource bool
	// SignInMaxAge is how recently an operator must have signed in to move money; 0: at any
	// time.
	SignInMaxAge time.Duration
	// AllowPartnerSource lets a partner's token post observations. For development.
	AllowPartnerSource bool
}

// Verifier verifies tokens. It is safe for concurrent use.
type Verifier struct {
	config  Config
	issuers map[string]trustedIssuer
	cache   *actorCache
}

type trustedIssuer struct {
	keys     *keySet
	verifier *oidc.IDTokenVerifier
}

// New returns a verifier. It makes no request yet, so a service starts while its issuer
// is down.
func New(config Config) (*Verifier, error) {
	config.PartnerClaim = cmp.Or(config.PartnerClaim, "partner")
	if len(config.Algorithms) == 0 {
		config.Algorithms = []string{oidc.RS256, oidc.ES256, oidc.EdDSA}
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.HTTP == nil {
		config.HTTP = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	if err := config.validate(); err != nil {
		return nil, err
	}
	v := &Verifier{config: config, issuers: map[string]trustedIssuer{}, cache: newActorCache()}
	for _, address := range config.Issuers {
		keys := newKeySet(address, config.HTTP, config.Now, v.cache.clearAll)
		v.issuers[address] = trustedIssuer{keys: keys, verifier: oidc.NewVerifier(address, keys, &oidc.Config{
			SupportedSigningAlgs: config.Algorithms,
			// The audience is a client in ID tokens, the expiry check has no leeway and
			// the nbf check has five minutes: checkClaims does these checks.
			SkipClientIDCheck: true, SkipExpiryCheck: true,
		})}
	}
	return v, nil
}

func (c Config) validate() error {
	if len(c.Issuers) == 0 || c.Audience == "" {
		return errors.New("tokens need at least one trusted issuer and an audience")
	}
	for _, address := range c.Issuers {
		parsed, err := url.Parse(address)
		if err != nil || parsed.Host == "" || parsed.Scheme != "https" && parsed.Scheme != "http" ||
			parsed.RawQuery != "" || strings.Contains(address, "#") || parsed.User != nil {
			return fmt.Errorf("the issuer %q is not an http or https address without query", address)
		}
	}
	for _, algorithm := range c.Algorithms {
		if !slices.Contains(knownAlgorithms, jose.SignatureAlgorithm(algorithm)) {
			return fmt.Errorf("%q is not a signature algorithm for access tokens", algorithm)
		}
	}
	return nil
}

// Verify returns the holder of the token. Its errors are *model.Error: token_missing,
// token_invalid or token_expired (401); insufficient_scope (403) for a token without a
// role, together with an actor that has a name; unavailable (503) while no key of its
// issuer is known.
func (v *Verifier) Verify(ctx context.Context, raw string) (actor.Actor, error) {
	if raw == "" {
		return actor.Actor{}, errTokenMissing()
	}
	if len(raw) > maxTokenBytes {
		return actor.Actor{}, errTokenInvalid("it is longer than %d bytes", maxTokenBytes)
	}
	now, key := v.config.Now(), tokenHash(raw)
	actor, found, generation := v.cache.get(key, now)
	if found {
		return actor, nil
	}
	actor, expiry, err := v.verifyToken(ctx, raw, now)
	if err != nil {
		return actor, err
	}
	v.cache.put(key, actor, now, expiry, generation)
	return actor, nil
}

func (v *Verifier) verifyToken(ctx context.Context, raw string, now time.Time) (actor actor.Actor, expiry time.Time, err error) {
	head, err := readUnverified(raw)
	if err != nil {
		return actor, expiry, errTokenInvalid("%v", err)
	}
	from, trusted := v.issuers[head.issuer]
	if !trusted {
		return actor, expiry, errTokenInvalid("its issuer is not trusted here")
	}
	if !isAccessTokenType(head.typ, v.config.RequireType) {
		return actor, expiry, errTokenInvalid("its type is not at+jwt")
	}
	// Checked first, because go-oidc's error does not distinguish a missing key set from
	// a forged token.
	if _, err := from.keys.currentKeys(ctx); err != nil {
		return actor, expiry, errKeysUnavailable(err)
	}
	token, err := from.verifier.Verify(ctx, raw)
	switch {
	case ctx.Err() != nil:
		return actor, expiry, errKeysUnavailable(ctx.Err())
	case err != nil:
		return actor, expiry, errTokenInvalid("its signature or algorithm is not one trusted here").WithCause(err)
	}
	var verified verifiedPayload
	if err := token.Claims(&verified); err != nil {
		return actor, expiry, errTokenInvalid("%v", err)
	}
	if expiry, err = verified.checkClaims(head.typ, v.config.Audience, now); err != nil {
		return actor, expiry, claimError(err)
	}
	if actor, err = v.newActor(verified.claims); err != nil {
		return actor, expiry, err
	}
	actor.ExpiresAt = expiry.UTC()
	return actor, expiry, nil
}

// verifiedPayload makes go-oidc pass the verified bytes to the strict decoder: exact
// names, no duplicates.
type verifiedPayload struct{ claims }

// UnmarshalJSON implements json.Unmarshaler.
func (p *verifiedPayload) UnmarshalJSON(text []byte) (err error) {
	p.claims, err = parseClaims(text)
	return err
}

// errKeysUnavailable is a failure of this server or the issuer, not of the token.
func errKeysUnavailable(cause error) *apperr.Error {
	failed := apperr.Fail(apperr.CodeUnavailable, "Tokens cannot be verified at the moment.").WithCause(cause)
	failed.RetryAfter = fetchInterval
	return failed
}

func claimError(err error) *apperr.Error {
	if expired := (*expiredError)(nil); errors.As(err, &expired) {
		return apperr.Fail(apperr.CodeTokenExpired, "The access token has expired: %v.", err)
	}
	return errTokenInvalid("%v", err)
}

// Ready returns nil if tokens of every issuer can be verified. It requests missing keys
// at most every two seconds.
func (v *Verifier) Ready(ctx context.Context) error {
	var failed []error
	for _, address := range v.config.Issuers {
		failed = append(failed, v.issuers[address].keys.checkReady(ctx))
	}
	return errors.Join(failed...)
}
