package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/go-json-experiment/json"

	"parapet/model/trigger"
)

// devOptions are the flags of the development stack.
type devOptions struct {
	listen      string
	dataDir     string
	fresh       bool
	json        bool
	rateLimit   string // on or off
	clockOffset time.Duration
	moratoria   bool // with the shipped moratorium rules
	quiet       bool // no log to standard error
}

// dev runs everything on this machine until it is interrupted.
func dev(ctx context.Context, args []string, out io.Writer) error {
	var o devOptions
	set := flags("dev")
	set.StringVar(&o.listen, "listen", "", "address of the API (default 127.0.0.1:8080, or a free port when that is taken)")
	set.StringVar(&o.dataDir, "data-dir", "", "folder of database, attachments and keys (default: in your cache folder)")
	set.BoolVar(&o.fresh, "fresh", false, "discard what an earlier run left in the folder")
	set.BoolVar(&o.json, "json", false, "print one JSON line when ready, for programs")
	set.StringVar(&o.rateLimit, "rate-limit", "on", "on, or off for load tests")
	set.BoolVar(&o.moratoria, "moratoria", false, "refuse cover near active storms and fresh earthquakes, as production does")
	set.Func("clock-offset", "move business time against the clock: 240h, -30m, or ISO 8601 such as P10D", func(text string) (err error) {
		o.clockOffset, err = parseOffset(text)
		return err
	})
	if err := parseOnly(set, args); err != nil {
		return err
	}
	if o.rateLimit != "on" && o.rateLimit != "off" {
		return fmt.Errorf("--rate-limit=%s: use on or off", o.rateLimit)
	}
	s, err := startStack(ctx, o)
	if err != nil {
		return err
	}
	defer s.stop() //nolint:contextcheck // see stop
	if err := s.announce(out, o.json); err != nil {
		return err
	}
	return s.wait(ctx)
}

// parseOffset reads a Go duration or an ISO 8601 one.
func parseOffset(text string) (time.Duration, error) {
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

// ready is what programs learn of the running stack.
type ready struct {
	BaseURL     string        `json:"base_url"` // origin without a path
	GraphQLURL  string        `json:"graphql_url"`
	Issuer      string        `json:"issuer"`
	TokenURL    string        `json:"token_url"`
	DatabaseURL string        `json:"database_url"`
	MetricsURL  string        `json:"metrics_url"`
	Clients     []readyClient `json:"clients"`
}

// readyClient is one seeded OAuth client with a token that works now.
type readyClient struct {
	Name         string  `json:"name"`
	ClientID     string  `json:"client_id"`
	ClientSecret string  `json:"client_secret"`
	Scope        string  `json:"scope"`
	Partner      *string `json:"partner"`
	Token        string  `json:"token"`
}

func (s *stack) announce(out io.Writer, asJSON bool) error {
	if asJSON {
		line, err := json.Marshal(s.ready)
		if err == nil {
			_, err = out.Write(append(line, '\n'))
		}
		return err
	}
	r := s.ready
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(table, "Parapet is ready.\n\n  API\t%s/v1\n  GraphQL\t%s, to try at %s/sandbox\n  desk\t%s/ops, for operators\n  issuer\t%s\n  database\t%s\n  metrics\t%s\n\n", r.BaseURL, r.GraphQLURL, r.BaseURL, r.BaseURL, r.Issuer, r.DatabaseURL, r.MetricsURL)
	for _, c := range r.Clients {
		_, _ = fmt.Fprintf(table, "  %s\tclient_id %s\tclient_secret %s\n", c.Name, c.ClientID, c.ClientSecret)
	}
	_ = table.Flush()
	_, err := fmt.Fprintf(out, `
Paste these. The token is acme's, good for %s:

TOKEN=%s

curl -s %[3]s/v1/quotes -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \
  -d '{"product": "quake-circle", "context": {"partner": "acme"}}'

curl -s %[3]s/v1/policies -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \
  -d '{"quote_id": "quo_…"}'

# rehearse a quake that only your own policies see; then look at the policy's claims
curl -s %[3]s/v1/sandbox/observations -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \
  -d '{"source": "usgs", "source_event_id": "drill-1", "kind": "earthquake", "occurred_at": "'$(date -u +%%FT%%TZ)'", "stage": "final",
       "location": {"latitude": 23.98, "longitude": 121.61}, "measures": {"magnitude": {"value": "6.4", "unit": "mw"}}}'

# have every event posted, signed, to a server of yours on this machine
parapet listen --server %[3]s --token $TOKEN --forward http://localhost:3000/hooks

Another token: curl -s %[4]s -u acme:%[5]s -d grant_type=client_credentials
Ctrl-C stops everything.
`, devTokenLifetime, r.Clients[0].Token, r.BaseURL, r.TokenURL, r.Clients[0].ClientSecret)
	return err
}
