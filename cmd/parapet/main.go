// Command parapet is the whole service in one binary: the server, its
// migrations, the development stack and the tools of its operators.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	_ "golang.org/x/crypto/x509roots/fallback" // for containers that have no certificates of their own
)

// The groups of commands in the help.
const (
	groupStart   = "start"
	groupServer  = "server"
	groupOperate = "operate"
	groupProve   = "prove"
	groupHelp    = "help"
)

// newRootCommand returns the command line; results are written to out.
func newRootCommand(out io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use: "parapet", Args: cobra.ArbitraryArgs,
		Long:         "parapet: parametric protection, from quote to payout\n\n" + fileArgumentHelp + "\n\n" + exitCodeHelp,
		SilenceUsage: true, SilenceErrors: true, SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownVerb(cmd, "command", args[0])
		},
	}
	root.PersistentPreRunE = readFileValues
	root.SetOut(out)
	root.SetErr(out)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; %s --help lists the flags", err, cmd.CommandPath())}
	})
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{groupStart, "Try it on this machine:", []*cobra.Command{newDemoCommand(), newDevCommand(), newListenCommand(), newRehearseCommand()}},
		{groupServer, "Run the service:", []*cobra.Command{newInitCommand(), newServeCommand(), newMigrateCommand(), newConfigCommand(), newDoctorCommand(), newHealthCommand(), newKeysCommand(), newBackupCommand(), newRestoreCommand(), newVersionCommand()}},
		{groupOperate, "Operate it:", []*cobra.Command{newLoginCommand(), newLogoutCommand(), newOpsCommand(), newHistoryCommand(), newObserveCommand(), newRailCommand(), newStatementCommand(), newEraseCommand()}},
		{groupProve, "Prove what it did:", []*cobra.Command{newVerifyReceiptCommand(), newVerifyEventsCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, command := range group.commands {
			command.GroupID = group.id
			root.AddCommand(command)
		}
	}
	root.AddGroup(&cobra.Group{ID: groupHelp, Title: "Learn the command line:"})
	root.SetHelpCommandGroupID(groupHelp)
	root.SetCompletionCommandGroupID(groupHelp)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for name, short := range map[string]string{"help": "describe a command", "completion": "write the script that completes commands in a shell"} {
		if command, _, err := root.Find([]string{name}); err == nil {
			command.Short = short
		}
	}
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		addVerbs(completion)
	}
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.RunE = printHelp
	}
	return root
}

// printHelp prints the help of the command that args name.
func printHelp(cmd *cobra.Command, args []string) error {
	found, unknown, err := cmd.Root().Find(args)
	if err != nil {
		return usageError{err}
	}
	if len(unknown) > 0 {
		return unknownVerb(found, "command", unknown[0])
	}
	found.InitDefaultHelpFlag() // its help lists this flag too
	return found.Help()
}

func main() {
	time.Local = time.UTC // pgx returns local times; the service uses UTC only
	tuneGC()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := runCommand(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "parapet:", err)
		os.Exit(exitCode(err))
	}
}

// runCommand runs the command that args name, and writes its results to out.
func runCommand(ctx context.Context, args []string, out io.Writer) error {
	root := newRootCommand(out) //nolint:contextcheck // cobra passes the context
	root.SetArgs(args)
	return withFieldErrors(withDatabaseText(root.ExecuteContext(ctx)))
}

// readFileValues replaces the values @file of text flags by the text of the files, without
// the line break at their ends. Flags with a parser of their own read files themselves.
func readFileValues(cmd *cobra.Command, _ []string) (err error) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if given := flag.Value.String(); flag.Value.Type() == "string" && strings.HasPrefix(given, "@") {
			text, wrong := readArgument(given)
			err = errors.Join(err, wrong, flag.Value.Set(strings.TrimSuffix(text, "\n")))
		}
	})
	if err != nil {
		return usageError{err}
	}
	return nil
}

// noArguments refuses arguments: a forgotten dash must not silently give a default.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%s takes no argument %q", cmd.CommandPath(), args[0])}
	}
	return nil
}

// addVerbs adds the verbs of a command, which does nothing without one.
func addVerbs(parent *cobra.Command, verbs ...*cobra.Command) *cobra.Command {
	parent.Args = cobra.ArbitraryArgs
	parent.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return errors.Join(cmd.Help(), usageError{fmt.Errorf("%s needs a verb", cmd.CommandPath())})
		case args[0] == "help":
			return cmd.Help()
		}
		return unknownVerb(cmd, "verb", args[0])
	}
	parent.SuggestionsMinimumDistance = 2
	parent.AddCommand(verbs...)
	return parent
}

// unknownVerb says which verbs are similar to one that a command does not have.
func unknownVerb(cmd *cobra.Command, kind, verb string) error {
	advice := cmd.CommandPath() + " --help lists them"
	if similar := cmd.SuggestionsFor(verb); len(similar) > 0 {
		advice = "did you mean " + strings.Join(similar, " or ") + "?"
	}
	return usageError{fmt.Errorf("there is no %s %q; %s", kind, verb, advice)}
}
