package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/pflag"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"parapet/model/kernel/actor"
)

// tokenSource supplies access tokens: a fixed one, new ones by client credentials, or that
// of the stored login at the server.
type tokenSource struct {
	login                  *login
	fixedToken             string
	clientID, clientSecret string
	issuer                 string     // empty: from the server's metadata (RFC 9728)
	authParams             url.Values // extra token request parameters of the issuer
	server                 string
	client                 *http.Client
	scope                  actor.Scope

	current string
}

// addFlags adds the flags that select the token.
func (t *tokenSource) addFlags(set *pflag.FlagSet) {
	set.StringVar(&t.fixedToken, "token", "", fmt.Sprintf("access token with the scope %s; put it in PARAPET_TOKEN to keep it out of the process list", t.scope))
	set.StringVar(&t.clientID, "client-id", "", "OAuth client that fetches tokens, instead of --token")
	set.StringVar(&t.clientSecret, "client-secret", "", "secret of the client; PARAPET_CLIENT_SECRET")
	set.StringVar(&t.issuer, "issuer", "", "the issuer of the tokens (default: the one that the server names)")
	addParamFlag(set, &t.authParams)
}

// addParamFlag adds --token-param.
func addParamFlag(set *pflag.FlagSet, into *url.Values) {
	*into = url.Values{}
	set.Func("token-param", "name=value, a further parameter of the token request that the issuer needs, such as resource=…, audience=… or another scope=…; repeatable", func(text string) error {
		one, err := parsePairs([]string{text})
		maps.Copy(*into, one)
		return err
	})
}

// parsePairs parses name=value pairs.
func parsePairs(texts []string) (url.Values, error) {
	read := url.Values{}
	for _, text := range texts {
		name, value, is := strings.Cut(text, "=")
		if !is || name == "" {
			return nil, errors.New("write name=value")
		}
		read.Set(name, value)
	}
	return read, nil
}

// configure fills in missing flags from the environment and returns an error if there is
// no way to get a token.
func (t *tokenSource) configure(server string, client *http.Client) error {
	t.server, t.client = server, client
	t.clientSecret = cmp.Or(t.clientSecret, os.Getenv("PARAPET_CLIENT_SECRET"))
	if t.clientID == "" {
		t.fixedToken = cmp.Or(t.fixedToken, os.Getenv("PARAPET_TOKEN"))
	}
	if t.fixedToken != "" || t.clientID != "" {
		return nil
	}
	if origin, err := parseOrigin(server); err == nil {
		if t.login, err = readLogin(origin); err != nil {
			return err
		}
	}
	if t.login == nil {
		return fmt.Errorf("there is no login at %s: run parapet login, or name a token by --token, or a client by --client-id and --client-secret", server)
	}
	return nil
}

// getToken returns a token that was valid when it was issued.
func (t *tokenSource) getToken(ctx context.Context) (string, error) {
	switch {
	case t.fixedToken != "":
		return t.fixedToken, nil
	case t.login != nil:
		return t.loginToken(ctx)
	}
	if t.current == "" {
		var err error
		if t.current, err = t.requestToken(ctx); err != nil {
			return "", fmt.Errorf("get a token: %w", err)
		}
	}
	return t.current, nil
}

// holderName identifies the client: its id, or the subject of a fixed token, which stays
// the same for later tokens.
func (t *tokenSource) holderName() string {
	if t.clientID != "" && t.fixedToken == "" {
		return t.clientID
	}
	token := t.fixedToken
	if t.login != nil {
		token = t.login.AccessToken
	}
	parts := strings.Split(token, ".")
	var claims struct {
		Issuer  string `json:"iss"`
		Subject string `json:"sub"`
	}
	if len(parts) == 3 {
		text, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err == nil && json.Unmarshal(text, &claims) == nil && claims.Subject != "" {
			return claims.Issuer + " " + claims.Subject
		}
	}
	return token
}

// discardToken drops an expired token and reports whether a new one can be requested.
func (t *tokenSource) discardToken() bool {
	t.current = ""
	if t.login != nil {
		t.login.ExpiresAt = time.Unix(1, 0)
		return t.login.RefreshToken != ""
	}
	return t.fixedToken == ""
}

