package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"text/template"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"parapet/model/hazard/trigger"
)

// devOptions are the flags of the development stack.
type devOptions struct {
	listen        string
	dataDir       string
	fresh         bool
	json          bool
	rateLimit     string         // on or off
	clockOffset   *time.Duration // nil keeps the clock of the previous run
	settlesAfter  time.Duration  // how long after a payment the simulator reports it; 0: the report of the day does
	withMoratoria bool           // installs the shipped moratorium rules
	quiet         bool           // no log on standard error
}

// newDevCommand runs the whole stack on this machine until it is interrupted.
func newDevCommand() *cobra.Command {
	var o devOptions
	cmd := &cobra.Command{
		Use: "dev", Example: "  parapet dev\n  parapet dev --clock-offset P30D   # a month from now",
		Short: "run everything on this machine, with tokens and curl lines", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDev(cmd.Context(), o, cmd.OutOrStdout()) },
	}
	set := cmd.Flags()
	set.StringVar(&o.listen, "listen", "", "address of the API (default 127.0.0.1:8080, or a free port when that is taken)")
	set.StringVar(&o.dataDir, "data-dir", "", "folder of database, attachments and keys (default: in your cache folder)")
	set.BoolVar(&o.fresh, "fresh", false, "discard what an earlier run left in the folder")
	set.BoolVar(&o.json, "json", false, "print one JSON line when ready, for programs")
	set.StringVar(&o.rateLimit, "rate-limit", "on", "on, or off for load tests")
	set.BoolVar(&o.withMoratoria, "moratoria", false, "refuse cover near active storms and fresh earthquakes, as production does")
	set.DurationVar(&o.settlesAfter, "settles-after", time.Minute, "how long after a payment the simulated rail reports it; 0s: the report of the day does, after midnight (UTC)")
	set.Func("clock-offset", "move business time against the clock: 240h, -30m, or ISO 8601 such as P10D; it never goes back (default: as an earlier run left it)", func(text string) error {
		offset, err := parseClockOffset(text)
		o.clockOffset = &offset
		return err
	})
	return cmd
}

func runDev(ctx context.Context, o devOptions, out io.Writer) error {
	if o.rateLimit != "on" && o.rateLimit != "off" {
		return usageError{fmt.Errorf("--rate-limit=%s: use on or off", o.rateLimit)}
	}
	s, err := startStack(ctx, o)
	if err != nil {
		return err
	}
	defer s.stopAll() //nolint:contextcheck // see stop
	if err := s.printInfo(out, o.json); err != nil {
		return err
	}
	return s.waitUntilDone(ctx)
}

// parseClockOffset reads a Go duration or an ISO 8601 one.
func parseClockOffset(text string) (time.Duration, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return d, nil
	}
	sign, iso := time.Duration(1), text
	if len(iso) > 0 && iso[0] == '-' {
		sign, iso = -1, iso[1:]
	}
	epoch := time.Unix(0, 0).UTC()
	moved, err := trigger.AddDuration(epoch, iso)
	if err != nil {
		return 0, errors.New("use a duration such as 240h, -30m or P10D")
	}
	return sign * moved.Sub(epoch), nil
}

// stackInfo describes the running stack for programs.
type stackInfo struct {
	BaseURL     string       `json:"base_url"` // origin without a path
	GraphQLURL  string       `json:"graphql_url"`
	Issuer      string       `json:"issuer"`
	TokenURL    string       `json:"token_url"`
	DatabaseURL string       `json:"database_url"`
	MetricsURL  string       `json:"metrics_url"`
	Clients     []clientInfo `json:"clients"`
}

// clientInfo is one seeded OAuth client with a valid token.
type clientInfo struct {
	Name         string  `json:"name"`
	ClientID     string  `json:"client_id"`
	ClientSecret string  `json:"client_secret"`
	Scope        string  `json:"scope"`
	Partner      *string `json:"partner"`
	Token        string  `json:"token"`
}

