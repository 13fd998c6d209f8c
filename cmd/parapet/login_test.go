package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The logins are in a folder that the environment names, so these tests do not run in
// parallel.

// signInAs runs parapet login, and acts as its browser with the address that it prints.
func signInAs(t *testing.T, browse func(address string), args ...string) (string, error) {
	t.Helper()
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := runCommand(t.Context(), append([]string{"login"}, args...), write)
		done <- err
		_ = write.Close()
	}()
	var text bytes.Buffer
	address := regexp.MustCompile(`\n  (http\S+)\n\n`)
	chunk := make([]byte, 4096)
	for seen := false; ; {
		n, err := read.Read(chunk)
		text.Write(chunk[:n])
		if found := address.FindStringSubmatch(text.String()); found != nil && !seen {
			seen = true
			go browse(found[1])
		}
		if err != nil {
			return text.String(), <-done
		}
	}
}

// submitForm signs a user in at the development issuer's form, and follows it back.
func submitForm(t *testing.T, user string) func(string) {
	t.Helper()
	return func(address string) {
		asked, err := url.Parse(address)
		if err != nil {
			t.Error(err)
			return
		}
		form := asked.Query()
		form.Set("user", user)
		asked.RawQuery = ""
		answer, err := http.PostForm(asked.String(), form)
		if err != nil {
			t.Error(err)
			return
		}
		_ = answer.Body.Close()
	}
}

func onlyLoginFile(t *testing.T) (string, login) {
	t.Helper()
	folder, err := settingsFolder()
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(folder, "login-*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	var l login
	require.NoError(t, json.Unmarshal(text, &l))
	return files[0], l
}

func TestLoginAtTheDevelopmentIssuer(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	w := newTestStack(t)
	_, err := commandOutput(t, "ops", "viewer", "--server", w.info.BaseURL)
	require.ErrorContains(t, err, "there is no login at "+w.info.BaseURL+": run parapet login")

	out, err := signInAs(t, submitForm(t, "operator"), "--server", w.info.BaseURL+"/")
	require.NoError(t, err, out)
	require.Contains(t, out, "Signed in at "+w.info.BaseURL+" as operator (operator).")
	file, l := onlyLoginFile(t)
	require.Equal(t, []string{w.info.BaseURL, w.info.Issuer}, []string{l.Server, l.Issuer})
	for _, args := range [][]string{nil, {"--server", w.info.BaseURL}} {
		text, err := commandOutput(t, append([]string{"ops", "viewer"}, args...)...)
		require.NoError(t, err)
		require.Contains(t, text, `"OPERATOR"`)
	}
	_, err = commandOutput(t, "ops", "viewer", "--server", w.info.Issuer)
	require.ErrorContains(t, err, "there is no login at", "the token is for one server")

	l.Server = "https://elsewhere.example.com"
	moved, err := json.Marshal(l)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, moved, 0o600))
	_, err = commandOutput(t, "ops", "viewer", "--server", w.info.BaseURL)
	require.ErrorContains(t, err, "is the login at https://elsewhere.example.com")
	require.NoError(t, os.Chmod(file, 0o644))
	_, err = commandOutput(t, "ops", "viewer", "--server", w.info.BaseURL)
	require.ErrorContains(t, err, "others may read")

	out, err = signInAs(t, submitForm(t, "acme"), "--server", w.info.BaseURL, "--partner")
	require.NoError(t, err, out)
	require.Contains(t, out, "(partner acme)")
	_, _ = onlyLoginFile(t)
	out, err = commandOutput(t, "logout")
	require.ErrorContains(t, err, "is removed here, but not revoked")
	require.ErrorContains(t, err, "the issuer offers no revocation", out)
	require.NoFileExists(t, file)
	_, err = commandOutput(t, "logout", "--server", w.info.BaseURL)
	require.ErrorContains(t, err, "there is no login at")
}

// fakeIssuer answers as an issuer and as the server of its tokens. It is here for answers
// that the development issuer does not give; internal/interop uses a real one.
type fakeIssuer struct {
	*httptest.Server

	mu       sync.Mutex
	metadata map[string]any
	viewer   string
	redirect string // of the server's API
	grants   []url.Values
	revoked  []string
	bearers  []string
}

