// Command parapet is the whole service in one binary: the server, its
// migrations, the development stack and the tools of its operators.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"parapet/model/kernel/apperr"
)

// command is one subcommand of the binary.
type command struct {
	name, summary string
	run           func(ctx context.Context, args []string, out io.Writer) error
}

func allCommands() []command {
	return []command{
		{"serve", "serve the API and work jobs, configured by the environment", runServe},
		{"migrate", "bring the database to the schema of this release", runMigrate},
		{"dev", "run everything on this machine, with tokens and curl lines", runDev},
		{"demo", "play a policy's whole life over HTTP, from quote to payout", runDemo},
		{"observe", "record a hazard feed's file or address", runObserve},
		{"statement", "write the movements of the ledger as CSV", runStatement},
		{"verify-events", "prove that no event was changed, lost or cut off", runVerifyEvents},
		{"verify", "compute a receipt of a quote or claim again, offline: verify receipt.json --keys FILE", runVerifyReceipt},
		{"ops", "call an operation of operators on a running server; ops help lists them", runOps},
		{"rail", "identities: list the banks; adopt: declare that a new address is the same bank; unseal: rewrite a file that the bank does not have", runRail},
		{"restore", "handle a database that was restored from a backup: begin, finish, dismiss, status", runRestore},
		{"doctor", "check the configuration and everything it names, and say what to do", runDoctor},
		{"keys", "rotate: seal every stored secret again with the first key", runKeys},
		{"erase", "remove a policyholder's personal data; amounts and histories stay provable", runErase},
		{"listen", "forward a partner's events, signed, to an address on this machine", runListen},
		{"config", "print every setting, its value and its meaning", printConfig},
	}
}

func main() {
	time.Local = time.UTC // pgx returns local times; the service uses UTC only
	tuneGC()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := runCommand(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "parapet:", err)
		os.Exit(exitCode(err))
	}
}

// exitCode returns the exit code of a failed command.
func exitCode(err error) int {
	if errors.Is(err, errNotChecked) {
		return exitNotChecked
	}
	return 1
}

func runCommand(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 0 {
		for _, c := range allCommands() {
			if c.name == args[0] {
				return withFieldErrors(c.run(ctx, args[1:], out))
			}
		}
	}
	printUsage(out)
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		return nil
	}
	return fmt.Errorf("there is no command %q", args[0])
}

// withFieldErrors adds every field error of a domain error to its text for the terminal.
func withFieldErrors(err error) error {
	var known *apperr.Error
	if !errors.As(err, &known) || len(known.Fields) == 0 {
		return err
	}
	return withFields(err, known.Fields)
}

func withFields(err error, fields []apperr.FieldError) error {
	var lines strings.Builder
	for _, field := range fields {
		lines.WriteString("\n  " + field.Pointer + ": " + field.Detail)
	}
	return fmt.Errorf("%w%s", err, lines.String())
}

func printUsage(out io.Writer) {
	_, _ = fmt.Fprintln(out, "parapet: parametric protection, from quote to payout")
	_, _ = fmt.Fprintln(out)
	for _, c := range allCommands() {
		_, _ = fmt.Fprintf(out, "  parapet %-13s %s\n", c.name, c.summary)
	}
	_, _ = fmt.Fprintln(out, "\nparapet COMMAND --help lists a command's flags.")
}

// newFlagSet prepares a command's flags. Stray arguments are an error, because a
// forgotten dash must not silently give a default.
func newFlagSet(name string) *flag.FlagSet {
	set := flag.NewFlagSet("parapet "+name, flag.ContinueOnError)
	return set
}

func parseFlags(set *flag.FlagSet, args []string) error {
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("%s takes no argument %q", set.Name(), set.Arg(0))
	}
	return nil
}
