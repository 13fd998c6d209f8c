// Package devissuer issues real access tokens on a machine without an identity provider:
// it is an OpenID Connect issuer with discovery, key rotation, client credentials, and a
// sign-in form with PKCE. Its tokens have the form of RFC 9068 and are verified like
// those of any issuer. It is for development and tests only: its configuration holds
// accounts in plain text.
package devissuer

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Client is an OAuth client.
type Client struct {
	ID     string
	Secret string // empty: a public client, which must sign in with PKCE
	Scopes []string
	// Partner becomes the claim partner: the token acts only for that partner.
	Partner string
	// Sources becomes the claim source: the data sources the token may post for.
	Sources []string
	// RedirectURIs of a sign-in, compared exactly; a loopback address of a public client
	// matches with any port (RFC 8252 section 7.3).
	RedirectURIs []string
	// AnyLoopback allows every loopback redirect address with any port and path, because
	// local experiments are not known in advance.
	AnyLoopback bool
}

// User is a person who signs in at the form.
type User struct {
	Name     string
	Password string // empty: choosing the name is enough
	Scopes   []string
	Partner  string
}

// Options of an issuer.
type Options struct {
	Issuer   string // its address, exactly as in the claim iss
	Audience string // the claim aud of access tokens
	Clients  []Client
	Users    []User
	Now      func() time.Time // time.Now when nil
	// TokenLifetime of access tokens, 1 hour when zero.
	TokenLifetime time.Duration
	// Algorithm of the keys, ES256 (when empty) or RS256.
	Algorithm string
	// KeyFile keeps the private keys, so that tokens survive a restart. Empty:
	// new keys every time.
	KeyFile string
}

// Issuer issues tokens. It is safe for concurrent use.
type Issuer struct {
	options Options
	prefix  string // the path of the issuer's address
	clients map[string]Client
	users   map[string]User
	keys    *keyring

	mu    sync.Mutex
	codes map[string]codeGrant
}

// New returns an issuer with the keys of KeyFile or new ones.
func New(options Options) (*Issuer, error) {
	address, err := url.Parse(options.Issuer)
	if err != nil || address.Host == "" || address.RawQuery != "" || address.Fragment != "" {
		return nil, fmt.Errorf("the issuer's address %q is not an absolute URL without query", options.Issuer)
	}
	if options.Audience == "" {
		return nil, errors.New("the development issuer needs an audience")
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	options.TokenLifetime = cmp.Or(options.TokenLifetime, time.Hour)
	keys, err := openKeyring(options.KeyFile, cmp.Or(options.Algorithm, "ES256"))
	if err != nil {
		return nil, err
	}
	issuer := &Issuer{
		options: options, prefix: strings.TrimSuffix(address.Path, "/"), keys: keys,
		clients: map[string]Client{}, users: map[string]User{}, codes: map[string]codeGrant{},
	}
	for _, client := range options.Clients {
		issuer.clients[client.ID] = client
	}
	for _, user := range options.Users {
		issuer.users[user.Name] = user
	}
	return issuer, nil
}

// Token issues an access token for a client without its secret, with the given scopes or,
// without any, all scopes of the client.
func (i *Issuer) Token(clientID string, scopes ...string) (string, error) {
	client, known := i.clients[clientID]
	if !known {
		return "", fmt.Errorf("the development issuer has no client %q", clientID)
	}
	if len(scopes) == 0 {
		scopes = client.Scopes
	}
	for _, scope := range scopes {
		if !slices.Contains(client.Scopes, scope) {
			return "", fmt.Errorf("client %s does not have the scope %s", clientID, scope)
		}
	}
	return i.newAccessToken(client.tokenIdentity(), client.ID, scopes)
}

// Sign signs any claims with the current key, to test what a verifier rejects. typ is the
// header of that name, omitted when empty.
func (i *Issuer) Sign(typ string, claims map[string]any) (string, error) {
	return i.keys.signClaims(typ, claims)
}

// RotateKey creates a new key and signs with it from now on. Earlier keys stay published.
// It returns the new key's id.
func (i *Issuer) RotateKey() (string, error) { return i.keys.rotateKey() }

// WithdrawKey stops publishing a key, so that tokens signed with it are rejected. The
// signing key cannot be withdrawn before a rotation.
func (i *Issuer) WithdrawKey(id string) error { return i.keys.withdrawKey(id) }

// KeyID returns the id of the signing key.
func (i *Issuer) KeyID() string { return i.keys.currentKey().KeyID }

// identity is the holder of a token.
type identity struct {
	subject string
	partner string
	sources []string
	// signedInAt is when the person entered their name; zero for a client.
	signedInAt time.Time
}

func (c Client) tokenIdentity() identity {
	return identity{subject: c.ID, partner: c.Partner, sources: c.Sources}
}

// newAccessToken returns a token with the claims of RFC 9068 section 2.2 and ours.
func (i *Issuer) newAccessToken(who identity, clientID string, scopes []string) (string, error) {
	now := i.options.Now()
	claims := map[string]any{
		"iss": i.options.Issuer, "aud": i.options.Audience, "sub": who.subject, "client_id": clientID,
		"scope": strings.Join(scopes, " "), "jti": uuid.NewString(),
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(i.options.TokenLifetime).Unix(),
	}
	if !who.signedInAt.IsZero() {
		claims["auth_time"] = who.signedInAt.Unix()
	}
	if who.partner != "" {
		claims["partner"] = who.partner
	}
	switch len(who.sources) {
	case 0:
	case 1:
		claims["source"] = who.sources[0]
	default:
		claims["source"] = who.sources
	}
	return i.keys.signClaims("at+jwt", claims)
}

// newIDToken returns an ID token with the client's id as audience, so that no service
// accepts it as an access token.
func (i *Issuer) newIDToken(who identity, clientID, nonce string) (string, error) {
	now := i.options.Now()
	claims := map[string]any{
		"iss": i.options.Issuer, "aud": clientID, "sub": who.subject, "name": who.subject,
		"iat": now.Unix(), "exp": now.Add(i.options.TokenLifetime).Unix(),
	}
	if nonce != "" {
		claims["nonce"] = nonce
	}
	return i.keys.signClaims("JWT", claims)
}
