package signin

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
)

// The cookies. Each is sealed for its own name, so that one cannot be used as the other.
const (
	sessionCookie = "parapet-session"
	pendingCookie = "parapet-sign-in"
)

// session is a signed-in user and the end of the session.
type session struct {
	ID      string    `json:"id"`
	Issuer  string    `json:"issuer"`
	Subject string    `json:"subject"`
	Client  string    `json:"client"`
	Until   time.Time `json:"until"`
}

// pendingSignIn is a sign-in that has begun.
type pendingSignIn struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"`
	To       string    `json:"to"`
	Until    time.Time `json:"until"`
}

// cookieKeys are separate AES-256-GCM keys, derived from the service's keys.
type cookieKeys []cipher.AEAD

func newCookieKeys(keys [][]byte) (cookieKeys, error) {
	var s cookieKeys
	for _, secret := range keys {
		key, err := hkdf.Key(sha256.New, secret, nil, "parapet operators' sign-in", 32)
		if err != nil {
			return nil, fmt.Errorf("sign-in: %w", err)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("sign-in: %w", err)
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, fmt.Errorf("sign-in: %w", err)
		}
		s = append(s, aead)
	}
	if len(s) == 0 {
		return nil, errors.New("sign-in needs a key for its cookies")
	}
	return s, nil
}

// cookieName returns the cookie's name; its prefix makes browsers reject it over http.
func (u *OperatorUI) cookieName(cookie string) string {
	if u.config.InsecureCookies {
		return cookie
	}
	return "__Secure-" + cookie
}

// newCookie sets SameSite=Lax instead of Strict, because the redirect from the issuer and
// a link in a chat come from another site. State changes never use GET, and Guard checks
// their origin.
func (u *OperatorUI) newCookie(name, value string, seconds int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure except in development
		Name: u.cookieName(name), Value: value, Path: Path, MaxAge: seconds,
		Secure: !u.config.InsecureCookies, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}

func (u *OperatorUI) setSealedCookie(w http.ResponseWriter, name string, value any, until time.Time) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	sealed := u.cookieKeys[0].Seal(nil, nil, text, []byte(name)) //nolint:gosec // the cipher draws the nonce
	life := until.Sub(u.config.Now())
	http.SetCookie(w, u.newCookie(name, base64.RawURLEncoding.EncodeToString(sealed), max(1, int(life.Seconds()))))
	return nil
}

func (u *OperatorUI) deleteCookie(w http.ResponseWriter, name string) {
	http.SetCookie(w, u.newCookie(name, "", -1))
}

// openSealedCookie opens one of our cookies; several of the same name count as none.
func (u *OperatorUI) openSealedCookie(r *http.Request, name string, value any) bool {
	found := r.CookiesNamed(u.cookieName(name))
	if len(found) != 1 {
		return false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(found[0].Value)
	if err != nil {
		return false
	}
	for _, key := range u.cookieKeys {
		if text, err := key.Open(nil, nil, sealed, []byte(name)); err == nil {
			return json.Unmarshal(text, value) == nil
		}
	}
	return false
}
