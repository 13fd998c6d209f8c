package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"parapet/jobs/rail"
	"parapet/model"
	"parapet/model/kernel/actor"
	"parapet/model/payouts/reconciliation"
)

// Reconcile compares a rail's report of a UTC day with the payouts. An invalid report, or
// one that was already applied, changes nothing. A payout that should have been settled
// by the end of the day and was never reported is missing, unless the rail's reports
// confirm nothing. Errors: rail.ErrNoReport, rail.ErrInvalidReport.
func Reconcile(ctx context.Context, service *model.Service, from rail.Rail, day time.Time) (*reconciliation.Reconciliation, error) {
	report := reconciliation.Report{Rail: from.Name(), Bank: new(IdentityOf(from)), Name: day.Format(time.DateOnly)}
	if able := from.Capabilities(); !able.ReportsReturnsOnly {
		report.Until = new(day.AddDate(0, 0, 1).Add(-able.SettlementDelay))
	}
	return service.Reconciliation.Reconcile(ctx, actor.System(), report, func(each func(reconciliation.ReportLine) error) error {
		return from.Report(ctx, day, func(line rail.Line) error {
			return each(toReportLine(line))
		})
	})
}

func toReportLine(line rail.Line) reconciliation.ReportLine {
	return reconciliation.ReportLine{
		Key: line.Key, Reference: line.Reference, Amount: line.Amount, Account: line.Payee, Status: string(line.Status), Code: line.Code, At: line.Date,
	}
}

// The schedule of report requests.
const (
	reportInterval = time.Hour
	// reportDelay is how long after midnight a day's report is first requested: payments
	// just before midnight must be in the rail's books.
	reportDelay = 10 * time.Minute
	// maxReportDelay is how long a rail may take to report a day; banks report nothing on
	// non-working days.
	maxReportDelay = 10 * 24 * time.Hour
	// settlementGrace is how long after settlement a report may confirm a payout, because
	// banks report nothing on weekends and holidays. After it the payout is missing, even
	// if the rail does not report.
	settlementGrace = 4 * 24 * time.Hour
)

// FetchReports requests the rail's reports of past days.
type FetchReports struct{}

// Kind is the job's stable name.
func (FetchReports) Kind() string { return "fetch_reports" }

// fetchReports catches up with every missed day, the oldest first. An invalid report
// stops it until the next run, because a return must not be applied before its payment.
type fetchReports struct {
	river.WorkerDefaults[FetchReports]

	service *model.Service
	rail    rail.Rail
	log     *slog.Logger
}

// Timeout implements river.Worker.
func (*fetchReports) Timeout(*river.Job[FetchReports]) time.Duration { return reportInterval }

// Work implements river.Worker.
func (w *fetchReports) Work(ctx context.Context, job *river.Job[FetchReports]) error {
	err := w.applyReportsUntil(ctx, job.CreatedAt) // a rail's days are UTC in real time, not business time
	return errors.Join(err, w.findMissing(ctx))
}

// findMissing opens exceptions for payouts that no report confirmed in time. It does not
// depend on any report; otherwise a rail without valid reports would never have missing
// payouts.
func (w *fetchReports) findMissing(ctx context.Context) error {
	able, own := w.rail.Capabilities(), time.Duration(0)
	if !able.ReportsReturnsOnly {
		own = able.SettlementDelay + settlementGrace
	}
	opened, err := w.service.Reconciliation.OpenMissingExceptions(ctx, w.rail.Name(), own, maxReportDelay)
	if opened > 0 {
		w.log.ErrorContext(ctx, "payouts are missing in the reports of their rail", "rail", w.rail.Name(), "count", opened)
	}
	return err
}

// applyReportsUntil applies the reports of all days that had ended at now.
func (w *fetchReports) applyReportsUntil(ctx context.Context, now time.Time) error {
	today := now.Add(-reportDelay).UTC().Truncate(24 * time.Hour)
	days, err := w.service.Reconciliation.MissingReportDays(ctx, IdentityOf(w.rail), today)
	if err != nil {
		return err
	}
	for _, day := range days {
		done, err := Reconcile(ctx, w.service, w.rail, day)
		switch {
		case errors.Is(err, rail.ErrNoReport) && today.Sub(day) < maxReportDelay:
			continue
		case errors.Is(err, rail.ErrNoReport):
			w.log.WarnContext(ctx, "rail has no report of a day: it is not requested again", "rail", w.rail.Name(), "day", day.Format(time.DateOnly))
			done = new(reconciliation.Reconciliation)
		case err != nil:
			return fmt.Errorf("reconcile %s of %s: %w", w.rail.Name(), day.Format(time.DateOnly), err)
		}
		if err := w.service.Reconciliation.SaveReportDay(ctx, IdentityOf(w.rail), day, done.ID); err != nil {
			return err
		}
	}
	return nil
}
