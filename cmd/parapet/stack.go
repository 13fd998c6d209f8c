package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"parapet/internal/devissuer"
	"parapet/internal/devpg"
	"parapet/jobs/rail"
	"parapet/migrations"
	"parapet/model/kernel/actor"
)

// devTokenLifetime is long enough for a token pasted in the morning to work all day.
const devTokenLifetime = 12 * time.Hour

// stack is the whole service on one machine: Postgres, issuer, API and workers.
type stack struct {
	info stackInfo

	options  devOptions
	settings settings
	secrets  devSecrets
	postgres *devpg.Server     // nil if DATABASE_URL is set
	issuer   *devissuer.Issuer // nil if OIDC_ISSUER is set
	app      *app
	cancel   context.CancelFunc
	group    *errgroup.Group
}

// startStack starts everything and returns when requests are answered. The stack runs
// until ctx ends or stopAll is called.
func startStack(ctx context.Context, o devOptions) (s *stack, err error) {
	running, cancel := context.WithCancel(ctx)
	group, running := errgroup.WithContext(running)
	s = &stack{options: o, cancel: cancel, group: group}
	defer func() { //nolint:contextcheck // see stop
		if err != nil {
			s.stopAll()
		}
	}()
	if s.settings, err = loadSettings(); err != nil {
		return s, err
	}
	if err := s.openFolder(); err != nil {
		return s, err
	}
	if err := s.startPostgres(ctx); err != nil {
		return s, err
	}
	if err := s.startIssuer(running); err != nil {
		return s, err
	}
	if err := s.startApp(ctx, running); err != nil {
		return s, err
	}
	return s, s.fillInfo()
}

// openFolder creates the data folder and reads or creates its secrets.
func (s *stack) openFolder() error {
	dir := s.options.dataDir
	if dir == "" {
		dir = devpg.DefaultDataDir()
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	s.options.dataDir = dir
	if s.options.fresh {
		if err := discardStack(dir); err != nil {
			return err
		}
	}
	// Other users may traverse the folder but not list it, because for root the database
	// runs as another user; its contents are private.
	if err := os.MkdirAll(dir, 0o711); err != nil { //nolint:gosec // see above: passing through, not reading
		return fmt.Errorf("data folder: %w", err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // see above: passing through, not reading
			return fmt.Errorf("data folder: %w", err)
		}
	}
	s.secrets, err = readSecrets(filepath.Join(dir, "secrets.json"))
	return err
}

// discardStack removes only what an earlier run created.
func discardStack(dir string) error {
	for _, name := range []string{"files", "secrets.json", "issuer.json", "issuer.address"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("start fresh: %w", err)
		}
	}
	return nil
}

func (s *stack) startPostgres(ctx context.Context) error {
	if s.settings.DatabaseURL != "" {
		return nil
	}
	pg, err := devpg.Start(ctx, devpg.Options{DataDir: filepath.Join(s.options.dataDir, "postgres"), Fresh: s.options.fresh, Durable: true})
	if err != nil {
		return err
	}
	s.postgres = pg
	if err := pg.CreateDatabase(ctx, "parapet"); err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	s.settings.DatabaseURL = pg.URL("parapet")
	return nil
}

