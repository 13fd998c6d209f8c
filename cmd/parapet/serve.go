package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"parapet/internal/proxy"
	"parapet/jobs/rail"
	"parapet/migrations"
	"parapet/model/dbconn"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/dbpool"
)

// newServeCommand runs the service with the configuration of the environment. It applies
// no migrations: the database must already have this release's schema.
func newServeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "serve", Example: "  set -a; . ./parapet.env; set +a\n  parapet serve\n  PARAPET_ROLES=workers parapet serve   # a process that works jobs only",
		Short: "serve the API and work jobs, configured by the environment", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runServe(cmd.Context()) },
	}
}

func runServe(ctx context.Context) error {
	s, err := loadSettings()
	if err != nil {
		return err
	}
	if err := s.checkComplete(); err != nil {
		return err
	}
	return s.serveUntilDone(ctx)
}

// serveUntilDone runs the service until ctx ends.
func (s settings) serveUntilDone(ctx context.Context) error {
	log, err := newLogger(os.Stderr, s.LogLevel)
	if err != nil {
		return err
	}
	keys, err := s.parseKeys()
	if err != nil {
		return err
	}
	a, err := newApp(ctx, s, keys, log)
	if err != nil {
		return err
	}
	defer a.closeAll()
	if err := a.requireOurDatabase(ctx); err != nil {
		return err
	}
	held, err := a.service.Products.PublishShipped(ctx)
	if err != nil {
		return err
	}
	for _, version := range held {
		log.Warn("a shipped product version is not published: the one before it stays in use", "version", version)
	}
	if err := a.service.Capacity.ApplyShippedMoratoriumRules(ctx, s.Moratoria); err != nil {
		return err
	}
	if !s.Moratoria {
		log.Warn("the shipped moratorium rules are off: cover is sold near active storms and fresh earthquakes")
	}
	if s.Rail == rail.SimulatorName || s.Rehearsal {
		log.Warn("development switches are on: no real payments are made, or rehearsals are allowed", "rail", s.Rail, "rehearsal", s.Rehearsal)
	}
	listener, err := listenOnFree(ctx, s.Listen)
	if err != nil {
		return fmt.Errorf("PARAPET_LISTEN: %w", err)
	}
	secure, err := s.secureListener(listener, log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	var metrics net.Listener
	if s.MetricsListen != "" {
		if metrics, err = listenOnFree(ctx, s.MetricsListen); err != nil {
			return errors.Join(fmt.Errorf("PARAPET_METRICS_LISTEN: %w", err), listener.Close())
		}
	}
	go a.warnOfIssuers(ctx)
	log.Info("serving", "address", listener.Addr().String(), "roles", s.Roles)
	return a.serveAndWork(ctx, secure, metrics)
}

// requireOurDatabase returns an error unless this process may serve the database: it has
// sessions, the schema of this release, privileges of the service, data of its keys, and no
// rehearsals unless they are allowed.
func (a *app) requireOurDatabase(ctx context.Context) error {
	if err := dbconn.RequireSession(ctx, a.settings.DatabaseURL); err != nil {
		return err
	}
	if err := migrations.Check(ctx, a.db.Pool); err != nil {
		return err
	}
	if err := requirePrivileges(ctx, a.db.Pool); err != nil {
		return fmt.Errorf("%w. %s", err, grantAdvice)
	}
	if err := a.service.Operations.VerifyKeys(ctx, actor.System()); err != nil {
		return fmt.Errorf("the keys are not those of the database: %w. %s", err, keysAdvice)
	}
	rehearses, err := a.service.IsRehearsal(ctx)
	if err != nil {
		return err
	}
	if rehearses && !a.settings.Rehearsal {
		return errors.New("this database belongs to the development stack: its clock may be shifted and its history replayed; " +
			"serve another one, or allow rehearsals with PARAPET_REHEARSAL=true")
	}
	return nil
}

// Who moves the business clock of a rehearsal server. The words true and false of an earlier
// release mean partner and operator.
const (
	clockOfOperators = "operator"
	clockOfPartners  = "partner"
)

// isDevelopmentStack reports whether parapet dev runs: serve refuses its loopback targets.
func (s settings) isDevelopmentStack() bool { return s.Rehearsal && s.Loopback }

// These are the values of PARAPET_CLAIM_ORDER.
const (
	orderByBinding = "bound"
	orderByAmount  = "amount"
)

// checkComplete returns all missing settings at once.
func (s settings) checkComplete() error {
	var missing []error
	need := func(ok bool, what string) {
		if !ok {
			missing = append(missing, errors.New(what))
		}
	}
	need(s.DatabaseURL != "", "DATABASE_URL is missing: the address of a Postgres, postgres://user@host/database")
	need(len(s.Issuers) > 0, "OIDC_ISSUER is missing: the address of the issuer whose tokens you trust")
	need(len(s.SealKeys) > 0, "PARAPET_SEAL_KEYS is missing: name:base64 of 32 random bytes, for example k1:$(head -c 32 /dev/urandom | base64)")
	need(s.FingerprintKey != "", "PARAPET_FINGERPRINT_KEY is missing: base64 of 32 random bytes")
	need(s.Rail != "", "PARAPET_RAIL is missing: name the payment rail; simulator makes no payments")
	known := func(role string) bool { return role == "api" || role == "workers" }
	need(len(s.Roles) > 0 && !slices.ContainsFunc(s.Roles, func(role string) bool { return !known(role) }), "PARAPET_ROLES: use api, workers, or both with a comma between")
	need(slices.Contains([]string{"", orderByBinding, orderByAmount}, s.ClaimOrder), "PARAPET_CLAIM_ORDER: use bound or amount")
	need(!s.Rehearsal || s.Rail == "" || s.Rail == rail.SimulatorName, "PARAPET_REHEARSAL needs PARAPET_RAIL=simulator: on another rail, invented events would pay real money")
	need(slices.Contains([]string{"", clockOfOperators, clockOfPartners, "true", "false"}, s.RehearsalClock), "PARAPET_REHEARSAL_CLOCK: use operator or partner")
	origin, err := url.Parse(s.BaseURL)
	need(s.BaseURL == "" || err == nil && (origin.Scheme == "https" || origin.Scheme == "http") && s.BaseURL == origin.Scheme+"://"+origin.Host && origin.Host != "",
		"PARAPET_BASE_URL: use an origin without a path, https://api.example.com")
	need(!s.Loopback, "PARAPET_LOOPBACK_TARGETS is for parapet dev: a partner could make this server call itself")
	need(s.DelayDivisor <= 1, "PARAPET_DELIVERY_DELAY_DIVISOR is for parapet dev: partners rely on the schedule of webhook attempts")
	need(s.DrainDelay >= 0 && s.DrainDelay <= maxDrainDelay, "PARAPET_DRAIN_DELAY: use 0s to 20s; requests and jobs must end within 25 s after SIGTERM")
	need(len(s.TrustedProxies) == 0 || s.BaseURL != "", "PARAPET_BASE_URL is missing: behind PARAPET_TRUSTED_PROXIES name the origin that partners see")
	need((s.TLSCertificate == "") == (s.TLSKey == ""), "PARAPET_TLS_CERTIFICATE and PARAPET_TLS_KEY belong together: set both or none")
	_, badProxies := proxy.ParseNetworks(s.TrustedProxies)
	if badProxies != nil {
		badProxies = fmt.Errorf("PARAPET_TRUSTED_PROXIES: %w", badProxies)
	}
	_, err = newLogger(io.Discard, s.LogLevel)
	return errors.Join(append(missing, badProxies, s.checkOrigins(), err)...)
}

// newMigrateCommand migrates the database to this release's schema.
func newMigrateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "migrate", Example: "  parapet migrate   # before the servers of a new release start",
		Short: "bring the database to the schema of this release", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runMigrate(cmd.Context(), cmd.OutOrStdout()) },
	}
}

func runMigrate(ctx context.Context, out io.Writer) error {
	s, err := loadSettings()
	if err != nil {
		return err
	}
	return s.migrate(ctx, out)
}

// migrate migrates the database of the settings, and prints what it applies.
func (s settings) migrate(ctx context.Context, out io.Writer) error {
	if s.DatabaseURL == "" {
		return errors.New("DATABASE_URL is missing: the address of the Postgres to migrate")
	}
	if err := dbconn.RequireSession(ctx, s.DatabaseURL); err != nil {
		return err
	}
	db, err := dbpool.Open(ctx, s.DatabaseURL, 4)
	if err != nil {
		return err
	}
	defer db.Close()
	applied, err := migrations.Apply(ctx, db.Pool)
	if err != nil {
		return err
	}
	for _, name := range applied {
		_, _ = fmt.Fprintln(out, "applied", name)
	}
	_, _ = fmt.Fprintln(out, "the database is at this release's schema")
	return nil
}

// newLogger writes one JSON line per record.
func newLogger(out io.Writer, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("PARAPET_LOG_LEVEL: use debug, info, warn or error: %w", err)
	}
	return slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: l})), nil
}
