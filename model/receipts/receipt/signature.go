package receipt

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parapet/model/wire"
)

// Algorithm is the only signature algorithm of receipts (RFC 9864).
const Algorithm = "Ed25519"

// mediaType is the typ of the signature's header.
const mediaType = "parapet-receipt"

// protectedHeader is the header of the signature. Other members are refused, above all
// jwk, which would let a receipt name the key that it is to be trusted by, and crit.
type protectedHeader struct {
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
	Type      string `json:"typ"`
}

// ErrNoKey reports that the server has no active key.
var ErrNoKey = errors.New("no active key signs receipts")

// Sign returns the receipt of a payload. Equal payloads have equal receipts as long as
// the key stays. Errors: ErrNoKey.
func (k Keys) Sign(payload any) (*wire.Receipt, error) {
	if k.signing == nil {
		return nil, ErrNoKey
	}
	text, err := Canonical(payload)
	if err != nil {
		return nil, err
	}
	key := newPublicKey(k.signing.Public().(ed25519.PublicKey), "")
	header, err := Canonical(protectedHeader{Algorithm: Algorithm, KeyID: key.Kid, Type: mediaType})
	if err != nil {
		return nil, err
	}
	protected := base64.RawURLEncoding.EncodeToString(header)
	signature := ed25519.Sign(k.signing, signingInput(protected, text))
	return &wire.Receipt{
		Payload: text, Key: key, JWS: protected + ".." + base64.RawURLEncoding.EncodeToString(signature),
	}, nil
}

// signingInput is the text that is signed: RFC 7515 section 5.1.
func signingInput(protected string, payload []byte) []byte {
	return []byte(protected + "." + base64.RawURLEncoding.EncodeToString(payload))
}

// Trust says which keys are trusted: those of a file of keys, or the one with a
// thumbprint.
type Trust struct {
	Keys wire.ReceiptKeySet
	Pin  string // RFC 7638 thumbprint; used when Keys is empty
}

// ParseSigned reads a receipt strictly: a truncated one, further members, duplicate names
// and invalid UTF-8 are errors. The payload is made canonical, so that white space and the
// order of members do not matter.
func ParseSigned(text []byte) (*wire.Receipt, error) {
	signed := new(wire.Receipt)
	if err := json.Unmarshal(text, signed, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("this is not a whole receipt: %w", wire.JSONError(err))
	}
	if len(signed.Payload) == 0 || signed.Payload.Kind() != jsontext.KindBeginObject {
		return nil, errors.New("this is not a receipt: it needs payload, key and jws")
	}
	payload, err := CanonicalText(signed.Payload)
	if err != nil {
		return nil, err
	}
	signed.Payload = payload
	return signed, nil
}

// CheckSignature returns the trusted key that signed the receipt, or an error that says
// why the receipt proves nothing.
func CheckSignature(s *wire.Receipt, trust Trust) (wire.ReceiptKey, error) {
	protected, signature, ok := strings.Cut(s.JWS, "..")
	if !ok {
		return wire.ReceiptKey{}, errors.New("jws is not a detached signature, header..signature")
	}
	header, err := parseHeader(protected)
	if err != nil {
		return wire.ReceiptKey{}, err
	}
	key, err := trustedKey(s, trust, header.KeyID)
	if err != nil {
		return key, err
	}
	public, err := parseKey(key)
	if err != nil {
		return key, err
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(signature)
	if err != nil || !ed25519.Verify(public, signingInput(protected, s.Payload), raw) {
		return key, errors.New("the signature does not belong to this payload: the receipt was changed")
	}
	if key.Status == string(KeyCompromised) {
		return key, fmt.Errorf("the key %s is compromised: its signatures prove nothing", key.Kid)
	}
	return key, nil
}

func parseHeader(protected string) (protectedHeader, error) {
	var header protectedHeader
	text, err := base64.RawURLEncoding.Strict().DecodeString(protected)
	if err == nil {
		err = json.Unmarshal(text, &header, json.RejectUnknownMembers(true))
	}
	switch {
	case err != nil:
		return header, fmt.Errorf("the header of the signature is refused; it has alg, kid and typ only: %w", err)
	case header.Algorithm != Algorithm:
		return header, fmt.Errorf("the signature's algorithm is %q; only %s is accepted", header.Algorithm, Algorithm)
	case header.Type != mediaType:
		return header, fmt.Errorf("the signature's typ is %q; only %s is accepted", header.Type, mediaType)
	}
	return header, nil
}

// trustedKey returns the trusted key with an id.
func trustedKey(s *wire.Receipt, trust Trust, id string) (wire.ReceiptKey, error) {
	for _, key := range trust.Keys.Keys {
		if thumbprintOf(key.X) == id {
			return key, nil
		}
	}
	switch {
	case len(trust.Keys.Keys) > 0:
		return wire.ReceiptKey{}, fmt.Errorf("the key %s is not in the file of keys", id)
	case trust.Pin == "":
		return wire.ReceiptKey{}, errors.New("no key is trusted: give the file of the server's keys, or the thumbprint of one")
	case trust.Pin != id || thumbprintOf(s.Key.X) != trust.Pin:
		return wire.ReceiptKey{}, fmt.Errorf("the key %s is not the pinned one, %s", id, trust.Pin)
	}
	return s.Key, nil
}
