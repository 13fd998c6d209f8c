package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Key is a named AES-256 key.
type Key struct {
	ID     string // at most 32 bytes; stored with each sealed value
	Secret []byte // 32 bytes
}

// Keys are the secrets of the domain. Every Seal key decrypts, the first one encrypts,
// so that keys can be rotated while both are known. Fingerprint never rotates, because
// equal accounts must keep equal fingerprints.
type Keys struct {
	Seal        []Key
	Fingerprint []byte // at least 32 bytes
}

// Check returns an error that names a fault of the keys, nil if there is none.
func (k Keys) Check() error {
	if len(k.Seal) == 0 || len(k.Fingerprint) < 32 {
		return errors.New("keys: one seal key of 32 bytes and a fingerprint key of at least 32 bytes are needed")
	}
	for i, key := range k.Seal {
		if slices.ContainsFunc(k.Seal[:i], func(other Key) bool { return other.ID == key.ID }) {
			return fmt.Errorf("keys: two seal keys have the name %q; give each key its own name", key.ID)
		}
		if len(key.Secret) != 32 || key.ID == "" || len(key.ID) > 32 {
			return fmt.Errorf("keys: seal key %q needs a name of at most 32 bytes and 32 bytes of secret", key.ID)
		}
	}
	return nil
}

// cursorLabel separates the cursor keys from the keys they are derived from.
const cursorLabel = "parapet list cursors v1"

// DeriveCursorKeys derives the keys that seal cursors (HKDF, RFC 5869). Callers can
// have any number of cursors sealed and send any text to be opened; the keys of stored
// secrets are used for neither. A cursor becomes invalid when the seal key it was
// derived from is removed.
func (k Keys) DeriveCursorKeys() (Keys, error) {
	derived := Keys{Seal: make([]Key, len(k.Seal))}
	for i, key := range k.Seal {
		secret, err := hkdf.Key(sha256.New, key.Secret, nil, cursorLabel, len(key.Secret))
		if err != nil {
			return Keys{}, fmt.Errorf("derive the key of cursors: %w", err)
		}
		derived.Seal[i] = Key{ID: key.ID, Secret: secret}
	}
	return derived, nil
}

// ColumnContext binds a secret to the row and column it was sealed for, so that a
// ciphertext copied elsewhere cannot be opened.
func ColumnContext(partner string, id uuid.UUID, column string) []byte {
	return []byte(partner + "/" + id.String() + "/" + column)
}

// nonceSize is the length of a nonce of AES-GCM, in bytes.
const nonceSize = 12

// SealBytes encrypts with the first key: length of the key's id, the id, nonce,
// AES-256-GCM ciphertext.
func (k Keys) SealBytes(plain, bound []byte) ([]byte, error) {
	nonce := make([]byte, nonceSize)
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	return k.sealWith(nonce, plain, bound)
}

// nonceLabel separates the key of the nonces from the key that seals.
const nonceLabel = "parapet nonces of cursors v1"

// SealCursor is SealBytes, in base64url, with equal results for equal arguments, so that equal
// pages have equal cursors and an equal ETag. The nonce is a MAC of the arguments (the
// construction of SIV, RFC 5297): different arguments have different nonces, and a
// result reveals no more than that two arguments are equal.
func (k Keys) SealCursor(plain, bound []byte) (string, error) {
	secret, err := hkdf.Key(sha256.New, k.Seal[0].Secret, nil, nonceLabel, sha256.Size)
	if err != nil {
		return "", fmt.Errorf("derive the key of nonces: %w", err)
	}
	mac := hmac.New(sha256.New, secret)
	_, _ = mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(bound)))) // where bound ends
	_, _ = mac.Write(bound)
	_, _ = mac.Write(plain)
	sealed, err := k.sealWith(mac.Sum(nil)[:nonceSize], plain, bound)
	return base64.RawURLEncoding.EncodeToString(sealed), err
}

// OpenCursor decrypts what SealCursor encrypted for the same place.
func (k Keys) OpenCursor(cursor string, bound []byte) ([]byte, error) {
	sealed, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return nil, fmt.Errorf("cursor: %w", err)
	}
	return k.OpenBytes(sealed, bound)
}

func (k Keys) sealWith(nonce, plain, bound []byte) ([]byte, error) {
	key := k.Seal[0]
	aead, err := newGCM(key.Secret)
	if err != nil {
		return nil, err
	}
	out := append([]byte{byte(len(key.ID))}, key.ID...) //nolint:gosec // check keeps names below 33 bytes
	return aead.Seal(append(out, nonce...), nonce, plain, bound), nil
}

// ErrUnsealFailed reports a sealed text that does not open.
var ErrUnsealFailed = errors.New("sealed text does not open: wrong key, wrong place or damaged")

// OpenBytes decrypts what SealBytes encrypted for the same place.
func (k Keys) OpenBytes(sealed, bound []byte) ([]byte, error) {
	if len(sealed) < 1 || len(sealed) < 1+int(sealed[0]) {
		return nil, ErrUnsealFailed
	}
	idEnd := 1 + int(sealed[0]) // as an int: 255 + 1 does not fit a byte
	id, rest := string(sealed[1:idEnd]), sealed[idEnd:]
	for _, key := range k.Seal {
		if key.ID != id {
			continue
		}
		aead, err := newGCM(key.Secret)
		if err != nil {
			return nil, err
		}
		if len(rest) < nonceSize {
			return nil, ErrUnsealFailed
		}
		plain, err := aead.Open(nil, rest[:nonceSize], rest[nonceSize:], bound)
		if err != nil {
			return nil, ErrUnsealFailed
		}
		return plain, nil
	}
	return nil, fmt.Errorf("%w: no key %q", ErrUnsealFailed, id)
}

func newGCM(secret []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// ComputeFingerprint returns a text that is equal for equal accounts of one partner and
// reveals nothing else.
func (k Keys) ComputeFingerprint(parts ...string) string {
	mac := hmac.New(sha256.New, k.Fingerprint)
	_, _ = mac.Write([]byte(strings.Join(parts, "\x00")))
	return "fp_" + hex.EncodeToString(mac.Sum(nil))[:32]
}
