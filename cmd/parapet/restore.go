package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"parapet/internal/egress"
	"parapet/internal/filestore"
	"parapet/jobs"
	"parapet/model"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/seal"
	"parapet/model/operations"
	"parapet/model/payouts/controls"
)

const restoreUsage = `A database that was restored from a backup has forgotten payouts that were made. Servers notice it and send none.

  parapet restore status                  why servers suspect a restore
  parapet restore begin --reason "…"      it was restored: run this before any worker starts
  parapet restore finish --reason "…"     the rail's reports are applied and every unknown payment in them is clarified
  parapet restore dismiss --reason "…"    it was not restored: nothing was lost, as after the promotion of a synchronous standby

RUNBOOK.md, "Restore from a backup", has every step.
`

// restoreVerbs maps the steps of a restore to their operation and to the advice on the
// next step.
var restoreVerbs = map[string]struct {
	run  func(*operations.Service, context.Context, actor.Actor, operations.RestoreRequest) (*controls.Restore, error)
	next string
}{
	"begin":   {(*operations.Service).BeginRestore, "payouts are stopped and no event is numbered. Start the workers, which apply the rail's reports; clarify every unknown payment; then run parapet restore finish"},
	"finish":  {(*operations.Service).FinishRestore, "events are numbered again; to send payouts again, run parapet ops resume-releases"},
	"dismiss": {(*operations.Service).DismissRestore, "payouts are sent again, unless they were stopped before"},
}

// runRestore handles a database that was restored from a backup. It works on the database
// directly because no server runs yet.
func runRestore(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 || args[0] != "status" && restoreVerbs[args[0]].run == nil {
		_, _ = fmt.Fprint(out, restoreUsage)
		return errors.New("use: parapet restore status, begin, finish or dismiss")
	}
	var in operations.RestoreRequest
	set := newFlagSet("restore " + args[0])
	if args[0] != "status" {
		set.StringVar(&in.Reason, "reason", "", "why, for the audit log")
	}
	if args[0] == "finish" || args[0] == "dismiss" {
		set.BoolVar(&in.WithoutReports, "without-reports", false, "the bank's statement was compared by hand, because the rail does not report what it paid, or not yet")
	}
	if args[0] == "finish" {
		set.Func("accept-day", "`DAY` without a report, as the refusal names it, that you compared with the bank's statement by hand; repeatable", func(day string) error {
			in.AcceptedDays = append(in.AcceptedDays, day)
			return nil
		})
	}
	if err := parseFlags(set, args[1:]); err != nil {
		return err
	}
	s, err := loadSettings()
	if err != nil {
		return err
	}
	able := s.reportCapabilities()
	if args[0] == "finish" && able.ReportsReturnsOnly && !in.WithoutReports {
		return fmt.Errorf("the reports of %s show only what came back: compare the bank's statement with parapet ops payouts, then add --without-reports", s.Rail)
	}
	in.SettlementDelay = able.SettlementDelay
	if args[0] == "finish" {
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
	if args[0] == "status" {
		return printRestoreStatus(ctx, service, out)
	}
	restore, err := restoreVerbs[args[0]].run(service.Operations, ctx, shellActor("restore "+args[0]), in)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "noticed at %s: %s\n%s\n", restore.NoticedAt.Format(time.RFC3339), restore.Evidence, restoreVerbs[args[0]].next)
	return nil
}

func printRestoreStatus(ctx context.Context, service *model.Service, out io.Writer) error {
	signs, err := service.Operations.RestoreSigns(ctx)
	if err != nil {
		return err
	}
	if signs == "" {
		_, _ = fmt.Fprintln(out, "nothing shows that the database was restored from a backup")
		return nil
	}
	_, _ = fmt.Fprintln(out, signs)
	return nil
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
	var signs string
	if err == nil {
		signs, err = service.Operations.RestoreSigns(ctx)
	}
	switch {
	case err != nil:
		c.addResult("restore", checkFail, err.Error(), "Read the server's log, and check whether the file store can be read.")
	case signs != "":
		c.addResult("restore", checkFail, signs, "No payout is sent. If a backup was restored, run parapet restore begin before any worker starts. If nothing was lost, run parapet restore dismiss.")
	default:
		c.addResult("restore", checkOK, "nothing shows that a backup was restored", "")
	}
}
