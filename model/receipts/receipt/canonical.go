package receipt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"parapet/model/wire"
)

// Canonical returns a value as canonical JSON (RFC 8785): members in order of their names,
// the shortest strings and numbers, no white space. Numbers are doubles, as RFC 8785
// demands: integers beyond 2^53 lose digits, which amounts of money never reach.
func Canonical(value any) (jsontext.Value, error) {
	a := wire.NewAppender(1024)
	if appendCanonicalRecord(a, value) {
		if text, err := a.Text(); err == nil {
			return text, nil
		}
	}
	text, err := wire.Encode(value)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return CanonicalText(text)
}

// CanonicalText returns JSON text in canonical form. It refuses duplicate names and
// invalid UTF-8.
func CanonicalText(text []byte) (jsontext.Value, error) {
	value := jsontext.Value(text).Clone()
	if err := value.Canonicalize(); err != nil {
		return nil, fmt.Errorf("write canonical JSON: %w", err)
	}
	return value, nil
}

// Digest returns "sha256:" and the SHA-256 of a text in hexadecimal.
func Digest(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// TermsHash returns the digest of {"cover", "product", "product_version"}.
func TermsHash(product string, version int, cover jsontext.Value) (string, error) {
	text, err := Canonical(struct {
		Cover   jsontext.Value `json:"cover"`
		Product string         `json:"product"`
		Version int            `json:"product_version"`
	}{cover, product, version})
	return Digest(text), err
}
