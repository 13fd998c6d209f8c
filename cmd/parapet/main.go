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
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"parapet/model"
)

// command is one verb of the binary.
type command struct {
	name, summary string
	run           func(ctx context.Context, args []string, out io.Writer) error
}

func commands() []command {
	return []command{
		{"serve", "serve the API and work jobs, configured by the environment", serve},
		{"migrate", "bring the database to the schema of this release", migrate},
		{"dev", "run everything on this machine, with tokens and curl lines", dev},
		{"demo", "play the whole story over HTTP, from quote to payout", demo},
		{"observe", "record a hazard feed's file or address", observe},
		{"statement", "write what moved in the ledger as CSV", statement},
		{"verify-events", "prove that no event was changed, lost or cut off", verifyEvents},
		{"ops", "call an operation of operators on a running server; ops help lists them", ops},
		{"rail", "rail identities and rail adopt: tell that a new address is the same bank; rail unseal: write a file again that the bank does not have", railCommand},
		{"restore", "answer for a database that was restored from a backup: begin, finish, dismiss, status", restoreCommand},
		{"doctor", "check the configuration and everything it names, and say what to do", doctor},
		{"keys", "keys rotate: seal every kept secret anew with the first key", keysCommand},
		{"erase", "remove a policyholder's personal data; amounts and histories stay provable", erase},
		{"listen", "forward a partner's events, signed, to an address on this machine", listenHere},
		{"config", "print every setting, its value and its meaning", printConfig},
	}
}

// garbage is how much more than what is alive the heap may grow to before it is
// swept, in per cent; GOGC overrules it. Little is alive in this process, some 10
// MB, so Go's own 100 sweeps after every few answers: a dashboard query (1.7 MB
// of short-lived records) takes 6.3 ms of processor time with it and 5.5 ms with
// this, for about 40 MB more.
const garbage = 400

func main() {
	time.Local = time.UTC // pgx hands out local times; the service knows UTC only
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "parapet:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 0 {
		for _, c := range commands() {
			if c.name == args[0] {
				return spoken(c.run(ctx, args[1:], out))
			}
		}
	}
	usage(out)
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		return nil
	}
	return fmt.Errorf("there is no command %q", args[0])
}

// spoken is an error of the domain with every member that is wrong: at a terminal
// nobody can look into errors.
func spoken(err error) error {
	var known *model.Error
	if !errors.As(err, &known) || len(known.Fields) == 0 {
		return err
	}
	return withFlaws(err, known.Fields)
}

func withFlaws(err error, fields []model.FieldError) error {
	var lines strings.Builder
	for _, field := range fields {
		lines.WriteString("\n  " + field.Pointer + ": " + field.Detail)
	}
	return fmt.Errorf("%w%s", err, lines.String())
}

func usage(out io.Writer) {
	_, _ = fmt.Fprintln(out, "parapet: parametric protection, from quote to payout")
	_, _ = fmt.Fprintln(out)
	for _, c := range commands() {
		_, _ = fmt.Fprintf(out, "  parapet %-13s %s\n", c.name, c.summary)
	}
	_, _ = fmt.Fprintln(out, "\nparapet COMMAND --help tells a command's flags.")
}

// flags prepares a command's flags; stray arguments are an error, because a
// forgotten dash must not be a silent default.
func flags(name string) *flag.FlagSet {
	set := flag.NewFlagSet("parapet "+name, flag.ContinueOnError)
	return set
}

func parseOnly(set *flag.FlagSet, args []string) error {
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("%s takes no argument %q", set.Name(), set.Arg(0))
	}
	return nil
}
