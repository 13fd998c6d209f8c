package jobs

import (
	"context"
	"time"

	"parapet/jobs/rail"
	"parapet/model"
)

// Reconcile holds a rail's own report of a UTC day against the payouts. A report
// that is broken changes nothing, and neither does one that was taken before.
// Errors: rail.ErrNoReport, rail.ErrBroken.
func Reconcile(ctx context.Context, service *model.Service, from rail.Rail, day time.Time) (*model.Reconciliation, error) {
	report := model.Report{Rail: from.Name(), Name: day.Format(time.DateOnly)}
	return service.Reconcile(ctx, model.System(), report, func(each func(model.ReportLine) error) error {
		return from.Report(ctx, day, func(line rail.Line) error {
			return each(model.ReportLine{
				Key: line.Key, Reference: line.Reference, Amount: line.Amount, Status: string(line.Status), Code: line.Code, At: line.Date,
			})
		})
	})
}
