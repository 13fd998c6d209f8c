package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"
)

// newHealthCommand checks a server of the same machine, for the health command of a
// container: it has the environment of the server.
func newHealthCommand() *cobra.Command {
	return &cobra.Command{
		Use: "health", Example: "  parapet health",
		Short: "say whether the server of this machine is ready, as containers ask", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := loadSettings()
			if err != nil {
				return err
			}
			return s.checkHealth(cmd.Context(), cmd.OutOrStdout())
		},
	}
}

// checkHealth returns nil if the API is ready, or, without the role api, if the metrics
// show that the database answers.
func (s settings) checkHealth(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if !slices.Contains(s.Roles, "api") {
		if s.MetricsListen == "" {
			return errors.New("PARAPET_METRICS_LISTEN is missing: a process without the role api shows its health at /metrics only")
		}
		text, err := sendRequest(ctx, http.DefaultClient, http.MethodGet, "http://"+localAddress(s.MetricsListen)+"/metrics", "", nil)
		if err == nil && !bytes.Contains(text, []byte("\nparapet_db_stats_up 1\n")) {
			err = errors.New("the database does not answer")
		}
		if err == nil {
			_, err = fmt.Fprintln(out, "the workers run and the database answers")
		}
		return err
	}
	client, address := &http.Client{}, "http://"+localAddress(s.Listen)+"/readyz"
	if s.TLSCertificate != "" {
		// The certificate names the server's public host, and the connection stays on this machine.
		client.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // see above
		address = "https" + address[len("http"):]
	}
	_, err := sendRequest(ctx, client, http.MethodGet, address, "", nil)
	if err == nil {
		_, err = fmt.Fprintln(out, "the server is ready")
	}
	return err
}

// localAddress returns where this machine reaches a server that listens on an address.
func localAddress(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	switch {
	case err != nil:
		return listen
	case host == "" || host == "0.0.0.0":
		host = "127.0.0.1"
	case host == "::":
		host = "::1"
	}
	return net.JoinHostPort(host, port)
}

// warnOfIssuers logs issuers that cannot be reached: until they can, the server refuses
// their tokens and is not ready.
func (a *app) warnOfIssuers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*checkTimeout)
	defer cancel()
	began := time.Now()
	if err := a.checkIssuers(ctx); err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		a.log.WarnContext(ctx, "an issuer cannot be used: its tokens are refused and the server is not ready until it answers",
			"error", err, "waited", time.Since(began).Round(time.Millisecond))
	}
}
