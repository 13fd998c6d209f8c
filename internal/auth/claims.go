package auth

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	clockLeeway = 30 * time.Second // between the issuer's clock and ours
	maxLifetime = 24 * time.Hour   // a token cannot be revoked, so it must expire soon
)

// claims are a token's claims by exact name. A null claim counts as absent.
type claims map[string]jsontext.Value

func parseClaims(payload []byte) (claims, error) {
	var c claims
	if err := json.Unmarshal(payload, &c); err != nil || c == nil {
		return nil, errors.New("its claims are not a JSON object")
	}
	for name, value := range c {
		if value.Kind() == 'n' {
			delete(c, name)
		}
	}
	return c, nil
}

// stringClaim returns a string claim, empty when absent.
func (c claims) stringClaim(name string) (string, error) {
	value, found := c[name]
	if !found {
		return "", nil
	}
	var text string
	if value.Kind() != '"' || json.Unmarshal(value, &text) != nil {
		return "", fmt.Errorf("its claim %s is not a string", name)
	}
	return text, nil
}

// listClaim returns a claim that is a string or a list of strings, nil when absent.
func (c claims) listClaim(name string) ([]string, error) {
	value, found := c[name]
	if !found {
		return nil, nil
	}
	if text, err := c.stringClaim(name); err == nil {
		return []string{text}, nil
	}
	var list []string
	if value.Kind() != '[' || json.Unmarshal(value, &list) != nil {
		return nil, fmt.Errorf("its claim %s is neither a string nor a list of strings", name)
	}
	return list, nil
}

// timeClaim returns a NumericDate (RFC 7519 section 2): seconds since 1970, fractions
// allowed. It is zero when absent.
func (c claims) timeClaim(name string) (time.Time, error) {
	value, found := c[name]
	if !found {
		return time.Time{}, nil
	}
	var seconds float64
	if value.Kind() != '0' || json.Unmarshal(value, &seconds) != nil || seconds <= 0 || seconds > 1<<40 {
		return time.Time{}, fmt.Errorf("its claim %s is not a time", name)
	}
	whole, fraction := math.Modf(seconds)
	return time.Unix(int64(whole), int64(fraction*1e9)), nil
}

// scopeList returns the scopes in scope (RFC 9068) or, for issuers that use it, scp.
func (c claims) scopeList() ([]string, error) {
	name := "scope"
	if _, found := c[name]; !found {
		name = "scp"
	}
	list, err := c.listClaim(name)
	if err != nil {
		return nil, err
	}
	return strings.Fields(strings.Join(list, " ")), nil
}

// expiredError means that a token is valid except for its expiry.
type expiredError struct{ expiredAt time.Time }

func (e *expiredError) Error() string {
	return "it expired at " + e.expiredAt.UTC().Format(time.RFC3339)
}

// checkClaims checks everything except the signature. It checks the expiry last:
// token_expired is reported only for an otherwise valid token, because it makes the
// caller request a new one.
func (c claims) checkClaims(typ, audience string, now time.Time) (expiry time.Time, err error) {
	if err := c.checkIsAccessToken(typ); err != nil {
		return expiry, err
	}
	audiences, err := c.listClaim("aud")
	if err != nil {
		return expiry, err
	}
	if !slices.Contains(audiences, audience) {
		return expiry, fmt.Errorf("it is for another audience than %s", audience)
	}
	return c.checkTimes(now)
}

// checkIsAccessToken rejects tokens that a trusted issuer signed for another purpose: ID
// tokens, which inform the client, and security events. A header of typ at+jwt identifies
// an access token. Without it the claims decide. Certain claims occur only in ID tokens
// (OpenID Connect Core section 2) or events (RFC 8417 section 2.2), and some issuers name
// the use in their own claim. An access token has a scope or, for a client without any,
// the client_id (RFC 9068 section 2.2), which an ID token has as its audience instead.
// azp does not decide because ID tokens have it too. The other claims that RFC 9068
// requires of issuers (jti, sub, iat) do not decide either, and older issuers omit them.
func (c claims) checkIsAccessToken(typ string) error {
	for _, name := range []string{"nonce", "at_hash", "c_hash", "s_hash"} {
		if c.hasClaim(name) {
			return errIDToken
		}
	}
	for _, name := range []string{"typ", "token_use"} { // of Keycloak and Cognito
		use, _ := c.stringClaim(name)
		switch strings.ToLower(use) {
		case "id":
			return errIDToken
		case "refresh", "offline", "logout":
			return fmt.Errorf("it is a %s token: send the access token", strings.ToLower(use))
		}
	}
	switch {
	case c.hasClaim("events"):
		return errors.New("it is a security event, not an access token")
	case isAccessTokenType(typ, true), c.hasClaim("scope"), c.hasClaim("scp"), c.hasClaim("client_id"), c.hasClaim("cid"):
		return nil
	default:
		return errors.New("nothing in it says that it is an access token: its typ is not at+jwt, and it has neither scope nor client_id")
	}
}

var errIDToken = errors.New("it is an ID token: send the access token")

func (c claims) hasClaim(name string) bool {
	_, found := c[name]
	return found
}

func (c claims) checkTimes(now time.Time) (expiry time.Time, err error) {
	var dates [3]time.Time
	for at, name := range []string{"exp", "iat", "nbf"} {
		if dates[at], err = c.timeClaim(name); err != nil {
			return expiry, err
		}
	}
	expiry, issued, notBefore := dates[0], dates[1], dates[2]
	begins := issued
	if begins.IsZero() {
		begins = now // without iat, only the remaining lifetime is limited
	}
	switch {
	case expiry.IsZero():
		return expiry, errors.New("it has no expiry")
	case issued.After(now.Add(clockLeeway)), notBefore.After(now.Add(clockLeeway)):
		return expiry, errors.New("it is not valid yet")
	case expiry.Sub(begins) > maxLifetime:
		return expiry, errors.New("it is valid for longer than 24 hours")
	case !now.Before(expiry.Add(clockLeeway)):
		return expiry, &expiredError{expiredAt: expiry}
	}
	return expiry, nil
}

// unverifiedHeader is read before the signature is verified: the claimed issuer and the
// type in the header.
type unverifiedHeader struct {
	issuer string
	typ    string
}

func readUnverified(raw string) (unverifiedHeader, error) {
	parts := strings.Split(raw, ".")
	if len(parts) != 3 {
		return unverifiedHeader{}, errors.New("it is not a signed JWT")
	}
	var u unverifiedHeader
	for at, read := range []struct {
		claim string
		into  *string
	}{{"typ", &u.typ}, {"iss", &u.issuer}} {
		text, err := base64.RawURLEncoding.DecodeString(parts[at])
		if err != nil {
			return u, errors.New("it is not a signed JWT")
		}
		members, err := parseClaims(text)
		if err != nil {
			return u, errors.New("it is not a signed JWT")
		}
		if *read.into, err = members.stringClaim(read.claim); err != nil {
			return u, err
		}
	}
	return u, nil
}

// isAccessTokenType reports whether the header's typ is allowed for an access token.
// Issuers older than RFC 9068 send JWT or nothing; strict accepts only at+jwt.
func isAccessTokenType(typ string, strict bool) bool {
	switch strings.TrimPrefix(strings.ToLower(typ), "application/") {
	case "at+jwt":
		return true
	case "jwt", "":
		return !strict
	default:
		return false
	}
}
