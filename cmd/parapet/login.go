package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/spf13/cobra"
	"golang.org/x/oauth2"

	"parapet/model/kernel/actor"
)

// signInTimeout leaves time for a password and a second factor.
const signInTimeout = 10 * time.Minute

// loginOptions are the flags of parapet login.
type loginOptions struct {
	server, issuer, client string
	callback               string // loopback address to which the issuer returns
	asPartner, device      bool
	params                 url.Values
}

// newLoginCommand signs a person in.
func newLoginCommand() *cobra.Command {
	o := loginOptions{params: url.Values{}}
	cmd := &cobra.Command{
		Use: "login", Short: "sign in at a server, in a browser", Args: noArguments,
		Example: "  parapet login --server https://api.example.com\n  parapet login --server https://api.example.com --device   # on a machine without a browser",
		Long: `parapet login signs you in at the issuer that the server names, and stores the token in a file that only you can read.
parapet ops and parapet listen send it to that server and to no other.

A browser opens on this machine (OAuth with PKCE). With --device, sign in on any other device (RFC 8628).
An operator signs in again when the access token has expired; a partner's login is renewed if the issuer allows it.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runLogin(cmd.Context(), o, cmd.OutOrStdout()) },
	}
	set := cmd.Flags()
	set.StringVar(&o.server, "server", "", "origin of the server, https://api.example.com; PARAPET_SERVER")
	set.StringVar(&o.issuer, "issuer", "", "the issuer that signs you in (default: the first one that the server names)")
	set.StringVar(&o.client, "client-id", "console", "public OAuth client at the issuer, which may return to --callback or use the device flow")
	set.StringVar(&o.callback, "callback", "http://127.0.0.1/callback", "address on this machine to which the issuer returns; without a port, any free one")
	set.BoolVar(&o.asPartner, "partner", false, "ask for the scopes of a partner instead of operator")
	set.BoolVar(&o.device, "device", false, "sign in on another device")
	addParamFlag(set, &o.params)
	return cmd
}

func runLogin(ctx context.Context, o loginOptions, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, signInTimeout)
	defer cancel()
	server, err := parseOrigin(cmp.Or(o.server, os.Getenv("PARAPET_SERVER")))
	if err != nil {
		return err
	}
	source := tokenSource{server: server, issuer: o.issuer, client: newAPIClient(time.Minute), clientID: o.client, authParams: o.params}
	issuer, err := source.discoverIssuer(ctx)
	if err == nil {
		err = issuer.checkFor(source.issuer)
	}
	if err != nil {
		return err
	}
	config := source.publicClient(issuer)
	config.Scopes = o.scopes(issuer)
	ctx = context.WithValue(ctx, oauth2.HTTPClient, source.client)
	var token *oauth2.Token
	if o.device || config.Endpoint.AuthURL == "" {
		token, err = source.signInOnDevice(ctx, config, out)
	} else {
		token, err = source.signInWithBrowser(ctx, config, o.callback, out)
	}
	if err != nil {
		return fmt.Errorf("sign in at %s: %w", source.issuer, readableOAuthError(err))
	}
	return source.saveLogin(ctx, token, out)
}

// checkFor returns an error unless this is the metadata of the issuer (RFC 8414 section
// 3.3), and tokens reach it unread.
func (m issuerMetadata) checkFor(issuer string) error {
	if m.Issuer != issuer {
		return fmt.Errorf("%s says that it is the issuer %q: name that one by --issuer if you trust it", issuer, m.Issuer)
	}
	for _, endpoint := range []string{m.Authorization, m.Token, m.Device, m.Revocation} {
		if address, err := url.Parse(endpoint); endpoint != "" && (err != nil || !isPrivateAddress(address)) {
			return fmt.Errorf("%s names %s, which is not https: others could read the token on its way", issuer, endpoint)
		}
	}
	return nil
}

// scopes returns what to ask for. A refresh token is asked for a partner only.
func (o loginOptions) scopes(issuer issuerMetadata) []string {
	if !o.asPartner {
		return []string{oidc.ScopeOpenID, string(actor.ScopeOperator)}
	}
	scopes := append([]string{oidc.ScopeOpenID}, scopeNames(actor.PartnerScopes()...)...)
	if slices.Contains(issuer.Scopes, oidc.ScopeOfflineAccess) {
		scopes = append(scopes, oidc.ScopeOfflineAccess)
	}
	return scopes
}

// signInOnDevice lets the person sign in elsewhere, and polls (RFC 8628).
func (t *tokenSource) signInOnDevice(ctx context.Context, config *oauth2.Config, out io.Writer) (*oauth2.Token, error) {
	if config.Endpoint.DeviceAuthURL == "" {
		return nil, errors.New("this issuer offers no device flow; leave out --device, on a machine with a browser")
	}
	pending, err := config.DeviceAuth(ctx, t.paramOptions()...)
	if err != nil {
		return nil, err
	}
	_, _ = fmt.Fprintf(out, "Open %s and enter the code %s.\n", pending.VerificationURI, pending.UserCode)
	if pending.VerificationURIComplete != "" {
		_, _ = fmt.Fprintf(out, "Or open %s\n", pending.VerificationURIComplete)
	}
	return config.DeviceAccessToken(ctx, pending, t.paramOptions()...)
}

// signInWithBrowser receives the code at a loopback address (RFC 8252 section 7.3). State
// ties the response to this process, and PKCE ties the code to it.
func (t *tokenSource) signInWithBrowser(ctx context.Context, config *oauth2.Config, returnTo string, out io.Writer) (*oauth2.Token, error) {
	callback, err := url.Parse(returnTo)
	if err != nil || callback.Scheme != "http" || !isPrivateAddress(callback) {
		return nil, usageError{errors.New("--callback: use an address on this machine, http://127.0.0.1/callback")}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(callback.Hostname(), cmp.Or(callback.Port(), "0")))
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	callback.Host = net.JoinHostPort(callback.Hostname(), port)
	config.RedirectURL = callback.String()
	state, verifier := rand.Text(), oauth2.GenerateVerifier()
	options := append(t.paramOptions(), oauth2.S256ChallengeOption(verifier))
	if slices.Contains(config.Scopes, oidc.ScopeOfflineAccess) {
		options = append(options, oauth2.SetAuthURLParam("prompt", "consent")) // OpenID Connect Core section 11
	}
	address := config.AuthCodeURL(state, options...)
	_, _ = fmt.Fprintf(out, "Sign in at\n\n  %s\n\n", address)
	if isTerminal(out) {
		openBrowser(ctx, address)
	}
	answers := make(chan url.Values, 1)
	server := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: callbackHandler(cmp.Or(callback.Path, "/"), state, answers)}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Shutdown(context.WithoutCancel(ctx)) }()
	var answer url.Values
	select {
	case answer = <-answers:
	case <-ctx.Done():
		return nil, errors.New("no sign-in arrived; run it again")
	}
	switch {
	case cmp.Or(answer.Get("iss"), t.issuer) != t.issuer: // RFC 9207
		return nil, fmt.Errorf("the answer is that of another issuer, %q", answer.Get("iss"))
	case answer.Get("code") == "":
		return nil, fmt.Errorf("it refuses: %s", strings.TrimSpace(answer.Get("error")+" "+answer.Get("error_description")))
	}
	return config.Exchange(ctx, answer.Get("code"), append(t.paramOptions(), oauth2.VerifierOption(verifier))...)
}

// callbackHandler passes on the first answer that has the state.
func callbackHandler(path, state string, answers chan<- url.Values) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if query := r.URL.Query(); query.Get("state") == state {
			select {
			case answers <- maps.Clone(query):
				_, _ = io.WriteString(w, "Return to the terminal. You can close this page.\n")
				return
			default:
			}
		}
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, "This is not the answer to a sign-in that waits here.\n")
	})
	return mux
}

// openBrowser opens an address if the machine has a browser; it is printed in any case.
func openBrowser(ctx context.Context, address string) {
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	_ = exec.CommandContext(context.WithoutCancel(ctx), program, address).Start() //nolint:gosec // the issuer's address, as one argument
}

// saveLogin asks the server who the token is for, and stores the login if it accepts it.
// An operator's refresh token is not stored: the issuer decides each time.
func (t *tokenSource) saveLogin(ctx context.Context, token *oauth2.Token, out io.Writer) error {
	l := &login{
		Server: t.server, Issuer: t.issuer, ClientID: t.clientID, Params: t.authParams,
		AccessToken: token.AccessToken, RefreshToken: token.RefreshToken, ExpiresAt: token.Expiry.UTC(),
	}
	var answer struct {
		Data struct {
			Viewer struct {
				Kind    string   `json:"kind"`
				Name    string   `json:"name"`
				Partner string   `json:"partner"`
				Scopes  []string `json:"scopes"`
			} `json:"viewer"`
		} `json:"data"`
	}
	query := []byte(`{"query": "{ viewer { kind name partner scopes } }"}`)
	if err := sendJSON(ctx, t.client, http.MethodPost, t.server+"/graphql", l.AccessToken, query, &answer); err != nil {
		return fmt.Errorf("%s does not accept the token of %s: %w", t.server, t.issuer, err)
	}
	who := answer.Data.Viewer
	if who.Kind == "" {
		return fmt.Errorf("%s answers not as Parapet does: is it the server's origin?", t.server)
	}
	if slices.Contains(who.Scopes, string(actor.ScopeOperator)) || who.Partner == "" {
		l.RefreshToken = ""
	}
	if err := l.save(); err != nil {
		return fmt.Errorf("store the login: %w", err)
	}
	renewal := ""
	if l.RefreshToken != "" {
		renewal = ", and is then renewed"
	}
	_, err := fmt.Fprintf(out, "Signed in at %s as %s (%s). The token is good until %s%s.\n",
		l.Server, who.Name, strings.TrimSpace(strings.ToLower(who.Kind)+" "+who.Partner), l.ExpiresAt.Format(time.DateTime+" UTC"), renewal)
	return err
}