// requestToken requests a token (RFC 6749 section 4.4) with the client authentication
// that the issuer accepts.
func (t *tokenSource) requestToken(ctx context.Context) (string, error) {
	issuer, err := t.discoverIssuer(ctx)
	if err != nil {
		return "", err
	}
	config := clientcredentials.Config{ClientID: t.clientID, ClientSecret: t.clientSecret, TokenURL: issuer.Token, EndpointParams: t.authParams}
	if !t.authParams.Has("scope") {
		config.Scopes = []string{string(t.scope)}
	}
	token, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, t.client))
	if err != nil {
		return "", readableOAuthError(err)
	}
	return token.AccessToken, nil
}

// readableOAuthError returns an issuer's refusal as a statusError.
func readableOAuthError(err error) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response != nil {
		return &statusError{refused.Response.StatusCode, string(bytes.TrimSpace(refused.Body))}
	}
	return err
}

// loginToken returns the login's access token, and renews an expired one.
func (t *tokenSource) loginToken(ctx context.Context) (string, error) {
	if !t.login.isExpired(time.Now()) {
		return t.login.AccessToken, nil
	}
	if stored, err := readLogin(t.login.Server); err == nil && stored != nil && stored.AccessToken != t.login.AccessToken {
		t.login = stored // another process has renewed it
		if !stored.isExpired(time.Now()) {
			return stored.AccessToken, nil
		}
	}
	if t.login.RefreshToken == "" {
		return "", &statusError{http.StatusUnauthorized, "the login at " + t.login.Server + " has expired: run parapet login"}
	}
	source := tokenSource{server: t.login.Server, issuer: t.login.Issuer, clientID: t.login.ClientID, authParams: t.login.Params, client: t.client}
	issuer, err := source.discoverIssuer(ctx)
	if err != nil {
		return "", err
	}
	// Not TokenSource, which cannot send the further parameters of the issuer.
	options := append(source.paramOptions(), oauth2.SetAuthURLParam("grant_type", "refresh_token"), oauth2.SetAuthURLParam("refresh_token", t.login.RefreshToken))
	token, err := source.publicClient(issuer).Exchange(context.WithValue(ctx, oauth2.HTTPClient, t.client), "", options...)
	if err != nil {
		return "", fmt.Errorf("renew the login at %s; parapet login makes a new one: %w", t.login.Server, readableOAuthError(err))
	}
	t.login.AccessToken, t.login.ExpiresAt, t.login.RefreshToken = token.AccessToken, token.Expiry.UTC(), cmp.Or(token.RefreshToken, t.login.RefreshToken)
	return t.login.AccessToken, t.login.save()
}

// publicClient returns the client of a person's login, which has no secret.
func (t *tokenSource) publicClient(issuer issuerMetadata) *oauth2.Config {
	return &oauth2.Config{ClientID: t.clientID, Endpoint: oauth2.Endpoint{
		AuthURL: issuer.Authorization, DeviceAuthURL: issuer.Device, TokenURL: issuer.Token, AuthStyle: oauth2.AuthStyleInParams,
	}}
}

// paramOptions returns the further parameters of every request to the issuer.
func (t *tokenSource) paramOptions() (options []oauth2.AuthCodeOption) {
	for name := range t.authParams {
		options = append(options, oauth2.SetAuthURLParam(name, t.authParams.Get(name)))
	}
	return options
}

// issuerMetadata is what the command line reads of an issuer's discovery document.
type issuerMetadata struct {
	Issuer        string   `json:"issuer"`
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Device        string   `json:"device_authorization_endpoint"`
	Revocation    string   `json:"revocation_endpoint"`
	Scopes        []string `json:"scopes_supported"`
}

// discoverIssuer reads the metadata of the issuer, by default the first one that the
// server names.
func (t *tokenSource) discoverIssuer(ctx context.Context) (issuerMetadata, error) {
	var about issuerMetadata
	if t.issuer == "" {
		var resource struct {
			Servers []string `json:"authorization_servers"`
		}
		if err := fetchJSON(ctx, t.client, t.server+"/.well-known/oauth-protected-resource", "", &resource); err != nil {
			return about, err
		}
		if len(resource.Servers) == 0 {
			return about, errors.New("the server names no issuer; use --issuer")
		}
		t.issuer = resource.Servers[0]
	}
	err := fetchJSON(ctx, t.client, strings.TrimSuffix(t.issuer, "/")+"/.well-known/openid-configuration", "", &about)
	if err == nil && about.Token == "" {
		err = fmt.Errorf("%s names no token_endpoint", t.issuer)
	}
	return about, err
}
