package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// newLogoutCommand ends a login.
func newLogoutCommand() *cobra.Command {
	var server string
	cmd := &cobra.Command{
		Use: "logout", Example: "  parapet logout",
		Short: "end a login, and revoke its tokens at the issuer", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runLogout(cmd.Context(), server, cmd.OutOrStdout()) },
	}
	cmd.Flags().StringVar(&server, "server", "", "origin of the server; PARAPET_SERVER (default: that of the only login)")
	return cmd
}

// runLogout removes the file in any case; an error says what could not be revoked.
func runLogout(ctx context.Context, server string, out io.Writer) error {
	server, err := parseOrigin(cmp.Or(server, os.Getenv("PARAPET_SERVER"), onlyServer()))
	if err != nil {
		return err
	}
	file, err := loginFile(server)
	if err != nil {
		return err
	}
	l, err := readLogin(server)
	if l == nil && err == nil {
		return fmt.Errorf("there is no login at %s", server)
	}
	if err := errors.Join(err, os.Remove(file)); err != nil {
		return err
	}
	if err := l.revoke(ctx); err != nil {
		return fmt.Errorf("the login at %s is removed here, but not revoked: its token works until %s: %w", server, l.ExpiresAt.Format(time.DateTime+" UTC"), err)
	}
	_, err = fmt.Fprintf(out, "Signed out at %s. Servers accept an access token that is copied elsewhere until %s.\n", server, l.ExpiresAt.Format(time.DateTime+" UTC"))
	return err
}

// revoke revokes the tokens at the issuer (RFC 7009).
func (l *login) revoke(ctx context.Context) error {
	source := tokenSource{server: l.Server, issuer: l.Issuer, clientID: l.ClientID, client: newAPIClient(time.Minute)}
	issuer, err := source.discoverIssuer(ctx)
	if err != nil {
		return err
	}
	if issuer.Revocation == "" {
		return errors.New("the issuer offers no revocation")
	}
	for hint, token := range map[string]string{"refresh_token": l.RefreshToken, "access_token": l.AccessToken} {
		if token != "" {
			err = errors.Join(err, source.revokeToken(ctx, issuer.Revocation, hint, token))
		}
	}
	return err
}

func (t *tokenSource) revokeToken(ctx context.Context, endpoint, hint, token string) error {
	form := url.Values{"token": {token}, "token_type_hint": {hint}, "client_id": {t.clientID}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	_, err = doRequest(t.client, request)
	if refused := new(statusError); errors.As(err, &refused) && strings.Contains(refused.body, "unsupported_token_type") {
		return nil // many issuers keep no signed access tokens that they could revoke
	}
	return err
}
