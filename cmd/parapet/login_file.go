package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// login is a stored sign-in. Its access token is sent to the server only, and its refresh
// token to the issuer's token endpoint only.
type login struct {
	Server       string     `json:"server"`
	Issuer       string     `json:"issuer"`
	ClientID     string     `json:"client_id"`
	Params       url.Values `json:"params,omitempty"`
	AccessToken  string     `json:"access_token"`
	RefreshToken string     `json:"refresh_token,omitempty"` // never an operator's
	ExpiresAt    time.Time  `json:"expires_at"`
}

// expiryMargin is how long before its expiry an access token is not used any more.
const expiryMargin = 10 * time.Second

func (l *login) isExpired(now time.Time) bool {
	return !l.ExpiresAt.IsZero() && now.Add(expiryMargin).After(l.ExpiresAt)
}

// loginPrefix begins the names of the files of logins, one for each server.
const loginPrefix = "login-"

// settingsFolder is the folder of this user's files.
func settingsFolder() (string, error) {
	folder, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	folder = filepath.Join(folder, "parapet")
	return folder, os.MkdirAll(folder, 0o700)
}

func loginFile(server string) (string, error) {
	folder, err := settingsFolder()
	sum := sha256.Sum256([]byte(server))
	return filepath.Join(folder, loginPrefix+hex.EncodeToString(sum[:8])+".json"), err
}

// readLogin returns the login at a server; nil without one.
func readLogin(server string) (*login, error) {
	file, err := loginFile(server)
	if err != nil {
		return nil, err
	}
	l, err := readLoginFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && l.Server != server {
		err = fmt.Errorf("%s is the login at %s; remove it, and sign in again by parapet login --server %s", file, l.Server, server)
	}
	return l, err
}

func readLoginFile(file string) (*login, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("others may read %s: sign in again by parapet login, which writes it for you only", file)
	}
	text, err := os.ReadFile(file) //nolint:gosec // in the user's own folder
	if err != nil {
		return nil, err
	}
	l := new(login)
	if err := json.Unmarshal(text, l); err != nil {
		return nil, fmt.Errorf("%s is damaged; sign in again by parapet login: %w", file, err)
	}
	return l, nil
}

// save replaces the file at once, so that no other process reads half of it.
func (l *login) save() error {
	file, err := loginFile(l.Server)
	if err != nil {
		return err
	}
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), "new-") // for the user only, 0600
	if err != nil {
		return err
	}
	_, err = temporary.Write(text)
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
	}
	return err
}

// onlyServer returns the server of the only login; empty when there are none or several.
func onlyServer() string {
	folder, err := settingsFolder()
	if err != nil {
		return ""
	}
	files, _ := filepath.Glob(filepath.Join(folder, loginPrefix+"*.json"))
	if len(files) != 1 {
		return ""
	}
	l, err := readLoginFile(files[0])
	if err != nil {
		return ""
	}
	return l.Server
}

// parseOrigin returns an origin to which a token may be sent: https, or this machine.
func parseOrigin(text string) (string, error) {
	origin, err := url.Parse(strings.TrimSuffix(text, "/"))
	switch {
	case err != nil || origin.Host == "" || origin.Path != "" || origin.User != nil:
		return "", usageError{errors.New("name the server by --server, such as https://api.example.com")}
	case !isPrivateAddress(origin):
		return "", usageError{fmt.Errorf("%s is not https: others could read the token on its way", text)}
	}
	return origin.Scheme + "://" + strings.ToLower(origin.Host), nil
}

// isPrivateAddress reports whether others cannot read what is sent to an address.
func isPrivateAddress(address *url.URL) bool {
	ip := net.ParseIP(address.Hostname())
	return address.Scheme == "https" || address.Scheme == "http" && (address.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}
