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
	maxLifetime = 24 * time.Hour   // a token cannot be called back, so it must end soon
)

// claims are a token's, by their exact names. A claim that is null counts as absent.
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

// stringClaim is a string claim, empty when absent.
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

// listClaim is a claim that is a string or a list of strings, nil when absent.
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

// timeClaim is a NumericDate (RFC 7519 section 2): seconds since 1970, fractions
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

// scopeList are those of scope (RFC 9068) or, where an issuer sends that instead, scp.
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

// expiredError says that nothing is wrong with a token but its age.
type expiredError struct{ expiredAt time.Time }

func (e *expiredError) Error() string {
	return "it expired at " + e.expiredAt.UTC().Format(time.RFC3339)
}

// checkClaims judges what the signature does not say. Expiry comes last: expired is only
// said of a token that was good, because it sends the caller for a new one.
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

// checkIsAccessToken refuses what a trusted issuer signed for another purpose. An ID token
// is a receipt for the client, and a security event is news; neither is a
// permission. A header of typ at+jwt says what the token is. Without it the claims
// have to: these and no others are an ID token's (OpenID Connect Core section 2) or
// an event's (RFC 8417 section 2.2), some issuers name the use in a claim of their
// own, and an access token names its scope or, for a client that was granted none,
// the client_id (RFC 9068 section 2.2) that an ID token has as its audience. Its azp
// tells nothing, because ID tokens have it too. What else RFC 9068 requires of
// issuers (jti, sub, iat) tells nothing either, and older ones leave it out.
func (c claims) checkIsAccessToken(typ string) error {
	for _, name := range []string{"nonce", "at_hash", "c_hash", "s_hash"} {
		if c.hasClaim(name) {
			return errIDToken
		}
	}
	for _, name := range []string{"typ", "token_use"} { // Keycloak's and Cognito's
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
		begins = now // without iat, what is left of its life is bounded
	}
	switch {
	case expiry.IsZero():
		return expiry, errors.New("it has no expiry")
	case issued.After(now.Add(clockLeeway)), notBefore.After(now.Add(clockLeeway)):
		return expiry, errors.New("it is not valid yet")
	case expiry.Sub(begins) > maxLifetime:
		return expiry, errors.New("it lives longer than 24 hours")
	case !now.Before(expiry.Add(clockLeeway)):
		return expiry, &expiredError{expiredAt: expiry}
	}
	return expiry, nil
}

// unverifiedHeader is what has to be read of a token before its signature can be: who
// claims to have issued it, and the type in its header.
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

// isAccessTokenType tells whether the header's typ may be an access token's. Issuers
// older than RFC 9068 send JWT or nothing; strict accepts at+jwt only.
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