func newFakeIssuer(t *testing.T) *fakeIssuer {
	t.Helper()
	f := &fakeIssuer{viewer: `{"kind": "PARTNER", "name": "ann", "partner": "acme", "scopes": ["quotes:read"]}`}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-protected-resource", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"authorization_servers": []string{f.URL}})
	})
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(f.metadata) })
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		f.mu.Lock()
		f.grants = append(f.grants, r.PostForm)
		number := string(rune('0' + len(f.grants)))
		f.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token": "access`+number+`", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "refresh`+number+`"}`)
	})
	mux.HandleFunc("POST /device", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"device_code": "d1", "user_code": "WDJB-MJHT", "verification_uri": "https://id.example.com/device", "expires_in": 60, "interval": 1}`)
	})
	mux.HandleFunc("POST /revoke", func(w http.ResponseWriter, r *http.Request) {
		f.revoked = append(f.revoked, r.FormValue("token"))
		if r.FormValue("token_type_hint") == "access_token" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error": "unsupported_token_type"}`)
		}
	})
	mux.HandleFunc("POST /graphql", func(w http.ResponseWriter, r *http.Request) {
		f.bearers = append(f.bearers, r.Header.Get("Authorization"))
		if f.redirect != "" {
			http.Redirect(w, r, f.redirect, http.StatusTemporaryRedirect)
			return
		}
		_, _ = io.WriteString(w, `{"data": {"viewer": `+f.viewer+`}}`)
	})
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	f.metadata = map[string]any{
		"issuer": f.URL, "authorization_endpoint": f.URL + "/authorize", "token_endpoint": f.URL + "/token",
		"revocation_endpoint": f.URL + "/revoke", "device_authorization_endpoint": f.URL + "/device", "scopes_supported": []string{"openid", "offline_access"},
	}
	return f
}

// returnWith sends the browser back with an answer, and reports its status.
func returnWith(t *testing.T, change func(asked, answer url.Values), wantStatus int) func(string) {
	t.Helper()
	return func(address string) {
		parsed, err := url.Parse(address)
		if err != nil {
			t.Error(err)
			return
		}
		asked := parsed.Query()
		answer := url.Values{"state": {asked.Get("state")}, "code": {"c1"}}
		change(asked, answer)
		response, err := http.Get(asked.Get("redirect_uri") + "?" + answer.Encode())
		if err != nil {
			t.Error(err)
			return
		}
		_ = response.Body.Close()
		if response.StatusCode != wantStatus {
			t.Errorf("the callback answers %d", response.StatusCode)
		}
	}
}

func TestPartnerLoginIsRenewedAndRevoked(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	f := newFakeIssuer(t)
	browse := returnWith(t, func(asked, _ url.Values) {
		require.Equal(t, "consent", asked.Get("prompt"), "without it there is no refresh token")
		require.Contains(t, asked.Get("scope"), "offline_access")
		require.Equal(t, "S256", asked.Get("code_challenge_method"))
		require.Equal(t, "urn:own", asked.Get("resource"))
	}, http.StatusOK)
	out, err := signInAs(t, browse, "--server", f.URL, "--partner", "--token-param", "resource=urn:own")
	require.NoError(t, err, out)
	require.Contains(t, out, "and is then renewed")
	file, l := onlyLoginFile(t)
	require.Equal(t, "refresh1", l.RefreshToken)
	require.NotEmpty(t, f.grants[0].Get("code_verifier"))

	l.ExpiresAt = time.Now().Add(expiryMargin / 2)
	require.NoError(t, l.save())
	_, err = commandOutput(t, "ops", "viewer")
	require.NoError(t, err)
	require.Equal(t, "Bearer access2", f.bearers[len(f.bearers)-1])
	require.Equal(t, []string{"refresh_token", "refresh1", "urn:own"}, []string{f.grants[1].Get("grant_type"), f.grants[1].Get("refresh_token"), f.grants[1].Get("resource")})
	_, l = onlyLoginFile(t)
	require.Equal(t, "refresh2", l.RefreshToken, "an issuer may give another one each time")

	out, err = commandOutput(t, "logout")
	require.NoError(t, err)
	require.Contains(t, out, "Signed out at "+f.URL)
	require.ElementsMatch(t, []string{"refresh2", "access2"}, f.revoked)
	require.NoFileExists(t, file)
}

