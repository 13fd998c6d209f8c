package wire

import "github.com/go-json-experiment/json/jsontext"

// Receipt is a signed receipt of a quote or a claim. Package receipts/receipt signs and
// verifies it.
type Receipt struct {
	Payload jsontext.Value `json:"payload"` // what is signed, in canonical JSON (RFC 8785)
	Key     ReceiptKey     `json:"key"`     // of the signature; trust comes from elsewhere
	JWS     string         `json:"jws"`     // header..signature, detached (RFC 7515 appendix F)
}

// ReceiptKey is a public key of receipts as a JWK (RFC 8037).
type ReceiptKey struct {
	Kty    string `json:"kty"`             // OKP
	Crv    string `json:"crv"`             // Ed25519
	X      string `json:"x"`               // the key, base64url without padding
	Kid    string `json:"kid"`             // its thumbprint (RFC 7638)
	Alg    string `json:"alg"`             // Ed25519
	Use    string `json:"use"`             // sig
	Status string `json:"status,omitzero"` // active, retired, compromised; none inside a receipt
}

// ReceiptKeySet is the document of a server's public keys of receipts.
type ReceiptKeySet struct {
	Keys []ReceiptKey `json:"keys"`
}
