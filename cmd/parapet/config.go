package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/spf13/cobra"

	"parapet/jobs"
	"parapet/jobs/feed"
	"parapet/model/kernel/seal"
	"parapet/model/receipts/receipt"
)

// settings is the configuration, read from the environment only, one field per setting. A
// missing setting has a default, or serve reports it. The tag min is the lowest value of a
// number or a duration.
type settings struct {
	DatabaseURL        string        `env:"DATABASE_URL" secret:"true" help:"Postgres address; needed by serve, migrate and observe"`
	Issuers            []string      `env:"OIDC_ISSUER" help:"trusted token issuers, separated by commas; needed by serve"`
	Audience           string        `env:"PARAPET_AUDIENCE" envDefault:"parapet" help:"the audience access tokens must be for"`
	PartnerClaim       string        `env:"PARAPET_PARTNER_CLAIM" envDefault:"partner" help:"the token claim that names the partner"`
	Algorithms         []string      `env:"PARAPET_ALGORITHMS" envDefault:"RS256,ES256,EdDSA" help:"signature algorithms that tokens may use"`
	SignInMaxAge       time.Duration `env:"PARAPET_SIGN_IN_MAX_AGE" envDefault:"15m" min:"0s" help:"how recently an operator must have signed in, by auth_time of the access token, to approve, resolve and settle payouts and to resume releases; clients that act for themselves are exempt; 0: not checked"`
	RequireType        bool          `env:"PARAPET_REQUIRE_AT_JWT" envDefault:"false" help:"refuse tokens whose typ is not at+jwt"`
	Listen             string        `env:"PARAPET_LISTEN" envDefault:"127.0.0.1:8080" help:"address of the API"`
	MetricsListen      string        `env:"PARAPET_METRICS_LISTEN" envDefault:"" help:"address of /metrics; empty: not served"`
	BaseURL            string        `env:"PARAPET_BASE_URL" envDefault:"" help:"origin that partners see, https://api.example.com; empty: the host that each request names"`
	TrustedProxies     []string      `env:"PARAPET_TRUSTED_PROXIES" help:"addresses or networks of reverse proxies, 10.0.0.0/8, separated by commas: X-Forwarded-For is read from them only; needs PARAPET_BASE_URL; empty: the address of the connection counts"`
	TLSCertificate     string        `env:"PARAPET_TLS_CERTIFICATE" envDefault:"" help:"file with the certificate chain (PEM) of the API; a new file is used at once; empty: no TLS"`
	TLSKey             string        `env:"PARAPET_TLS_KEY" envDefault:"" help:"file with its private key (PEM)"`
	Origins            []string      `env:"PARAPET_ORIGINS" help:"other origins whose pages may call the APIs and open a WebSocket, https://console.example.com, separated by commas; the server's own always may"`
	Family             string        `env:"PARAPET_FAMILY" envDefault:"parametric" help:"name of the second base address, /<family>/v1"`
	Roles              []string      `env:"PARAPET_ROLES" envDefault:"api,workers" help:"what serve does: api, workers or both"`
	Connections        int32         `env:"PARAPET_CONNECTIONS" envDefault:"20" min:"1" help:"most database connections of one process; the job queue has 8 more"`
	ReplicaURLs        []string      `env:"PARAPET_REPLICA_URLS" secret:"true" help:"addresses of streaming replicas, one server each, separated by commas: they answer lists, the feed of events, the portfolio and exposures; empty: the primary answers all"`
	ReplicaConnections int32         `env:"PARAPET_REPLICA_CONNECTIONS" envDefault:"10" min:"1" help:"most connections of one process to each replica; one more observes it, and one the primary"`
	DrainDelay         time.Duration `env:"PARAPET_DRAIN_DELAY" envDefault:"5s" help:"how long the API accepts requests after SIGTERM while /readyz answers 503, so that load balancers notice; at most 20s"`
	SealKeys           []string      `env:"PARAPET_SEAL_KEYS" secret:"true" help:"name:base64 of 32 bytes, separated by commas; the first seals, all open; needed by serve"`
	FingerprintKey     string        `env:"PARAPET_FINGERPRINT_KEY" secret:"true" help:"base64 of at least 32 bytes; it must never change; needed by serve"`
	ReceiptKeys        []string      `env:"PARAPET_RECEIPT_KEYS" secret:"true" help:"keys of receipts, status:base64 of 32 random bytes, separated by commas: the first active one signs; active, retired and compromised ones are published; of a retired one x. and its published x are enough; empty: receipts are unavailable"`
	Files              string        `env:"PARAPET_FILES" envDefault:"./files" help:"where attachments are kept: a folder, or s3://bucket/prefix?endpoint=https://host&region=name with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"`
	ClaimOrder         string        `env:"PARAPET_CLAIM_ORDER" envDefault:"bound" help:"which policies of a large event are decided and paid first: bound, in the order in which they were bound, or amount, those with the largest remaining limit of their currency"`
	Rail               string        `env:"PARAPET_RAIL" envDefault:"" help:"payment rail: http, iso20022, nacha, or simulator, which moves no money"`
	RailURL            string        `env:"PARAPET_RAIL_URL" envDefault:"" help:"rail http: the base address of its protocol, https"`
	RailSecrets        []string      `env:"PARAPET_RAIL_SECRET" secret:"true" help:"rail http: base64 of at least 32 bytes that the rail knows too; while you replace it, two separated by a comma: the first signs"`
	RailKeyWindow      time.Duration `env:"PARAPET_RAIL_KEY_WINDOW" envDefault:"24h" min:"0s" help:"rail http: how long the rail promises to remember an idempotency key; 0: for ever"`
	RailVoids          bool          `env:"PARAPET_RAIL_VOIDS" envDefault:"false" help:"rail http: whether the rail offers POST /transfers/{key}/void; it is then called before the same debt gets a new key"`
	RailBatch          int           `env:"PARAPET_RAIL_BATCH" envDefault:"1" help:"rails http and simulator: most orders of one call, up to 1000; http: the rail must offer POST /transfers/batch; 0 or 1: each order is a call of its own"`
	RailRate           int           `env:"PARAPET_RAIL_RATE" envDefault:"0" min:"0" help:"rails http and simulator: most orders a second that one process with the role workers sends: divide the rail's limit by the number of such processes; further orders wait in the queue; 0: no limit"`
	RailCurrencies     []string      `env:"PARAPET_RAIL_CURRENCIES" help:"currencies the rail pays, separated by commas; empty: http all, iso20022 EUR"`
	RailFiles          string        `env:"PARAPET_RAIL_FILES" envDefault:"./bank" help:"rails of files: where out/ is written and in/ is read, as in PARAPET_FILES"`
	RailAccount        string        `env:"PARAPET_RAIL_ACCOUNT" envDefault:"" help:"rails of files: a JSON file about the paying account; iso20022: name, id, iban, bic; nacha: name, id, routing, bank, description; rail http: any name that distinguishes the paying account from others at the same address"`
	RailFilesEvery     time.Duration `env:"PARAPET_RAIL_FILES_EVERY" envDefault:"15m" min:"1s" help:"rails of files: how often a file with the waiting orders is written"`
	Feeds              []string      `env:"PARAPET_FEEDS" secret:"true" help:"live hazard feeds, source=address, separated by blanks or commas; put an API key in the query of the address, which is never shown"`
	FeedEvery          time.Duration `env:"PARAPET_FEED_EVERY" envDefault:"1m" min:"1s" help:"how often a feed is polled"`
	Rehearsal          bool          `env:"PARAPET_REHEARSAL" envDefault:"false" help:"allow the sandbox: invented observations and replayed history; needs the rail simulator"`
	RehearsalClock     string        `env:"PARAPET_REHEARSAL_CLOCK" envDefault:"operator" help:"who moves the business clock of a rehearsal server, which all partners share: operator, and a partner that is the only one; or partner, every partner; always partner in development"`
	SettlesAfter       time.Duration `env:"PARAPET_SIMULATOR_SETTLES_AFTER" envDefault:"1m" min:"0s" help:"rail simulator on a rehearsal server: how long after a payment its report confirms it; 0s: the report of the day does, after midnight (UTC)"`
	Moratoria          bool          `env:"PARAPET_MORATORIA" envDefault:"true" help:"refuse cover near active storms and fresh earthquakes by the shipped rules; false is for rehearsals"`
	Loopback           bool          `env:"PARAPET_LOOPBACK_TARGETS" envDefault:"false" help:"allow webhook targets and feeds on this machine, also by http; only parapet dev sets it"`
	DelayDivisor       int           `env:"PARAPET_DELIVERY_DELAY_DIVISOR" envDefault:"1" min:"1" help:"divides the waits between webhook attempts; only for parapet dev"`
	RateLimit          int           `env:"PARAPET_RATE_LIMIT" envDefault:"100" min:"0" help:"requests a second of one partner, over all nodes; 0: no limit"`
	RateBurst          int           `env:"PARAPET_RATE_BURST" envDefault:"200" min:"1" help:"burst: requests of one partner at once"`
	AddressRateLimit   int           `env:"PARAPET_UNAUTHENTICATED_RATE_LIMIT" envDefault:"1000" min:"0" help:"requests a second from one address without a valid token, on each node; 0: no limit"`
	AddressRateBurst   int           `env:"PARAPET_UNAUTHENTICATED_RATE_BURST" envDefault:"2000" min:"1" help:"burst: requests at once from one address without a valid token"`
	PartnerUploadLimit int64         `env:"PARAPET_UPLOADS_PER_PARTNER" envDefault:"64" min:"16" help:"MiB of request bodies of one partner that are received at once, on each node; at least 16"`
	UploadLimit        int64         `env:"PARAPET_UPLOADS" envDefault:"512" min:"16" help:"MiB of request bodies that are received at once, on each node; at least 16"`
	PartnerWaiterLimit int           `env:"PARAPET_WAITERS_PER_PARTNER" envDefault:"10000" min:"1" help:"subscriptions, sockets and requests with wait of one partner at once, on each node; 26 to 56 KiB of memory each"`
	WaiterLimit        int           `env:"PARAPET_WAITERS" envDefault:"12000" min:"1" help:"subscriptions, sockets and requests with wait at once, on each node; each needs a file descriptor too"`
	Introspection      bool          `env:"PARAPET_GRAPHQL_INTROSPECTION" envDefault:"true" help:"whether introspection is allowed; false: it is refused, and errors suggest no names"`
	TrustedQueries     string        `env:"PARAPET_GRAPHQL_TRUSTED_DOCUMENTS" envDefault:"" help:"a manifest of Apollo's or Relay's tools, or a folder of *.graphql files: the only GraphQL documents that run; empty: any"`
	QueryCost          int           `env:"PARAPET_GRAPHQL_COST" envDefault:"25000" min:"1" help:"highest cost of a GraphQL operation: the number of records that it can return"`
	SandboxPage        bool          `env:"PARAPET_SANDBOX" envDefault:"false" help:"whether /sandbox is served: a page to try GraphQL, with sign-in at the first issuer; always in development"`
	SandboxClient      string        `env:"PARAPET_SANDBOX_CLIENT" envDefault:"console" help:"the public OAuth client of that page and of the console; it returns to /sandbox and /console, and its issuer must allow the origin of this server by CORS"`
	SandboxScope       string        `env:"PARAPET_SANDBOX_SCOPE" help:"scopes that a partner's sign-in at these pages asks for, separated by spaces; empty: openid and every scope of partners"`
	Console            bool          `env:"PARAPET_CONSOLE" envDefault:"false" help:"whether /console is served: the web console of partners and operators, with sign-in at the first issuer; always in development"`
	OperatorUI         bool          `env:"PARAPET_OPERATOR_UI" envDefault:"false" help:"whether /ops is served: the queue's own pages and the audit log as a file, for operators who sign in at the first issuer; all else is in the console (PARAPET_CONSOLE); set PARAPET_BASE_URL too; always in development"`
	OperatorUIClient   string        `env:"PARAPET_OPERATOR_UI_CLIENT" envDefault:"console" help:"the OAuth client of these pages; it returns to /ops/callback"`
	OperatorUISecret   string        `env:"PARAPET_OPERATOR_UI_SECRET" secret:"true" help:"the secret of that client; empty for a public one"`
	OperatorUIParams   []string      `env:"PARAPET_OPERATOR_UI_PARAMS" help:"further parameters that the issuer needs for the sign-in at /ops, /sandbox and /console, name=value separated by commas: resource=…, audience=…; scope=… replaces openid operator, the scopes of an operator"`
	LogLevel           string        `env:"PARAPET_LOG_LEVEL" envDefault:"info" help:"debug, info, warn or error"`
}

