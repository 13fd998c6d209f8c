package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"

	"parapet/model"
)

// tokens are one access token after the other: a fixed one, or those that a client
// gets by its credentials.
type tokens struct {
	fixed                  string
	clientID, clientSecret string
	issuer                 string // empty: as the server's metadata says (RFC 9728)
	server                 string
	client                 *http.Client
	scope                  string // events:read when empty

	now string
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

// grant asks the issuer (RFC 6749 section 4.4).
func (t *tokens) grant(ctx context.Context) (string, error) {
	endpoint, err := t.endpoint(ctx)
	if err != nil {
		return "", err
	}
	form := url.Values{"grant_type": {"client_credentials"}, "scope": {cmp.Or(t.scope, string(model.ScopeEventsRead))}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.SetBasicAuth(url.QueryEscape(t.clientID), url.QueryEscape(t.clientSecret))
	var granted struct {
		Token string `json:"access_token"`
	}
	body, err := answerOf(t.client, request)
	if err != nil {
		return "", err
	}
	err = json.Unmarshal(body, &granted)
	return granted.Token, err
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
	return about.Token, err
}
