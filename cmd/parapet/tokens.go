package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/go-json-experiment/json"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"parapet/model"
)

// tokens are one access token after the other: a fixed one, or those that a client
// gets by its credentials.
type tokens struct {
	fixed                  string
	clientID, clientSecret string
	issuer                 string     // empty: as the server's metadata says (RFC 9728)
	more                   url.Values // what this issuer wants to be asked with besides
	server                 string
	client                 *http.Client
	scope                  model.Scope

	now string
}

// flags tell a command whose tokens it uses.
func (t *tokens) flags(set *flag.FlagSet) {
	t.more = url.Values{}
	set.StringVar(&t.fixed, "token", "", fmt.Sprintf("access token with the scope %s; PARAPET_TOKEN keeps it out of the list of processes", t.scope))
	set.StringVar(&t.clientID, "client-id", "", "OAuth client that gets tokens by itself, instead of --token")
	set.StringVar(&t.clientSecret, "client-secret", "", "its secret; PARAPET_CLIENT_SECRET")
	set.StringVar(&t.issuer, "issuer", "", "where it gets them; what the server names without it")
	set.Func("token-param", "name=value that the issuer wants to be asked with, such as resource=… or audience=…, or another scope=…; may be repeated", func(text string) error {
		one, err := pairs([]string{text})
		maps.Copy(t.more, one)
		return err
	})
}

// pairs reads name=value.
func pairs(texts []string) (url.Values, error) {
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

// settle takes from the environment what the flags leave open, and refuses when
// there is nothing to get a token with.
func (t *tokens) settle(server string, client *http.Client) error {
	t.server, t.client = server, client
	t.clientSecret = cmp.Or(t.clientSecret, os.Getenv("PARAPET_CLIENT_SECRET"))
	if t.clientID == "" {
		t.fixed = cmp.Or(t.fixed, os.Getenv("PARAPET_TOKEN"))
	}
	if t.fixed == "" && t.clientID == "" {
		return errors.New("name a token by --token, or a client by --client-id and --client-secret")
	}
	return nil
}

// get is a token that was good when it came.
func (t *tokens) get(ctx context.Context) (string, error) {
	if t.fixed != "" {
		return t.fixed, nil
	}
	if t.now == "" {
		var err error
		if t.now, err = t.grant(ctx); err != nil {
			return "", fmt.Errorf("get a token: %w", err)
		}
	}
	return t.now, nil
}

// whose tells clients apart: the id of the client, or what a fixed token says of
// its bearer, which outlives the token.
func (t *tokens) whose() string {
	if t.clientID != "" && t.fixed == "" {
		return t.clientID
	}
	parts := strings.Split(t.fixed, ".")
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
	return t.fixed
}

// forget drops a token that is over, and tells whether another can be had.
func (t *tokens) forget() bool {
	t.now = ""
	return t.fixed == ""
}

// grant asks the issuer (RFC 6749 section 4.4), in the way of identifying itself
// that it takes.
func (t *tokens) grant(ctx context.Context) (string, error) {
	endpoint, err := t.endpoint(ctx)
	if err != nil {
		return "", err
	}
	config := clientcredentials.Config{ClientID: t.clientID, ClientSecret: t.clientSecret, TokenURL: endpoint, EndpointParams: t.more}
	if !t.more.Has("scope") {
		config.Scopes = []string{string(t.scope)}
	}
	token, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, t.client))
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response != nil {
		return "", &refusedError{refused.Response.StatusCode, string(bytes.TrimSpace(refused.Body))}
	}
	if err != nil {
		return "", err
	}
	return token.AccessToken, nil
}

// endpoint finds the issuer's token endpoint.
func (t *tokens) endpoint(ctx context.Context) (string, error) {
	var about struct {
		Servers []string `json:"authorization_servers"`
		Token   string   `json:"token_endpoint"`
	}
	issuer := t.issuer
	if issuer == "" {
		if err := fetchInto(ctx, t.client, t.server+"/.well-known/oauth-protected-resource", "", &about); err != nil {
			return "", err
		}
		if len(about.Servers) == 0 {
			return "", errors.New("the server names no issuer; use --issuer")
		}
		issuer = about.Servers[0]
	}
	err := fetchInto(ctx, t.client, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration", "", &about)
	if err == nil && about.Token == "" {
		err = fmt.Errorf("%s names no token_endpoint", issuer)
	}
	return about.Token, err
}
