package devissuer

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/go-jose/go-jose/v4"
)

// keyring holds the private keys. The first one signs; all are published.
type keyring struct {
	file      string
	algorithm string

	mu   sync.RWMutex
	keys []jose.JSONWebKey
}

func openKeyring(file, algorithm string) (*keyring, error) {
	ring := &keyring{file: file, algorithm: algorithm}
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err == nil {
			return ring, ring.loadKeys(text)
		}
	}
	_, err := ring.rotateKey()
	return ring, err
}

// loadKeys uses encoding/json because the key library supports only that.
func (r *keyring) loadKeys(text []byte) error {
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(text, &set); err != nil {
		return fmt.Errorf("the issuer's key file %s: %w", r.file, err)
	}
	for _, key := range set.Keys {
		if !key.Valid() || key.IsPublic() || key.KeyID == "" || key.Algorithm == "" {
			return fmt.Errorf("the issuer's key file %s has an entry that is not a private key: remove the file", r.file)
		}
	}
	if r.keys = set.Keys; len(r.keys) == 0 {
		return fmt.Errorf("the issuer's key file %s is empty: remove it", r.file)
	}
	return nil
}

func (r *keyring) rotateKey() (string, error) {
	key, err := newKey(r.algorithm)
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys = append([]jose.JSONWebKey{key}, r.keys...)
	return key.KeyID, r.saveFile()
}

func (r *keyring) withdrawKey(id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.IndexFunc(r.keys, func(key jose.JSONWebKey) bool { return key.KeyID == id })
	switch at {
	case -1:
		return fmt.Errorf("the issuer has no key %q", id)
	case 0:
		return fmt.Errorf("the key %q signs: rotate first", id)
	}
	r.keys = slices.Delete(r.keys, at, at+1)
	return r.saveFile()
}

// saveFile replaces the file atomically, readable only by its owner.
func (r *keyring) saveFile() error {
	if r.file == "" {
		return nil
	}
	text, err := json.Marshal(jose.JSONWebKeySet{Keys: r.keys})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(r.file), 0o700); err != nil {
		return err
	}
	// CreateTemp's mode is 0600.
	next, err := os.CreateTemp(filepath.Dir(r.file), filepath.Base(r.file)+".*")
	if err != nil {
		return err
	}
	_, err = next.Write(text)
	if err := errors.Join(err, next.Close()); err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	return os.Rename(next.Name(), r.file)
}

func (r *keyring) currentKey() jose.JSONWebKey {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.keys[0]
}

// publicKeys returns the key set of /jwks.
func (r *keyring) publicKeys() jose.JSONWebKeySet {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var set jose.JSONWebKeySet
	for _, key := range r.keys {
		set.Keys = append(set.Keys, key.Public())
	}
	return set
}

func (r *keyring) signClaims(typ string, claims map[string]any) (string, error) {
	key := r.currentKey()
	options := &jose.SignerOptions{}
	if typ != "" {
		options = options.WithType(jose.ContentType(typ))
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(key.Algorithm), Key: key}, options)
	if err != nil {
		return "", err
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}

// newKey creates a signing key whose id is its thumbprint (RFC 7638).
func newKey(algorithm string) (jose.JSONWebKey, error) {
	var private any
	var err error
	switch algorithm {
	case "ES256":
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "RS256":
		private, err = rsa.GenerateKey(rand.Reader, 2048)
	default:
		err = fmt.Errorf("the development issuer signs with ES256 or RS256, not %s", algorithm)
	}
	if err != nil {
		return jose.JSONWebKey{}, err
	}
	key := jose.JSONWebKey{Key: private, Algorithm: algorithm, Use: "sig"}
	thumb, err := key.Thumbprint(crypto.SHA256)
	key.KeyID = base64.RawURLEncoding.EncodeToString(thumb)
	return key, err
}
