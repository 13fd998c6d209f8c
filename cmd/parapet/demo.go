package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"parapet/console"
	"parapet/jobs"
	"parapet/jobs/feed"
	"parapet/model/wire"
)

// The demo's event: the Hualien earthquake of 6 February 2018.
const (
	demoEvent   = "us1000chhc"
	demoContext = `{"partner": "acme", "location": {"latitude": 23.98, "longitude": 121.61}}`
	demoIBAN    = "DE89370400440532013000" // the simulator accepts it
	demoTimeout = 2 * time.Minute
)

// newDemoCommand acts as a partner over HTTP, from token to payout, and prints each step.
func newDemoCommand() *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use: "demo", Example: "  parapet demo --keep   # leaves the server running",
		Short: "play a policy's whole life over HTTP, from quote to payout", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), keep, cmd.OutOrStdout()) },
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the server running afterwards")
	return cmd
}

func runDemo(ctx context.Context, keep bool, out io.Writer) error {
	dir, err := os.MkdirTemp("", "parapet-demo-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := startStack(ctx, devOptions{listen: "127.0.0.1:0", dataDir: dir, quiet: true, settlesAfter: time.Minute})
	if err != nil {
		return err
	}
	defer s.stopAll() //nolint:contextcheck // see stop
	played, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	if err := playDemo(played, s, &demoPrinter{out: out}); err != nil {
		return fmt.Errorf("the demo stopped: %w", err)
	}
	if !keep {
		_, err := fmt.Fprint(out, `
Next:
  make demo KEEP=1   leave the server of this demo running, with lines to paste
  make dev           a server of your own: the manual at /docs, GraphQL at /sandbox
  make test          every test, on a real Postgres
  README.md          what there is, and where
`)
		return err
	}
	if err := s.printInfo(out, false); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "\nSee it in the console: %s%s, as acme or as operator.\n", s.info.BaseURL, console.Path); err != nil {
		return err
	}
	return s.waitUntilDone(ctx)
}

// playDemo makes the partner's calls in order.
func playDemo(ctx context.Context, s *stack, tell *demoPrinter) error {
	acme, err := openDemoPartner(ctx, s.info)
	if err != nil {
		return err
	}
	var quote wire.Quote
	if err := acme.postJSON(ctx, "/quotes", `{"product": "quake-circle", "context": `+demoContext+`}`, &quote); err != nil {
		return err
	}
	tell.printQuote(quote)
	var policy wire.Policy
	if err := acme.postJSON(ctx, "/policies", fmt.Sprintf(`{"quote_id": %q, "policyholder": {"name": "Hualien Hotel Ltd", "country": "TW"}}`, quote.ID), &policy); err != nil {
		return err
	}
	tell.printPolicy(policy)
	seen, err := jobs.ReplayFile(ctx, s.app.service, feed.SourceUSGS, feed.SampleUSGSWeek(), demoEvent)
	if err != nil {
		return err
	}
	tell.printReplay(seen)
	claim, err := acme.awaitClaim(ctx, policy.ID)
	if err != nil {
		return err
	}
	tell.printClaim(claim)
	method := fmt.Sprintf(`{"claim_id": %q, "type": "iban", "beneficiary": {"name": "Hualien Hotel Ltd", "country": "TW"}, "currency": "USD", "iban": {"iban": %q}}`, claim.ID, demoIBAN)
	if err := acme.postJSON(ctx, "/payout_methods", method, &wire.PayoutMethod{}); err != nil {
		return err
	}
	if claim, err = acme.awaitPayout(ctx, claim.ID); err != nil {
		return err
	}
	tell.printPayout(claim)
	var timeline wire.List[wire.TimelineEntry]
	if err := acme.getJSON(ctx, "/claims/"+claim.ID+"/timeline", &timeline); err != nil {
		return err
	}
	tell.printTimeline(timeline.Data)
	again, err := jobs.ReplayFile(ctx, s.app.service, feed.SourceUSGS, feed.SampleUSGSWeek(), demoEvent)
	if err != nil {
		return err
	}
	tell.printSecondReplay(again)
	return nil
}

// demoPartner is a client of the public API only.
type demoPartner struct{ base, token string }

// openDemoPartner requests a token as any OAuth client does.
func openDemoPartner(ctx context.Context, r stackInfo) (*demoPartner, error) {
	if len(r.Clients) == 0 {
		return nil, errors.New("the demo needs the development issuer; unset OIDC_ISSUER")
	}
	acme := r.Clients[0]
	tokens := tokenSource{clientID: acme.ClientID, clientSecret: acme.ClientSecret, issuer: r.Issuer, authParams: url.Values{"scope": {acme.Scope}}, client: http.DefaultClient}
	token, err := tokens.getToken(ctx)
	return &demoPartner{base: r.BaseURL + "/v1", token: token}, err
}

func (p *demoPartner) postJSON(ctx context.Context, path, body string, into any) error {
	return sendJSON(ctx, http.DefaultClient, http.MethodPost, p.base+path, p.token, []byte(body), into)
}

func (p *demoPartner) getJSON(ctx context.Context, path string, into any) error {
	return fetchJSON(ctx, http.DefaultClient, p.base+path, p.token, into)
}

// awaitClaim polls the policy until matching has opened its claim.
func (p *demoPartner) awaitClaim(ctx context.Context, policy string) (wire.Claim, error) {
	var claim wire.Claim
	return claim, pollUntil(ctx, func() (bool, error) {
		var now wire.Policy
		if err := p.getJSON(ctx, "/policies/"+policy, &now); err != nil || len(now.Claims) == 0 {
			return false, err
		}
		return true, p.getJSON(ctx, "/claims/"+now.Claims[0].ID, &claim)
	})
}

// awaitPayout polls the claim until its payout is released.
func (p *demoPartner) awaitPayout(ctx context.Context, id string) (wire.Claim, error) {
	var claim wire.Claim
	return claim, pollUntil(ctx, func() (bool, error) {
		err := p.getJSON(ctx, "/claims/"+id, &claim)
		return err == nil && len(claim.Payouts) > 0 && claim.Payouts[0].ReleasedAt != nil, err
	})
}

// pollUntil calls ask ten times a second until it returns true.
func pollUntil(ctx context.Context, ask func() (bool, error)) error {
	for ctx.Err() == nil {
		if done, err := ask(); done || err != nil {
			return err
		}
		sleepContext(ctx, 100*time.Millisecond)
	}
	return ctx.Err()
}