func TestOperatorLoginKeepsNoRefreshToken(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	f := newFakeIssuer(t)
	f.viewer = `{"kind": "OPERATOR", "name": "olive", "partner": null, "scopes": ["operator"]}`
	out, err := signInAs(t, nil, "--server", f.URL, "--device")
	require.NoError(t, err, out)
	require.Contains(t, out, "Open https://id.example.com/device and enter the code WDJB-MJHT.")
	_, l := onlyLoginFile(t)
	require.Empty(t, l.RefreshToken)
	require.Equal(t, "d1", f.grants[0].Get("device_code"))
	l.ExpiresAt = time.Now().Add(-time.Second)
	require.NoError(t, l.save())
	_, err = commandOutput(t, "ops", "viewer")
	require.ErrorContains(t, err, "has expired: run parapet login")
	require.Equal(t, exitRefused, exitCode(err))
	require.Len(t, f.grants, 1)
}

func TestTokensAreSentToNoOtherServer(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	other := newFakeIssuer(t)
	f := newFakeIssuer(t)
	out, err := signInAs(t, nil, "--server", f.URL, "--device")
	require.NoError(t, err, out)
	f.redirect = other.URL + "/graphql"
	_, err = commandOutput(t, "ops", "viewer")
	require.ErrorContains(t, err, "307")
	require.Empty(t, other.bearers)
}

func TestLoginRefusesForeignAnswers(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for name, tc := range map[string]struct { //nolint:paralleltest // it sets the environment
		change func(f *fakeIssuer, answer url.Values)
		says   string
	}{
		"another issuer":   {func(_ *fakeIssuer, answer url.Values) { answer.Set("iss", "https://evil.example.com") }, `that of another issuer, "https://evil.example.com"`},
		"denied":           {func(_ *fakeIssuer, answer url.Values) { answer.Del("code"); answer.Set("error", "access_denied") }, "it refuses: access_denied"},
		"server's refusal": {func(f *fakeIssuer, _ url.Values) { f.redirect = f.URL }, "does not accept the token"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeIssuer(t)
			browse := returnWith(t, func(_, answer url.Values) { tc.change(f, answer) }, http.StatusOK)
			_, err := signInAs(t, browse, "--server", f.URL)
			require.ErrorContains(t, err, tc.says)
			require.Empty(t, onlyServer(), "nothing is stored")
		})
	}
	f := newFakeIssuer(t)
	strange := returnWith(t, func(_, answer url.Values) { answer.Set("state", "another") }, http.StatusBadRequest)
	browse := returnWith(t, func(_, _ url.Values) {}, http.StatusOK)
	_, err := signInAs(t, func(address string) { strange(address); browse(address) }, "--server", f.URL, "--callback", "http://localhost/back")
	require.NoError(t, err, "an answer to another sign-in changes nothing")
}

func TestLoginNeedsTrustworthyAddresses(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	f := newFakeIssuer(t)
	for says, args := range map[string][]string{
		"name the server by --server":   {},
		"is not https":                  {"--server", "http://api.example.com"},
		"--callback: use an address on": {"--server", f.URL, "--callback", "http://api.example.com/back"},
	} {
		_, err := commandOutput(t, append([]string{"login"}, args...)...)
		require.ErrorContains(t, err, says)
		require.Equal(t, exitUsage, exitCode(err))
	}
	for says, change := range map[string]map[string]any{
		"says that it is the issuer": {"issuer": "https://other.example.com"},
		"which is not https":         {"token_endpoint": "http://id.example.com/token"},
		"names no token_endpoint":    {"token_endpoint": ""},
		"offers no device flow":      {"device_authorization_endpoint": ""},
	} {
		f := newFakeIssuer(t)
		for name, value := range change {
			f.metadata[name] = value
		}
		_, err := commandOutput(t, "login", "--server", f.URL, "--device")
		require.ErrorContains(t, err, says)
	}
	for text, private := range map[string]bool{"https://x.example.com": true, "http://localhost:1": true, "http://[::1]:1": true, "http://10.0.0.1": false, "ftp://localhost": false} {
		address, err := url.Parse(text)
		require.NoError(t, err)
		require.Equal(t, private, isPrivateAddress(address), text)
	}
	require.NotContains(t, onlyServer(), "http")
}
