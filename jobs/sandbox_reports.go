package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"parapet/jobs/rail"
	"parapet/model/kernel/actor"
	"parapet/model/payouts/reconciliation"
)

// maxReportLines bounds one report of the simulator.
const maxReportLines = 1000

// queueReportsSQL gives a line to the transfers that were paid some time ago ($1 seconds).
const queueReportsSQL = `with paid as (
	update simulator_transfers set reported = true where key in (
		select key from simulator_transfers where not reported and created_at < clock_timestamp() - make_interval(secs => $1) order by created_at limit $2)
	returning key, transfer)
insert into simulator_report_lines (key, outcome) select key, coalesce(transfer->>'reported', 'settle') from paid where transfer->>'outcome' = 'accepted' order by key`

// reportTransfers makes reports of the simulator's transfers within the day, and reconciles
// them as any other report. A report is named before it is reconciled, so that a restart
// imports the same lines again, which changes nothing.
func (w *sandboxWorker) reportTransfers(ctx context.Context) error {
	if w.settleAfter > 0 {
		if _, err := w.pool.Exec(ctx, queueReportsSQL, w.settleAfter.Seconds(), maxReportLines); err != nil {
			return fmt.Errorf("queue report lines: %w", err)
		}
	}
	_, err := w.pool.Exec(ctx, `update simulator_report_lines set report = $1 where number in (
		select number from simulator_report_lines where report is null and not imported order by number limit $2)`, "intraday "+uuid.NewString(), maxReportLines)
	if err != nil {
		return fmt.Errorf("name report: %w", err)
	}
	rows, err := w.pool.Query(ctx, "select report from simulator_report_lines where not imported group by report order by min(number)")
	if err != nil {
		return fmt.Errorf("find reports: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("find reports: %w", err)
	}
	for _, name := range names {
		if err := w.reconcileReport(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// reconcileReport reconciles one report.
func (w *sandboxWorker) reconcileReport(ctx context.Context, name string) error {
	rows, err := w.pool.Query(ctx, `select t.transfer::text, l.outcome, l.created_at from simulator_report_lines l join simulator_transfers t on t.key = l.key
		where l.report = $1 order by l.number`, name)
	if err != nil {
		return fmt.Errorf("read report: %w", err)
	}
	lines, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (line rail.Line, err error) {
		var transfer rail.SimulatedTransfer
		var body, outcome string
		var at time.Time
		if err = row.Scan(&body, &outcome, &at); err == nil {
			err = json.Unmarshal([]byte(body), &transfer)
		}
		return transfer.ReportLine(outcome, at), err
	})
	if err != nil {
		return fmt.Errorf("read report: %w", err)
	}
	report := reconciliation.Report{Rail: w.rail.Name(), Bank: new(IdentityOf(w.rail)), Name: name}
	_, err = w.service.Reconciliation.Reconcile(ctx, actor.System(), report, func(each func(reconciliation.ReportLine) error) error {
		for _, line := range lines {
			if err := each(toReportLine(line)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		_, err = w.pool.Exec(ctx, "update simulator_report_lines set imported = true where report = $1", name)
	}
	return err
}
