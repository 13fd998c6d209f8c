// Package devissuer guarantees real access tokens on a machine without an identity
// provider: an OpenID Connect issuer with discovery, keys that rotate, client
// credentials, and a sign-in form with PKCE. Its tokens have the shape of RFC 9068
// and are verified like anybody's; nothing in the service knows that it exists. It
// is for development and tests only: its accounts stand in a configuration in clear.
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

// Client is a program that asks for tokens.
type Client struct {
	ID     string
	Secret string // empty: a public client, which must use a sign-in with PKCE
	Scopes []string
	// Partner becomes the claim partner: the token acts for that partner only.
	Partner string
	// Sources becomes the claim source: the data sources the token may post for.
	Sources []string
	// RedirectURIs of a sign-in, compared exactly; for a public client one on
	// loopback matches with any port (RFC 8252 section 7.3).
	RedirectURIs []string
	// AnyLoopback allows every sign-in to come back to this machine, whatever the
	// port and path: what one tries out on a laptop is not known beforehand.
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
	Issuer   string // its address; the claim iss, letter by letter
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

// Issuer issues tokens. Its methods may be called from several goroutines.
type Issuer struct {
	options Options
	prefix  string // the path of the issuer's address
	clients map[string]Client
	users   map[string]User
	keys    *keyring

	mu    sync.Mutex
	codes map[string]codeGrant
}

// New makes an issuer, with the keys of KeyFile or new ones.
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

// Token mints an access token for a client without asking for its secret, with the
// named scopes or, when none is named, with all the client has.
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

// Sign makes a token of any shape with the current key, to try what a verifier
// refuses. Typ is the header of that name, left out when empty.
func (i *Issuer) Sign(typ string, claims map[string]any) (string, error) {
	return i.keys.signClaims(typ, claims)
}

// RotateKey makes a new key, signs with it from now on, and goes on publishing the
// earlier ones. It returns the new key's id.
func (i *Issuer) RotateKey() (string, error) { return i.keys.rotateKey() }

// WithdrawKey stops publishing a key: tokens signed with it are to be refused. The
// key that signs cannot be withdrawn before another one has taken its place.
func (i *Issuer) WithdrawKey(id string) error { return i.keys.withdrawKey(id) }

// KeyID is the id of the key that signs.
func (i *Issuer) KeyID() string { return i.keys.currentKey().KeyID }

// identity is what a token says of whom it was issued to.
type identity struct {
	subject string
	partner string
	sources []string
}

func (c Client) tokenIdentity() identity {
	return identity{subject: c.ID, partner: c.Partner, sources: c.Sources}
}

// newAccessToken has the claims of RFC 9068 section 2.2, and ours.
func (i *Issuer) newAccessToken(who identity, clientID string, scopes []string) (string, error) {
	now := i.options.Now()
	claims := map[string]any{
		"iss": i.options.Issuer, "aud": i.options.Audience, "sub": who.subject, "client_id": clientID,
		"scope": strings.Join(scopes, " "), "jti": uuid.NewString(),
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(i.options.TokenLifetime).Unix(),
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

// newIDToken tells the client who signed in. It is for the client's id, so that no
// service takes it for an access token.
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
