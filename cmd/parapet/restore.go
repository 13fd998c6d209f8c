package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"parapet/internal/egress"
	"parapet/internal/filestore"
	"parapet/jobs"
	"parapet/model"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/seal"
	"parapet/model/kernel/store"
	"parapet/model/operations"
	"parapet/model/payouts/controls"
)

const restoreHelp = `A database that was restored from a backup has forgotten payouts that were made. Servers notice it and send none.

RUNBOOK.md, "Restore from a backup", has every step.`

// afterBegin is what to do after a restore was begun.
const afterBegin = "Start the workers, which apply the rail's reports; clarify every unknown payment; then run parapet restore finish"

// restoreVerbs maps the steps of a restore to their operation and to the advice on the
// next step.
var restoreVerbs = map[string]struct {
	run  func(*operations.Service, context.Context, actor.Actor, operations.RestoreRequest) (*controls.Restore, error)
	next string
}{
	"begin":   {(*operations.Service).BeginRestore, "payouts are stopped and no event is numbered. " + afterBegin},
	"finish":  {(*operations.Service).FinishRestore, "events are numbered again; to send payouts again, run parapet ops resume-releases"},
	"dismiss": {(*operations.Service).DismissRestore, "payouts are sent again, unless they were stopped before"},
}

// newRestoreCommand handles a database that was restored from a backup. It works on the
// database directly because no server runs yet.
func newRestoreCommand() *cobra.Command {
	return addVerbs(&cobra.Command{Use: "restore", Short: "handle a database that was restored from a backup", Long: restoreHelp},
		newRestoreVerb("status", "say why servers suspect a restore"),
		newRestoreVerb("begin", "it was restored: run this before any worker starts"),
		newRestoreVerb("finish", "the rail's reports are applied and every unknown payment in them is clarified"),
		newRestoreVerb("dismiss", "it was not restored: nothing was lost, as after the promotion of a synchronous standby"))
}

func newRestoreVerb(verb, short string) *cobra.Command {
	var in operations.RestoreRequest
	cmd := &cobra.Command{
		Use: verb, Short: short, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if verb != "status" {
				if err := requireFlags(cmd, "--reason"); err != nil {
					return err
				}
			}
			return runRestore(cmd.Context(), verb, in, cmd.OutOrStdout())
		},
	}
	set := cmd.Flags()
	if verb != "status" {
		set.StringVar(&in.Reason, "reason", "", "why, for the audit log")
	}
	if verb == "finish" || verb == "dismiss" {
		set.BoolVar(&in.WithoutReports, "without-reports", false, "the bank's statement was compared by hand, because the rail does not report what it paid, or not yet")
	}
	if verb == "finish" {
		set.Func("accept-day", "`DAY` without a report, as the refusal names it, that you compared with the bank's statement by hand; repeatable", func(day string) error {
			in.AcceptedDays = append(in.AcceptedDays, day)
			return nil
		})
	}
	return cmd
}

func runRestore(ctx context.Context, verb string, in operations.RestoreRequest, out io.Writer) error {
	s, err := loadSettings()
	if err != nil {
		return err
	}
	able := s.reportCapabilities()
	if verb == "finish" && able.ReportsReturnsOnly && !in.WithoutReports {
		return fmt.Errorf("the reports of %s show only what came back: compare the bank's statement with parapet ops payouts, then add --without-reports", s.Rail)
	}
	in.SettlementDelay = able.SettlementDelay
	if verb == "finish" {
		payment, err := (&app{settings: s, egressGuard: egress.New(egress.Config{Loopback: s.Loopback})}).openRail()
		if err != nil {
			return err
		}
		in.Rail = jobs.IdentityOf(payment)
	}
	service, closeDomain, err := openWithFiles(ctx)
	if err != nil {
		return err
	}
	defer closeDomain()
	if verb == "status" {
		return printRestoreStatus(ctx, service, out)
	}
	restore, err := restoreVerbs[verb].run(service.Operations, ctx, shellActor("restore "+verb), in)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "noticed at %s: %s\n%s\n", restore.NoticedAt.Format(time.RFC3339), restore.Evidence, restoreVerbs[verb].next)
	return nil
}

func printRestoreStatus(ctx context.Context, service *model.Service, out io.Writer) error {
	signs, next, err := readRestoreSigns(ctx, service)
	if err != nil {
		return err
	}
	if signs == "" {
		_, _ = fmt.Fprintln(out, "nothing shows that the database was restored from a backup")
		return nil
	}
	_, _ = fmt.Fprintln(out, signs+"\n"+next)
	return nil
}

// readRestoreSigns returns why the database may have been restored from a backup, empty
// without signs, and what to do next.
func readRestoreSigns(ctx context.Context, service *model.Service) (signs, next string, err error) {
	open, err := controls.LoadOpenRestore(ctx, service.DB)
	if err != nil {
		return "", "", store.TranslateError(err)
	}
	if open != nil && open.BegunAt != nil {
		return fmt.Sprintf("%s The restore was begun at %s.", open.Evidence, open.BegunAt.Format(time.RFC3339)), afterBegin + ".", nil
	}
	signs, err = service.Operations.RestoreSigns(ctx)
	return signs, "If a backup was restored, run parapet restore begin before any worker starts. If nothing was lost, run parapet restore dismiss.", err
}

// openWithFiles opens the domain with the configured file store.
func openWithFiles(ctx context.Context) (*model.Service, func(), error) {
	s, err := loadSettings()
	if err != nil {
		return nil, nil, err
	}
	files, err := filestore.Open(s.Files)
	if err != nil {
		return nil, nil, err
	}
	service, closeDomain, err := openDomain(ctx, files)
	if err != nil {
		_ = files.Close()
		return nil, nil, err
	}
	return service, func() { closeDomain(); _ = files.Close() }, nil
}

// checkRestore checks whether the database was restored from a backup.
func (c *checker) checkRestore(ctx context.Context, keys seal.Keys) {
	service, err := model.New(model.Config{DB: c.db, Files: c.files, Keys: keys})
	var signs, next string
	if err == nil {
		signs, next, err = readRestoreSigns(ctx, service)
	}
	switch {
	case err != nil:
		c.addResult("restore", checkFail, err.Error(), "Read the server's log, and check whether the file store can be read.")
	case signs != "":
		c.addResult("restore", checkFail, signs, "No payout is sent. "+next)
	default:
		c.addResult("restore", checkOK, "nothing shows that a backup was restored", "")
	}
}
