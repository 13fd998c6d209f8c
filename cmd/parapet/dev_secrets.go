package main

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/go-json-experiment/json"

	"parapet/model/kernel/seal"
)

// devSecrets are the development stack's own keys. They are created once and stored with
// its data, because the sealed data must stay readable.
type devSecrets struct {
	Seal        []byte            `json:"seal"`
	Fingerprint []byte            `json:"fingerprint"`
	Receipt     []byte            `json:"receipt"`
	Clients     map[string]string `json:"clients"`
}

func readSecrets(file string) (devSecrets, error) {
	var s devSecrets
	text, err := os.ReadFile(file) //nolint:gosec // the caller chooses the data folder
	if err == nil {
		if err := json.Unmarshal(text, &s); err != nil {
			return s, fmt.Errorf("%s is damaged; start with --fresh: %w", file, err)
		}
		if len(s.Receipt) == 0 { // of an earlier release
			s.Receipt = randomBytes(32)
			return s, s.save(file)
		}
		return s, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("read development keys: %w", err)
	}
	s = devSecrets{Seal: randomBytes(32), Fingerprint: randomBytes(32), Receipt: randomBytes(32), Clients: map[string]string{}}
	for _, client := range []string{"acme", "globex", "operator", "source"} {
		s.Clients[client] = hex.EncodeToString(randomBytes(16))
	}
	return s, s.save(file)
}

func (s devSecrets) save(file string) error {
	text, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep development keys: %w", err)
	}
	return nil
}

// receiptKeys returns PARAPET_RECEIPT_KEYS of the development stack.
func (s devSecrets) receiptKeys() []string {
	return []string{"active:" + base64.StdEncoding.EncodeToString(s.Receipt)}
}

func (s devSecrets) modelKeys() seal.Keys {
	return seal.Keys{Seal: []seal.Key{{ID: "dev", Secret: s.Seal}}, Fingerprint: s.Fingerprint}
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails; the runtime crashes first
	return b
}
