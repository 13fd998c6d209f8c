package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
	"github.com/spf13/cobra"

	"parapet/model/partners"
)

// initOptions are the flags of parapet init and the answers to its questions.
type initOptions struct {
	file      string
	values    map[string]string // settings by name
	slug      string
	name      string
	writeOnly bool
}

// initQuestion is one value that init needs: a flag, or a question in a terminal.
type initQuestion struct {
	flag, setting, ask, standard string
	required                     bool
}

var initQuestions = []initQuestion{
	{"database-url", "DATABASE_URL", "address of the Postgres database, postgres://user@host/database", "", true},
	{"issuer", "OIDC_ISSUER", "address of the OpenID issuer whose tokens the server trusts", "", true},
	{"rail", "PARAPET_RAIL", "payment rail: http, iso20022, nacha, or simulator, which moves no money", "simulator", true},
	{"base-url", "PARAPET_BASE_URL", "origin that partners see, https://api.example.com; empty: the host that each request names", "", false},
}

// newInitCommand brings a server up: settings, database, first partner.
func newInitCommand() *cobra.Command {
	o := initOptions{values: map[string]string{}}
	cmd := &cobra.Command{
		Use: "init", Short: "set up a server: settings with new keys, database and first partner", Args: noArguments,
		Example: "  parapet init\n  parapet init --database-url postgres://parapet@127.0.0.1/parapet --issuer https://id.example.com --rail simulator --partner acme",
		Long: `parapet init writes a file of settings with new keys, after it has checked what they name. Then it migrates the
database, registers the first partner and prints what to do next. It never overwrites a file.

Settings that the environment has already are taken over. In a terminal it asks for what is missing.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runInit(cmd, o) },
	}
	set := cmd.Flags()
	set.StringVar(&o.file, "file", "parapet.env", "the file to write; a shell, systemd and containers can read it")
	for _, q := range initQuestions {
		set.Func(q.flag, q.ask, func(text string) error {
			text, err := readArgument(text)
			o.values[q.setting] = strings.TrimSuffix(text, "\n")
			return err
		})
	}
	set.Func("set", "NAME=value, any further setting of parapet config; repeatable", func(text string) error {
		name, value, is := strings.Cut(text, "=")
		if !is || name == "" {
			return errors.New("write NAME=value")
		}
		o.values[name] = value
		return nil
	})
	set.StringVar(&o.slug, "partner", "", "slug of the first partner: the partner claim of its tokens")
	set.StringVar(&o.name, "partner-name", "", "name of the first partner (default: its slug)")
	set.BoolVar(&o.writeOnly, "write-only", false, "only write the file: check nothing, leave the database alone and register no partner")
	return cmd
}

func runInit(cmd *cobra.Command, o initOptions) error {
	if _, err := os.Lstat(o.file); !errors.Is(err, fs.ErrNotExist) {
		return o.fileExists()
	}
	var questions *bufio.Reader // nil: ask nothing
	if isTerminal(cmd.InOrStdin()) {
		questions = bufio.NewReader(cmd.InOrStdin())
	}
	if err := o.complete(env.ToMap(os.Environ()), questions, cmd.OutOrStdout()); err != nil {
		return err
	}
	return o.setUp(cmd.Context(), cmd.OutOrStdout())
}

func (o *initOptions) fileExists() error {
	return fmt.Errorf("%s exists, and its keys may be in use: name another file by --file, or move this one away", o.file)
}

// complete fills in values from the environment, from answers, and new keys.
func (o *initOptions) complete(environment map[string]string, questions *bufio.Reader, out io.Writer) error {
	for _, name := range slices.Sorted(maps.Keys(o.values)) {
		if err := requireSetting(name); err != nil {
			return usageError{fmt.Errorf("--set: %w", err)}
		}
	}
	for row := range settingRows(settings{}) {
		if _, set := o.values[row.name]; !set && environment[row.name] != "" {
			o.values[row.name] = environment[row.name]
		}
	}
	var missing []string
	need := func(q initQuestion, value string) (string, error) {
		if value == "" && questions != nil {
			answer, err := askQuestion(q, questions, out)
			if err != nil {
				return "", err
			}
			value = answer
		}
		if value == "" && q.required {
			missing = append(missing, "--"+q.flag)
		}
		return value, nil
	}
	for _, q := range initQuestions {
		value, err := need(q, o.values[q.setting])
		if err != nil {
			return err
		}
		o.values[q.setting] = value
	}
	if !o.writeOnly {
		var err error
		if o.slug, err = need(initQuestion{flag: "partner", ask: "slug of the first partner, in lower-case letters: the partner claim of its tokens", required: true}, o.slug); err != nil {
			return err
		}
		if o.name, err = need(initQuestion{flag: "partner-name", ask: "name of the first partner", standard: o.slug}, o.name); err != nil {
			return err
		}
		o.name = cmp.Or(o.name, o.slug)
	}
	if len(missing) > 0 {
		return usageError{fmt.Errorf("name %s; parapet init --help describes them", strings.Join(missing, ", "))}
	}
	o.addKeys()
	return nil
}

// askQuestion asks until there is an answer.
func askQuestion(q initQuestion, questions *bufio.Reader, out io.Writer) (string, error) {
	for {
		standard := ""
		if q.standard != "" {
			standard = " [" + q.standard + "]"
		}
		_, _ = fmt.Fprintf(out, "%s%s: ", q.ask, standard)
		line, err := questions.ReadString('\n')
		if answer := cmp.Or(strings.TrimSpace(line), q.standard); answer != "" || !q.required && err == nil {
			return answer, nil
		}
		if err != nil {
			return "", fmt.Errorf("no answer: %w", err)
		}
	}
}

// setUp checks the settings before it writes them, so that a corrected command line can
// be run again. Nothing is sealed before the keys are in the file.
func (o *initOptions) setUp(ctx context.Context, out io.Writer) error {
	s, err := parseSettings(o.values)
	if err != nil {
		return usageError{err}
	}
	if !o.writeOnly {
		if !partners.SlugPattern.MatchString(o.slug) {
			return usageError{errors.New("--partner: use 1 to 63 lower-case letters, digits and hyphens, not beginning with a hyphen")}
		}
		if err := s.checkBeforeMigration(ctx, out); err != nil {
			return err
		}
	}
	if err := writeEnvironmentFile(o.file, s, o.values); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return o.fileExists()
		}
		return err
	}
	_, _ = fmt.Fprintf(out, "%s is written. Keep it secret and keep a copy: without its keys, accounts and secrets in the database cannot be read.\n", o.file)
	if o.writeOnly {
		return nil
	}
	if err := o.fillDatabase(ctx, s, out); err != nil {
		return fmt.Errorf("%w\n%s stays: when the cause is mended, run parapet migrate and parapet ops register-partner with its settings", err, o.file)
	}
	return o.printNextSteps(s, out)
}

// checkBeforeMigration returns an error if a check fails that a migration does not mend.
func (s settings) checkBeforeMigration(ctx context.Context, out io.Writer) error {
	failed := slices.DeleteFunc(runChecks(ctx, s), func(r checkResult) bool { return r.Verdict != checkFail || r.Check == "migrations" })
	if len(failed) == 0 {
		return nil
	}
	if err := printResults(out, failed, false); err != nil {
		return err
	}
	return fmt.Errorf("%s failed, and nothing was written: correct the settings and run parapet init again", countOf(len(failed), "check", "checks"))
}

func (o *initOptions) fillDatabase(ctx context.Context, s settings, out io.Writer) error {
	if err := s.migrate(ctx, io.Discard); err != nil {
		return err
	}
	service, closeDomain, err := s.openDomain(ctx, nil)
	if err != nil {
		return err
	}
	defer closeDomain()
	if _, _, err := service.Partners.Register(ctx, shellActor("init"), partners.Request{Slug: o.slug, Name: o.name}); err != nil {
		return err
	}
	results := runChecks(ctx, s)
	if err := printResults(out, results, false); err != nil {
		return err
	}
	if slices.ContainsFunc(results, func(r checkResult) bool { return r.Verdict == checkFail }) {
		return errors.New("a check failed after the migration")
	}
	_, _ = fmt.Fprintf(out, "The database is at this release's schema, and the partner %s is registered.\n", o.slug)
	return nil
}

// printNextSteps prints the five commands from here to the first answer.
func (o *initOptions) printNextSteps(s settings, out io.Writer) error {
	file := o.file
	if !strings.Contains(file, "/") {
		file = "./" + file // a shell looks up other names in PATH
	}
	_, err := fmt.Fprintf(out, `
Next:

  set -a; . %[1]s; set +a   # read the settings into this shell
  %[2]s serve   # start the server; the next lines are for another shell
  curl -fsS %[3]s/readyz   # is it ready?
  %[2]s login --server %[3]s   # sign in as an operator, at %[4]s
  %[2]s ops partners   # what is registered

%[3]s/docs continues from here.
`, file, os.Args[0], s.origin(), s.Issuers[0])
	return err
}

// origin returns the address of the API on this machine, or the one that partners see.
func (s settings) origin() string {
	if s.BaseURL != "" {
		return s.BaseURL
	}
	scheme := "http"
	if s.TLSCertificate != "" {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(s.Listen)
	if err != nil {
		return scheme + "://" + s.Listen
	}
	if address := net.ParseIP(host); host == "" || address.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}
