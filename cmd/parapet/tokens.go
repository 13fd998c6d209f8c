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

	"github.com/go-json-experiment/json"
	"github.com/spf13/pflag"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"parapet/model/kernel/actor"
)

// tokenSource supplies access tokens: a fixed one, or new ones by client credentials.
type tokenSource struct {
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
	t.authParams = url.Values{}
	set.StringVar(&t.fixedToken, "token", "", fmt.Sprintf("access token with the scope %s; put it in PARAPET_TOKEN to keep it out of the process list", t.scope))
	set.StringVar(&t.clientID, "client-id", "", "OAuth client that fetches tokens, instead of --token")
	set.StringVar(&t.clientSecret, "client-secret", "", "secret of the client; PARAPET_CLIENT_SECRET")
	set.StringVar(&t.issuer, "issuer", "", "the issuer of the tokens (default: the one that the server names)")
	set.Func("token-param", "name=value, a further parameter of the token request that the issuer needs, such as resource=…, audience=… or another scope=…; repeatable", func(text string) error {
		one, err := parsePairs([]string{text})
		maps.Copy(t.authParams, one)
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
	if t.fixedToken == "" && t.clientID == "" {
		return errors.New("name a token by --token, or a client by --client-id and --client-secret")
	}
	return nil
}

// getToken returns a token that was valid when it was issued.
func (t *tokenSource) getToken(ctx context.Context) (string, error) {
	if t.fixedToken != "" {
		return t.fixedToken, nil
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
	parts := strings.Split(t.fixedToken, ".")
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
	return t.fixedToken
}

// discardToken drops an expired token and reports whether a new one can be requested.
func (t *tokenSource) discardToken() bool {
	t.current = ""
	return t.fixedToken == ""
}

// requestToken requests a token (RFC 6749 section 4.4) with the client authentication
// that the issuer accepts.
func (t *tokenSource) requestToken(ctx context.Context) (string, error) {
	endpoint, err := t.tokenEndpoint(ctx)
	if err != nil {
		return "", err
	}
	config := clientcredentials.Config{ClientID: t.clientID, ClientSecret: t.clientSecret, TokenURL: endpoint, EndpointParams: t.authParams}
	if !t.authParams.Has("scope") {
		config.Scopes = []string{string(t.scope)}
	}
	token, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, t.client))
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response != nil {
		return "", &statusError{refused.Response.StatusCode, string(bytes.TrimSpace(refused.Body))}
	}
	if err != nil {
		return "", err
	}
	return token.AccessToken, nil
}

// tokenEndpoint finds the issuer's token endpoint.
func (t *tokenSource) tokenEndpoint(ctx context.Context) (string, error) {
	var about struct {
		Servers []string `json:"authorization_servers"`
		Token   string   `json:"token_endpoint"`
	}
	issuer := t.issuer
	if issuer == "" {
		if err := fetchJSON(ctx, t.client, t.server+"/.well-known/oauth-protected-resource", "", &about); err != nil {
			return "", err
		}
		if len(about.Servers) == 0 {
			return "", errors.New("the server names no issuer; use --issuer")
		}
		issuer = about.Servers[0]
	}
	err := fetchJSON(ctx, t.client, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration", "", &about)
	if err == nil && about.Token == "" {
		err = fmt.Errorf("%s names no token_endpoint", issuer)
	}
	return about.Token, err
}