func (s *stack) printInfo(out io.Writer, asJSON bool) error {
	if asJSON {
		line, err := json.Marshal(s.info)
		if err == nil {
			_, err = out.Write(append(line, '\n'))
		}
		return err
	}
	return printInfoText(out, s.info)
}

// printInfoText prints the addresses, with lines to paste into a shell.
func printInfoText(out io.Writer, r stackInfo) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(table, "Parapet is ready.\n\n  manual\t%[1]s/docs\n  API\t%[1]s/v1\n  GraphQL\t%[2]s, to try at %[1]s/sandbox\n  console\t%[1]s/console\n  operators\t%[1]s/ops\n  issuer\t%[3]s\n  database\t%[4]s\n  metrics\t%[5]s\n\n",
		r.BaseURL, r.GraphQLURL, r.Issuer, r.DatabaseURL, r.MetricsURL)
	for _, c := range r.Clients {
		_, _ = fmt.Fprintf(table, "  %s\tclient_id %s\tclient_secret %s\n", c.Name, c.ClientID, c.ClientSecret)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(r.Clients) == 0 {
		_, err := fmt.Fprintln(out, "Clients and tokens are those of the issuer. Ctrl-C stops everything.")
		return err
	}
	acme := r.Clients[0]
	return pasteTemplate.Execute(out, map[string]any{
		"Life": strings.TrimSuffix(devTokenLifetime.String(), "0m0s"), "Base": r.BaseURL, "Token": acme.Token,
		"TokenURL": r.TokenURL, "Client": acme.ClientID, "Secret": acme.ClientSecret, "Program": os.Args[0],
	})
}

// pasteTemplate runs the guide of the manual with curl alone. The sandbox earthquake
// happens at the instant when cover begins: a time of this machine's clock in whole
// seconds could be before it.
var pasteTemplate = template.Must(template.New("lines").Parse(`
Paste these, in order. The token is {{.Client}}'s and good for {{.Life}}.

BASE={{.Base}}
TOKEN={{.Token}}
api() { curl -s -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' "$@"; echo; }
member() { grep -o "\"$1\":\"[^\"]*" | head -n 1 | cut -d '"' -f 4; }

# a quote: the price line by line, and every past event that would have paid
QUOTE=$(api $BASE/v1/quotes -d '{"product": "quake-circle", "context": {"partner": "{{.Client}}"}}' | member id)
api $BASE/v1/quotes/$QUOTE

# bind it
POLICY=$(api $BASE/v1/policies -d '{"quote_id": "'$QUOTE'"}' | member id)
api $BASE/v1/policies/$POLICY

# rehearse an earthquake when cover begins; only your own policies see it
AT=$(api $BASE/v1/policies/$POLICY | member effective_at)
api $BASE/v1/sandbox/observations -d '{"source": "usgs", "source_event_id": "drill-'$POLICY'", "kind": "earthquake", "occurred_at": "'$AT'", "stage": "final",
  "location": {"latitude": 23.98, "longitude": 121.61}, "measures": {"magnitude": {"value": "6.4", "unit": "mw"}}}'

# a second later: what happened to the policy and its claim, and why in sentences
sleep 1; api $BASE/v1/policies/$POLICY/timeline
api $BASE/v1/explain -d '{"policy_id": "'$POLICY'", "source_event": {"source": "usgs", "id": "drill-'$POLICY'"}}'

# have every event signed and posted to a server of yours on this machine
{{.Program}} listen --server $BASE --token $TOKEN --forward http://localhost:3000/hooks

The guide in the manual needs: export BASE={{.Base}} CLIENT_ID={{.Client}} CLIENT_SECRET={{.Secret}}
Another token: curl -s {{.TokenURL}} -u {{.Client}}:{{.Secret}} -d grant_type=client_credentials
Ctrl-C stops everything.
`))
