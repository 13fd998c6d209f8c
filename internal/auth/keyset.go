package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	// fetchInterval is the minimum time between two key fetches from an issuer, failed
	// ones included, so that forged tokens cannot cause load on it.
	fetchInterval = 30 * time.Second
	// startInterval replaces fetchInterval for readiness probes while no key is known.
	startInterval = 2 * time.Second
	// Keys older than refreshAge are refreshed in the background; a token waits for the
	// refresh of keys older than maxKeyAge. With the minute for which a verified token is
	// cached, a withdrawn key stops working within five minutes.
	refreshAge = 3 * time.Minute
	maxKeyAge  = 4 * time.Minute
)

var (
	errSignature = errors.New("its signature does not verify with the issuer's keys")
	errNoKeys    = errors.New("the issuer's keys are not known yet")
)

// keySet is one issuer's keys. Known keys keep working while the issuer is down, and the
// service starts before its issuer.
type keySet struct {
	remote   issuerClient
	now      func() time.Time
	onChange func() // called after the keys have changed

	mu          sync.Mutex
	keys        []jose.JSONWebKey
	lastFetchAt time.Time     // start of the last fetch, also of a failed one
	lastError   error         // of the last fetch
	fetchDone   chan struct{} // closed when the running fetch has ended; nil without one
}

func newKeySet(issuer string, client *http.Client, now func() time.Time, changed func()) *keySet {
	return &keySet{remote: issuerClient{issuer: issuer, client: client}, now: now, onChange: changed}
}

// VerifySignature implements go-oidc's key set. If no known key verifies the token, it
// fetches the keys, unless they were just fetched: the key may be new, even under the id
// of an old one.
func (s *keySet) VerifySignature(ctx context.Context, raw string) ([]byte, error) {
	// go-oidc has already checked the token's algorithm.
	token, err := jose.ParseSignedCompact(raw, knownAlgorithms)
	if err != nil {
		return nil, err
	}
	keys, err := s.currentKeys(ctx)
	if err != nil {
		return nil, err
	}
	payload, err := verifySignature(keys, token)
	if err == nil {
		return payload, nil
	}
	fetched, refreshErr := s.refreshKeys(ctx, fetchInterval)
	if refreshErr != nil {
		return nil, refreshErr
	}
	if &fetched[0] == &keys[0] { // unchanged
		return nil, err
	}
	return verifySignature(fetched, token)
}

// verifySignature tries the keys that match the token's header.
func verifySignature(keys []jose.JSONWebKey, token *jose.JSONWebSignature) ([]byte, error) {
	header := token.Signatures[0].Header
	for _, key := range keys {
		if header.KeyID != "" && key.KeyID != header.KeyID || key.Algorithm != "" && key.Algorithm != header.Algorithm {
			continue
		}
		if payload, err := token.Verify(key); err == nil {
			return payload, nil
		}
	}
	return nil, errSignature
}

// currentKeys returns the keys, not older than maxKeyAge if the issuer can be reached.
func (s *keySet) currentKeys(ctx context.Context) ([]jose.JSONWebKey, error) {
	s.mu.Lock()
	keys, age := s.keys, s.now().Sub(s.lastFetchAt)
	due := refreshAge
	if s.lastError != nil {
		due = fetchInterval
	}
	if len(keys) > 0 && age >= due && age < maxKeyAge {
		s.startFetch() //nolint:contextcheck // the fetch serves all requests: none may cancel it
	}
	s.mu.Unlock()
	if len(keys) == 0 || age >= maxKeyAge {
		return s.refreshKeys(ctx, fetchInterval)
	}
	return keys, nil
}

// refreshKeys fetches the keys or waits for the running fetch, unless the last fetch was
// less than interval ago. If it fails, the known keys keep working.
func (s *keySet) refreshKeys(ctx context.Context, interval time.Duration) ([]jose.JSONWebKey, error) {
	s.mu.Lock()
	if s.fetchDone == nil && s.now().Sub(s.lastFetchAt) >= interval {
		s.startFetch() //nolint:contextcheck // the fetch serves all requests: none may cancel it
	}
	flight := s.fetchDone
	s.mu.Unlock()
	if flight != nil {
		select {
		case <-flight:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.keys) == 0 {
		return nil, fmt.Errorf("%w: %w", errNoKeys, errors.Join(s.lastError))
	}
	return s.keys, nil
}

// startFetch starts a fetch unless one is running. The caller holds the lock. The fetch
// is independent of any caller's context, so a caller that leaves does not end it for the
// others.
func (s *keySet) startFetch() {
	if s.fetchDone != nil {
		return
	}
	s.lastFetchAt, s.fetchDone = s.now(), make(chan struct{})
	go s.fetchKeys(s.fetchDone)
}

func (s *keySet) fetchKeys(flight chan struct{}) {
	keys, err := s.remote.fetchKeys()
	s.mu.Lock()
	s.lastError, s.fetchDone = err, nil
	others := err == nil && !areSameKeys(s.keys, keys)
	if others {
		s.keys = keys
	}
	s.mu.Unlock()
	if others {
		s.onChange()
	}
	close(flight)
}

// checkReady returns nil once keys are known, even if the issuer is down later.
func (s *keySet) checkReady(ctx context.Context) error {
	s.mu.Lock()
	known := len(s.keys) > 0
	s.mu.Unlock()
	if known {
		return nil
	}
	_, err := s.refreshKeys(ctx, startInterval)
	return err
}