// startIssuer runs the development issuer on loopback.
func (s *stack) startIssuer(running context.Context) error {
	if len(s.settings.Issuers) > 0 {
		return nil
	}
	listener, err := listenOnSavedAddress(running, filepath.Join(s.options.dataDir, "issuer.address"), "127.0.0.1:8081", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := "http://" + listener.Addr().String()
	s.issuer, err = devissuer.New(devissuer.Options{
		Issuer: address, Audience: s.settings.Audience, Clients: append(s.seedClients(), consoleClient()), Users: s.seedUsers(),
		Now: time.Now, TokenLifetime: devTokenLifetime, KeyFile: filepath.Join(s.options.dataDir, "issuer.json"),
	})
	if err != nil {
		return errors.Join(fmt.Errorf("issuer: %w", err), listener.Close())
	}
	s.settings.Issuers = []string{address}
	if s.settings.SandboxScope == "" { // this issuer grants each person only their own scopes
		s.settings.SandboxScope = partnerScope() + " " + string(actor.ScopeOperator)
	}
	server := &http.Server{Handler: s.issuer.Handler(), ReadHeaderTimeout: 5 * time.Second}
	s.group.Go(func() error { return serveUntil(running, server, listener, drainTimeout) })
	return nil
}

func (s *stack) startApp(ctx, running context.Context) error {
	s.settings.Files = filepath.Join(s.options.dataDir, "files")
	s.settings.Rail, s.settings.Rehearsal, s.settings.Loopback, s.settings.SandboxPage, s.settings.OperatorUI = rail.SimulatorName, true, true, true, true
	s.settings.RehearsalClock, s.settings.Console, s.settings.SettlesAfter = clockOfPartners, true, s.options.settlesAfter
	if len(s.settings.ReceiptKeys) == 0 {
		s.settings.ReceiptKeys = s.secrets.receiptKeys()
	}
	s.settings.DrainDelay = 0 // no load balancer is to notice
	if s.options.rateLimit == "off" {
		s.settings.RateLimit, s.settings.AddressRateLimit = 0, 0
	}
	out := io.Writer(os.Stderr)
	if s.options.quiet {
		out = io.Discard
	}
	log, err := newLogger(out, s.settings.LogLevel)
	if err != nil {
		return err
	}
	if s.app, err = newApp(ctx, s.settings, s.secrets.modelKeys(), log); err != nil {
		return err
	}
	if err := s.requireOwnDatabase(ctx); err != nil {
		return err
	}
	if _, err := migrations.Apply(ctx, s.app.db.Pool); err != nil {
		return err
	}
	if err := s.seedDatabase(ctx); err != nil {
		return err
	}
	addresses := []string{"127.0.0.1:8080", "127.0.0.1:0"}
	if s.options.listen != "" {
		addresses = []string{s.options.listen}
	}
	listener, err := listenOnFree(ctx, addresses...)
	if err != nil {
		return err
	}
	s.info.BaseURL = "http://" + listener.Addr().String()
	metrics, err := listenOnFree(ctx, "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	s.info.MetricsURL = "http://" + metrics.Addr().String() + "/metrics"
	s.group.Go(func() error { return s.app.serveAndWork(running, listener, metrics) })
	return nil
}

// fillInfo fills in stackInfo, with valid tokens.
func (s *stack) fillInfo() error {
	s.info.GraphQLURL = s.info.BaseURL + "/graphql"
	s.info.Issuer, s.info.DatabaseURL = s.settings.Issuers[0], s.settings.DatabaseURL
	s.info.Clients = []clientInfo{}
	if s.issuer == nil {
		return nil // clients of another issuer are not known here
	}
	s.info.TokenURL = s.info.Issuer + "/token"
	for _, c := range s.seedClients() {
		token, err := s.issuer.Token(c.ID)
		if err != nil {
			return fmt.Errorf("token for %s: %w", c.ID, err)
		}
		client := clientInfo{Name: c.ID, ClientID: c.ID, ClientSecret: c.Secret, Scope: strings.Join(c.Scopes, " "), Token: token}
		if c.Partner != "" {
			client.Partner = &c.Partner
		}
		s.info.Clients = append(s.info.Clients, client)
	}
	return nil
}

// waitUntilDone returns when the stack or Postgres has ended.
func (s *stack) waitUntilDone(ctx context.Context) error {
	if s.postgres != nil {
		s.group.Go(func() error {
			select {
			case <-ctx.Done():
				return nil
			case <-s.postgres.Done():
				return errors.New("the private Postgres stopped by itself")
			}
		})
	}
	err := s.group.Wait()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// stopAll stops requests, jobs, connections and the database, in this order. It uses its
// own context because the caller's has often ended by then.
func (s *stack) stopAll() {
	s.cancel()
	_ = s.group.Wait()
	if s.app != nil {
		s.app.closeAll()
	}
	if s.postgres != nil {
		_ = s.postgres.Stop(context.Background())
	}
}

// listenOnSavedAddress listens on the address saved in file, or else on the first free
// one, which it saves: tokens contain the issuer's address, so it must survive restarts.
func listenOnSavedAddress(ctx context.Context, file string, addresses ...string) (net.Listener, error) {
	if kept, err := os.ReadFile(file); err == nil { //nolint:gosec // in our data folder
		if known, err := netip.ParseAddrPort(string(kept)); err == nil && known.Addr().IsLoopback() {
			addresses = append([]string{known.String()}, addresses...)
		}
	}
	listener, err := listenOnFree(ctx, addresses...)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, []byte(listener.Addr().String()), 0o600); err != nil { //nolint:gosec // in our data folder
		return nil, errors.Join(fmt.Errorf("data folder: %w", err), listener.Close())
	}
	return listener, nil
}

// listenOnFree listens on the first free address.
func listenOnFree(ctx context.Context, addresses ...string) (net.Listener, error) {
	var failed error
	for _, address := range addresses {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err == nil {
			return listener, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, fmt.Errorf("listen: %w", failed)
}