// Variables of the environment that are not settings of the server.
var otherVariables = []string{"PARAPET_PG_BIN", "PARAPET_TEST_DATABASE_URL", "PARAPET_SERVER", "PARAPET_TOKEN", "PARAPET_CLIENT_SECRET"}

// loadSettings reads the environment.
func loadSettings() (settings, error) { return parseSettings(env.ToMap(os.Environ())) }

// parseSettings reads settings by name. It rejects an unknown PARAPET_ name, because a
// typo is the most common cause of outages.
func parseSettings(values map[string]string) (settings, error) {
	var s settings
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if strings.HasPrefix(name, "PARAPET_") && !slices.Contains(otherVariables, name) {
			if err := requireSetting(name); err != nil {
				return s, err
			}
		}
	}
	err := env.ParseWithOptions(&s, env.Options{Environment: values})
	return s, s.checkValues(err)
}

// parseKeys decodes the sealing keys.
func (s settings) parseKeys() (seal.Keys, error) {
	var keys seal.Keys
	for _, pair := range s.SealKeys {
		name, text, ok := strings.Cut(pair, ":")
		secret, err := base64.StdEncoding.DecodeString(text)
		if !ok || err != nil {
			return keys, errors.New("PARAPET_SEAL_KEYS: use name:base64, separated by commas")
		}
		keys.Seal = append(keys.Seal, seal.Key{ID: name, Secret: secret})
	}
	var err error
	if keys.Fingerprint, err = base64.StdEncoding.DecodeString(s.FingerprintKey); err != nil {
		return keys, errors.New("PARAPET_FINGERPRINT_KEY: use base64")
	}
	return keys, nil
}

