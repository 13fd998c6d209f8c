// Package receipt is the signed record of a quote or of a claim's decisions, from which
// anyone can recompute price, determination and amounts without the database.
//
// A signed receipt (wire.Receipt) has a payload in canonical JSON (RFC 8785) and a detached JWS over it
// with Ed25519 (RFC 7515 appendix F, RFC 9864); signature.go signs and checks it, keys.go
// has the key sets. payload.go has the members of payloads and facts.go the readings that
// a determination was computed from. Verify (verify.go) recomputes every computed member
// and names those that differ. versions.go is the registry of the functions that compute
// triggers and prices: a version is added only when results change.
//
// The package is pure: no states, no locks, no clock. Package receipts assembles payloads
// from the database.
package receipt
