package auth

import (
	"bytes"
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	fetchTimeout     = 5 * time.Second // for discovery and keys together
	maxDocumentBytes = 1 << 20         // bytes of either document
	minRSABits       = 2048            // bits (RFC 7518 section 3.3)
)

// issuerClient fetches the keys of one issuer. It is used by one fetch at a time.
type issuerClient struct {
	issuer  string
	client  *http.Client
	keysURL string // empty before discovery and after a failure
}

// fetchKeys discovers the keys' address and fetches the keys, within the limits.
func (r *issuerClient) fetchKeys() (keys []jose.JSONWebKey, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
	defer cancel()
	defer func() {
		if err != nil {
			r.keysURL = "" // it may have moved
			err = fmt.Errorf("issuer %s: %w", r.issuer, err)
		}
	}()
	if r.keysURL == "" {
		if r.keysURL, err = r.discoverKeysURL(ctx); err != nil {
			return nil, err
		}
	}
	body, err := r.getDocument(ctx, r.keysURL)
	if err != nil {
		return nil, err
	}
	return parseKeys(body)
}

// discoverKeysURL returns the address of the keys (OpenID Connect Discovery section 4).
// It rejects a document that names another issuer (section 4.3).
func (r *issuerClient) discoverKeysURL(ctx context.Context) (string, error) {
	body, err := r.getDocument(ctx, strings.TrimSuffix(r.issuer, "/")+"/.well-known/openid-configuration")
	if err != nil {
		return "", err
	}
	var document struct {
		Issuer  string `json:"issuer"`
		KeysURL string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(body, &document); err != nil {
		return "", fmt.Errorf("the discovery document: %w", err)
	}
	if document.Issuer != r.issuer {
		return "", fmt.Errorf("the discovery document is of the issuer %q", document.Issuer)
	}
	address, err := url.Parse(document.KeysURL)
	if err != nil || address.Host == "" || address.Scheme != "https" && (address.Scheme != "http" || strings.HasPrefix(r.issuer, "https:")) {
		return "", fmt.Errorf("the discovery document's jwks_uri %q cannot be trusted", document.KeysURL)
	}
	return document.KeysURL, nil
}

func (r *issuerClient) getDocument(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	response, err := r.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", address, response.Status)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxDocumentBytes+1))
	if err == nil && len(body) > maxDocumentBytes {
		err = fmt.Errorf("%s answers more than 1 MiB", address)
	}
	return body, err
}

// parseKeys returns the keys that can verify: public, asymmetric, for signatures, strong
// enough. It skips others, because an issuer may publish newer kinds of keys.
func parseKeys(body []byte) ([]jose.JSONWebKey, error) {
	var document struct {
		Keys []jsontext.Value `json:"keys"`
	}
	if err := json.Unmarshal(body, &document); err != nil {
		return nil, fmt.Errorf("the key set: %w", err)
	}
	var keys []jose.JSONWebKey
	for _, raw := range document.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(raw) != nil || !key.Valid() || !key.IsPublic() || key.Use != "" && key.Use != "sig" {
			continue
		}
		if public, isRSA := key.Key.(*rsa.PublicKey); isRSA && public.N.BitLen() < minRSABits {
			continue
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("the key set has no key that verifies signatures")
	}
	return keys, nil
}

// areSameKeys compares the parts of the keys that verification depends on, in the
// published order.
func areSameKeys(a, b []jose.JSONWebKey) bool {
	return slices.EqualFunc(a, b, func(x, y jose.JSONWebKey) bool {
		left, errLeft := x.MarshalJSON()
		right, errRight := y.MarshalJSON()
		return errLeft == nil && errRight == nil && bytes.Equal(left, right)
	})
}