// parseReceiptKeys decodes the keys of receipts.
func (s settings) parseReceiptKeys() (receipt.Keys, error) {
	keys, err := receipt.ParseKeys(s.ReceiptKeys)
	if err != nil {
		return keys, fmt.Errorf("PARAPET_RECEIPT_KEYS: %w", err)
	}
	return keys, nil
}

// parseFeeds returns the live feeds to poll.
func (s settings) parseFeeds() ([]jobs.Feed, error) {
	var list []jobs.Feed
	for _, field := range s.Feeds {
		for pair := range strings.FieldsSeq(field) {
			source, url, ok := strings.Cut(pair, "=")
			if !ok || !slices.Contains(feed.Sources(), source) {
				return nil, fmt.Errorf("PARAPET_FEEDS: use source=address with a source of %s", strings.Join(feed.Sources(), ", "))
			}
			list = append(list, jobs.Feed{Source: source, URL: url, Interval: s.FeedEvery})
		}
	}
	return list, nil
}

// settingRow is one line of the settings table.
type settingRow struct {
	name, value, defaultValue, help string
	isSecret                        bool
}

// settingRows iterates over the settings in order, with their current values.
func settingRows(s settings) func(yield func(settingRow) bool) {
	value := reflect.ValueOf(s)
	return func(yield func(settingRow) bool) {
		for i := range value.NumField() {
			field := value.Type().Field(i)
			r := settingRow{
				name: field.Tag.Get("env"), defaultValue: field.Tag.Get("envDefault"), help: field.Tag.Get("help"),
				value: fmt.Sprint(value.Field(i).Interface()), isSecret: field.Tag.Get("secret") == "true",
			}
			if list, ok := value.Field(i).Interface().([]string); ok {
				r.value = strings.Join(list, ",")
			}
			if r.isSecret && r.value != "" {
				r.value = "(set)"
			}
			if !yield(r) {
				return
			}
		}
	}
}

// newConfigCommand prints every setting, its value and its meaning.
func newConfigCommand() *cobra.Command {
	var format outputFormat
	cmd := &cobra.Command{
		Use: "config", Example: "  parapet config\n  PARAPET_LISTEN=:8443 parapet config --output json",
		Short: "print every setting, its value and its meaning", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printConfig(format == formatJSON, cmd.OutOrStdout())
		},
	}
	format.addFlag(cmd)
	return cmd
}

func printConfig(asJSON bool, out io.Writer) error {
	s, err := loadSettings()
	if err != nil {
		return err
	}
	if asJSON {
		type setting struct {
			Name  string `json:"name"`
			Value string `json:"value"`
			Help  string `json:"help"`
		}
		all := []setting{}
		for r := range settingRows(s) {
			all = append(all, setting{r.name, r.value, r.help})
		}
		return printJSON(out, all)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "SETTING\tVALUE\tMEANING")
	for r := range settingRows(s) {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", r.name, r.value, r.help)
	}
	return table.Flush()
}
