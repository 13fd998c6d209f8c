package devissuer

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// serveToken is the token endpoint of RFC 6749 section 3.2.
func (i *Issuer) serveToken(w http.ResponseWriter, r *http.Request) {
	form, refused := readForm(r)
	if refused != nil {
		writeJSON(w, http.StatusBadRequest, refused)
		return
	}
	client, refused := i.authenticateClient(r, form)
	if refused != nil {
		status := http.StatusBadRequest
		if refused.Code == "invalid_client" {
			status = http.StatusUnauthorized
			w.Header().Set("WWW-Authenticate", `Basic realm="parapet development issuer"`)
		}
		writeJSON(w, status, refused)
		return
	}
	var body any
	switch form.Get("grant_type") {
	case "client_credentials":
		body, refused = i.grantClientCredentials(client, form)
	case "authorization_code":
		body, refused = i.grantAuthorizationCode(client, form)
	case "":
		refused = &oauthError{"invalid_request", "The parameter grant_type is missing."}
	default:
		refused = &oauthError{"unsupported_grant_type", "The grants are client_credentials and authorization_code."}
	}
	if refused != nil {
		writeJSON(w, http.StatusBadRequest, refused)
		return
	}
	writeJSON(w, http.StatusOK, body)
}

// readForm reads the body's parameters, each at most once (RFC 6749 section 3.2). It
// ignores the query string because addresses are logged.
func readForm(r *http.Request) (url.Values, *oauthError) {
	if err := r.ParseForm(); err != nil {
		return nil, &oauthError{"invalid_request", "The body is not a form of at most 64 KiB."}
	}
	for name, values := range r.PostForm {
		if len(values) > 1 {
			return nil, &oauthError{"invalid_request", "A parameter is given twice: " + toPrintable(name) + "."}
		}
	}
	return r.PostForm, nil
}

// toPrintable replaces characters that an error_description must not contain.
func toPrintable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return '?'
		}
		return r
	}, text)
}

// authenticateClient finds the client by client_secret_basic or client_secret_post.
func (i *Issuer) authenticateClient(r *http.Request, form url.Values) (Client, *oauthError) {
	id, secret := form.Get("client_id"), form.Get("client_secret")
	if user, password, basic := r.BasicAuth(); basic {
		// RFC 6749 section 2.3.1: both are form-encoded before they are joined.
		userID, userErr := url.QueryUnescape(user)
		userSecret, passwordErr := url.QueryUnescape(password)
		if userErr != nil || passwordErr != nil || form.Has("client_secret") || form.Has("client_id") && id != userID {
			return Client{}, &oauthError{"invalid_request", "The client is named in two ways, or its header is not form-encoded."}
		}
		id, secret = userID, userSecret
	}
	client, known := i.clients[id]
	// Compared also for an unknown client, so that the duration reveals nothing.
	if same := equalSecrets(secret, client.Secret); !known || !same {
		return Client{}, &oauthError{"invalid_client", "There is no such client, or its secret is wrong."}
	}
	return client, nil
}

// equalSecrets compares in constant time, independent of the length.
func equalSecrets(given, want string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

func (i *Issuer) grantClientCredentials(client Client, form url.Values) (any, *oauthError) {
	if client.Secret == "" {
		return nil, &oauthError{"unauthorized_client", "A client without a secret has to sign somebody in."}
	}
	scopes, refused := restrictScopes(form.Get("scope"), client.Scopes)
	if refused != nil {
		return nil, refused
	}
	return i.newTokenResponse(client.tokenIdentity(), client.ID, scopes, "")
}

// restrictScopes returns the requested scopes, or all allowed scopes without a request.
// It rejects a scope that is not allowed: a token with fewer scopes would fail later and
// elsewhere.
func restrictScopes(asked string, allowed []string) ([]string, *oauthError) {
	scopes := strings.Fields(asked)
	if len(scopes) == 0 {
		return allowed, nil
	}
	for _, scope := range scopes {
		if !slices.Contains(allowed, scope) {
			return nil, &oauthError{"invalid_scope", "The client may not have the scope " + toPrintable(scope) + "."}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(scopes))), nil
}

// tokenResponse is the success response of RFC 6749 section 5.1.
type tokenResponse struct {
	AccessToken string `json:"access_token"`
	TokenType   string `json:"token_type"`
	ExpiresIn   int64  `json:"expires_in"` // seconds
	Scope       string `json:"scope"`
	IDToken     string `json:"id_token,omitempty"`
}

func (i *Issuer) newTokenResponse(who identity, clientID string, scopes []string, nonce string) (any, *oauthError) {
	body := tokenResponse{
		TokenType: "Bearer", ExpiresIn: int64(i.options.TokenLifetime.Seconds()), Scope: strings.Join(scopes, " "),
	}
	var err error
	if body.AccessToken, err = i.newAccessToken(who, clientID, scopes); err != nil {
		return nil, &oauthError{"server_error", "The token could not be signed."}
	}
	if slices.Contains(scopes, "openid") {
		if body.IDToken, err = i.newIDToken(who, clientID, nonce); err != nil {
			return nil, &oauthError{"server_error", "The token could not be signed."}
		}
	}
	return body, nil
}

// grantAuthorizationCode exchanges the code of a sign-in. A code works once, even if the
// exchange fails, because a second attempt may come from an attacker.
func (i *Issuer) grantAuthorizationCode(client Client, form url.Values) (any, *oauthError) {
	granted, known := i.takeCode(form.Get("code"))
	switch {
	case !known, granted.request.client.ID != client.ID:
		return nil, &oauthError{"invalid_grant", "The code is unknown, used, or older than 60 seconds."}
	case granted.request.redirect != form.Get("redirect_uri"):
		return nil, &oauthError{"invalid_grant", "The redirect_uri is not the one of the sign-in."}
	case !matchesChallenge(form.Get("code_verifier"), granted.request.challenge):
		return nil, &oauthError{"invalid_grant", "The code_verifier does not match the code_challenge."}
	}
	return i.newTokenResponse(granted.identity, client.ID, granted.scopes, granted.request.nonce)
}

// matchesChallenge implements RFC 7636 section 4.6 with S256.
func matchesChallenge(verifier, challenge string) bool {
	if len(verifier) < 43 || len(verifier) > 128 {
		return false
	}
	sum := sha256.Sum256([]byte(verifier))
	return equalSecrets(base64.RawURLEncoding.EncodeToString(sum[:]), challenge)
}
