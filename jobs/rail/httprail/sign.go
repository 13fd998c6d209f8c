package httprail

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers of a signed message.
const (
	headerKey       = "Idempotency-Key"
	headerTimestamp = "Parapet-Timestamp"
	headerSignature = "Parapet-Signature"
	signaturePrefix = "v1="
)

// maxClockSkew is the largest accepted difference between the clocks of both sides.
const maxClockSkew = 5 * time.Minute

// Secrets sign and verify: the first signs, all verify, so that a secret can be rotated
// while both are valid.
type Secrets [][]byte

// ParseSecrets reads secrets of at least 32 bytes each, in base64.
func ParseSecrets(texts []string) (Secrets, error) {
	var secrets Secrets
	for _, text := range texts {
		secret, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(secret) < 32 {
			return nil, errors.New("use base64 of at least 32 random bytes")
		}
		secrets = append(secrets, secret)
	}
	if len(secrets) == 0 {
		return nil, errors.New("a secret is needed: base64 of at least 32 random bytes")
	}
	return secrets, nil
}

func signParts(secret []byte, parts ...string) string {
	mac := hmac.New(sha256.New, secret)
	_, _ = mac.Write([]byte(strings.Join(parts, "\n")))
	return signaturePrefix + hex.EncodeToString(mac.Sum(nil))
}

func (s Secrets) verifySignature(signature string, parts ...string) bool {
	valid := false
	for _, secret := range s {
		if hmac.Equal([]byte(signature), []byte(signParts(secret, parts...))) {
			valid = true
		}
	}
	return valid
}

func bodyDigest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// requestParts returns what a request's signature covers.
func requestParts(r *http.Request, body []byte) []string {
	return []string{r.Method, r.URL.RequestURI(), r.Header.Get(headerTimestamp), r.Header.Get(headerKey), bodyDigest(body)}
}

// SignRequest signs a request of either side.
func (s Secrets) SignRequest(r *http.Request, body []byte, now time.Time) {
	r.Header.Set(headerTimestamp, strconv.FormatInt(now.Unix(), 10))
	r.Header.Set(headerSignature, signParts(s[0], requestParts(r, body)...))
}

// VerifyRequest reports whether the other side signed a request within maxClockSkew of
// now.
func (s Secrets) VerifyRequest(r *http.Request, body []byte, now time.Time) bool {
	seconds, err := strconv.ParseInt(r.Header.Get(headerTimestamp), 10, 64)
	age := now.Sub(time.Unix(seconds, 0)).Abs()
	return err == nil && age <= maxClockSkew && s.verifySignature(r.Header.Get(headerSignature), requestParts(r, body)...)
}

// SignResponse signs the answer to a request. The signature covers the request's
// signature, so that no answer can be used for another request.
func (s Secrets) SignResponse(header http.Header, status int, request string, body []byte) {
	header.Set(headerSignature, signParts(s[0], "response", strconv.Itoa(status), request, bodyDigest(body)))
}

func (s Secrets) verifyResponse(response *http.Response, request string, body []byte) bool {
	return s.verifySignature(response.Header.Get(headerSignature), "response", strconv.Itoa(response.StatusCode), request, bodyDigest(body))
}
