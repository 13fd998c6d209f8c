package receipt

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"parapet/model/wire"
)

// KeyStatus says what a key is still good for.
type KeyStatus string

const (
	// KeyActive keys sign receipts, or will: the first one of a server signs.
	KeyActive KeyStatus = "active"
	// KeyRetired keys sign no more; receipts that they signed stay valid.
	KeyRetired KeyStatus = "retired"
	// KeyCompromised keys prove nothing: others may have them.
	KeyCompromised KeyStatus = "compromised"
)

// KeyStatuses lists the statuses of keys.
func KeyStatuses() []string {
	return []string{string(KeyActive), string(KeyRetired), string(KeyCompromised)}
}

// newPublicKey returns the JWK of a key.
func newPublicKey(key ed25519.PublicKey, status KeyStatus) wire.ReceiptKey {
	x := base64.RawURLEncoding.EncodeToString(key)
	return wire.ReceiptKey{Kty: "OKP", Crv: Algorithm, X: x, Kid: thumbprintOf(x), Alg: Algorithm, Use: "sig", Status: string(status)}
}

// thumbprintOf returns the JWK thumbprint of an Ed25519 key (RFC 7638, RFC 8037 appendix
// A.3) in base64url.
func thumbprintOf(x string) string {
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + x + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// parseKey returns a key's bytes.
func parseKey(k wire.ReceiptKey) (ed25519.PublicKey, error) {
	if k.Kty != "OKP" || k.Crv != Algorithm || k.Alg != "" && k.Alg != Algorithm {
		return nil, fmt.Errorf("the key %q is not an Ed25519 key", k.Kid)
	}
	key, err := base64.RawURLEncoding.Strict().DecodeString(k.X)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("the key %q has no 32 bytes of base64url in x", k.Kid)
	}
	if k.Kid != "" && k.Kid != thumbprintOf(k.X) {
		return nil, fmt.Errorf("the key %q has another thumbprint: %s", k.Kid, thumbprintOf(k.X))
	}
	return key, nil
}

// ParseKeySet reads the document of public keys. Every key must be whole and have a
// status.
func ParseKeySet(text []byte) (wire.ReceiptKeySet, error) {
	var set wire.ReceiptKeySet
	if err := json.Unmarshal(text, &set); err != nil {
		return set, fmt.Errorf("the file of keys is not the JSON of /.well-known/parapet-receipt-keys.json: %w", wire.JSONError(err))
	}
	for _, key := range set.Keys {
		if _, err := parseKey(key); err != nil {
			return set, err
		}
		if !slices.Contains(KeyStatuses(), key.Status) {
			return set, fmt.Errorf("the key %q has the status %q: known are active, retired and compromised", key.Kid, key.Status)
		}
	}
	if len(set.Keys) == 0 {
		return set, errors.New("the file of keys has no key")
	}
	return set, nil
}

// Keys are the keys of a server. The first active one signs.
type Keys struct {
	signing ed25519.PrivateKey // nil: the server signs no receipts
	public  []wire.ReceiptKey
}

// NewKeys returns the keys of one active seed of 32 bytes.
func NewKeys(seed []byte) Keys {
	private := ed25519.NewKeyFromSeed(seed)
	return Keys{signing: private, public: []wire.ReceiptKey{newPublicKey(private.Public().(ed25519.PublicKey), KeyActive)}}
}

// publicPrefix marks an entry that is a public key, so that a seed is never published.
const publicPrefix = "x."

// ParseKeys reads entries of the form status:key. The key is the base64 of a seed of 32
// bytes, or x. and the member x of a published key, which only a retired or compromised
// key may be. No entries give keys that sign nothing.
func ParseKeys(entries []string) (Keys, error) {
	var keys Keys
	for i, entry := range entries {
		status, text, _ := strings.Cut(strings.TrimSpace(entry), ":")
		if !slices.Contains(KeyStatuses(), status) {
			return Keys{}, fmt.Errorf("entry %d: use active:, retired: or compromised: and the key", i+1)
		}
		public, private, err := parseKeyText(text)
		switch {
		case err != nil:
			return Keys{}, fmt.Errorf("entry %d: %w", i+1, err)
		case private == nil && KeyStatus(status) == KeyActive:
			return Keys{}, fmt.Errorf("entry %d: an active key is a seed, not a public key", i+1)
		case KeyStatus(status) == KeyActive && keys.signing == nil:
			keys.signing = private
		}
		key := newPublicKey(public, KeyStatus(status))
		if slices.ContainsFunc(keys.public, func(other wire.ReceiptKey) bool { return other.X == key.X }) {
			return Keys{}, fmt.Errorf("entry %d is a key that an earlier entry has", i+1)
		}
		keys.public = append(keys.public, key)
	}
	return keys, nil
}

func parseKeyText(text string) (ed25519.PublicKey, ed25519.PrivateKey, error) {
	if x, ok := strings.CutPrefix(text, publicPrefix); ok {
		key, err := parseKey(wire.ReceiptKey{Kty: "OKP", Crv: Algorithm, X: x})
		return key, nil, err
	}
	seed, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, nil, errors.New("use the base64 of 32 random bytes, or x. and a published public key")
	}
	private := ed25519.NewKeyFromSeed(seed)
	return private.Public().(ed25519.PublicKey), private, nil
}

// CanSign reports whether there is an active key.
func (k Keys) CanSign() bool { return k.signing != nil }

// Public returns the document of the public keys.
func (k Keys) Public() wire.ReceiptKeySet {
	return wire.ReceiptKeySet{Keys: append([]wire.ReceiptKey{}, k.public...)}
}
