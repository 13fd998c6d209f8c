package reconciliation

import (
	"context"
	"fmt"
	"time"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/optional"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
	"parapet/model/payouts/release"
)

// MissingReportDays lists the UTC days, oldest first, for which a bank's report has not
// been imported: from the bank's first payment to the day before until. While no worker
// records heartbeats, the days also count from the last heartbeat: the database may
// have been restored to a time before its first payment.
func (s *Service) MissingReportDays(ctx context.Context, rail payouts.RailIdentity, until time.Time) ([]time.Time, error) {
	var days []time.Time
	err := s.DB.NewRaw(`select d.day at time zone 'UTC' as day
		from generate_series(least((select date_trunc('day', (min(a.started_at) - (select offset_interval from clock)) at time zone 'UTC') from payout_attempts a`+release.JoinIdentitySQL+`
					where not `+fmt.Sprintf(release.OtherBankSQL, "?0", "?1")+`),
				(select date_trunc('day', heartbeat_at at time zone 'UTC') from database_identity)),
			(?2::timestamptz at time zone 'UTC')::date - 1, interval '1 day') as d (day)
		where not exists (select from rail_report_days t where t.rail = ?0 and `+release.BankOf("t.rail_identity")+` = `+release.BankOf("?1")+` and t.day = d.day) order by 1`,
		rail.Name, optional.OrZero(rail.ColumnValue()), until).Scan(ctx, &days)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("find days to report: %w", err))
	}
	for i := range days {
		days[i] = days[i].UTC()
	}
	return days, nil
}

// SaveReportDay stores that a day's report of a bank was imported; an empty report
// means that the bank had none. A stored day does not change.
func (s *Service) SaveReportDay(ctx context.Context, rail payouts.RailIdentity, day time.Time, report string) error {
	return s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		var id any
		if report != "" {
			parsed, err := store.ResourceReport.ParseID(report)
			if err != nil {
				return err
			}
			id = parsed
		}
		_, err := tx.NewRaw("insert into rail_report_days (rail, rail_identity, day, taken_at, report_id) values (?, ?, ?, ?, ?) on conflict do nothing",
			rail.Name, optional.OrZero(rail.ColumnValue()), day.UTC().Format(time.DateOnly), tx.Now, id).Exec(ctx)
		if err != nil {
			return fmt.Errorf("keep a day of reports: %w", err)
		}
		return nil
	})
}
