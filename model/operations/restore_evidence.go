package operations

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parapet/model/kernel/apperr"
	"parapet/model/kernel/optional"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
	"parapet/model/payouts/controls"
	"parapet/model/payouts/release"
	"parapet/model/wire"
)

// requireReportsComplete refuses while payments after the backup may be unknown.
func requireReportsComplete(ctx context.Context, tx *store.Tx, row *controls.RestoreRow, in RestoreRequest) error {
	if err := requireNoUnknownPayments(ctx, tx); err != nil {
		return err
	}
	if err := payouts.RequireNoDifferences(ctx, tx, *row.BegunAt); err != nil || in.WithoutReports {
		return err
	}
	missing, err := daysWithoutReport(ctx, tx, row, in)
	if err != nil {
		return err
	}
	for _, accepted := range in.AcceptedDays {
		at := slices.IndexFunc(missing, func(m dayWithoutReport) bool { return m.Name == accepted })
		switch {
		case at < 0:
			return apperr.Fail(apperr.CodeStateConflict, "%s: the day has a report, or needs none; accept only days that need a report and have none.", accepted)
		case !missing[at].Over:
			return apperr.Fail(apperr.CodeStateConflict, "%s: the day is not over, so the bank may still pay on it; accept it after midnight UTC, once you have compared the bank's statement of the whole day.", accepted)
		}
	}
	var names []string
	for _, m := range missing {
		if !slices.Contains(in.AcceptedDays, m.Name) {
			names = append(names, m.Name)
		}
	}
	if n := len(names); n > 0 {
		return apperr.Fail(apperr.CodeStateConflict, "%d days have no report, so payments after the backup may be unknown: %s. Wait for the reports, "+
			"or compare the bank's statement of these days and accept each by name: --accept-day %s.", n, strings.Join(names[:min(n, release.MaxDaysShown)], ", "), names[0])
	}
	return nil
}

// dayWithoutReport is a UTC day without an applied report of a bank.
type dayWithoutReport struct {
	Name string // the name under which operators accept it
	Over bool
}

// daysWithoutReport lists the days without an applied report, from the last heartbeat
// before the restore to the day that confirms the last payment before it. It covers the
// bank that payouts go to, the bank of the last order, which may also have had lost
// orders, and each bank with waiting payouts.
func daysWithoutReport(ctx context.Context, tx *store.Tx, row *controls.RestoreRow, in RestoreRequest) (days []dayWithoutReport, err error) {
	err = tx.NewRaw(`select concat_ws('/', r.rail, nullif(r.bank, ''), to_char(m.day, 'YYYY-MM-DD')) as name, m.day < (clock_timestamp() at time zone 'UTC')::date as over from (
			select ?0 as rail, `+release.BankOf("?1")+` as bank where ?0 <> ''
			union (select a.rail, `+release.BankOf("a.rail_identity")+` from payout_attempts a where a.outcome is distinct from 'not_sent' order by a.started_at desc limit 1)
			union select a.rail, `+release.BankOf("a.rail_identity")+` from payout_attempts a`+release.JoinWaiting+`) r,
		database_identity d, clock c, generate_series(date_trunc('day', d.heartbeat_at at time zone 'UTC'), (?2::timestamptz - c.offset_interval) at time zone 'UTC', interval '1 day') as m (day)
		where `+release.NoReportSQL("r.bank", "t.rail = r.rail")+` order by 1`,
		in.Rail.Name, optional.OrZero(in.Rail.ColumnValue()), row.BegunAt.Add(in.SettlementDelay)).Scan(ctx, &days)
	if err != nil {
		return nil, fmt.Errorf("read the days of reports: %w", err)
	}
	return days, nil
}

// requireNoUnknownPayments refuses while the rail reports unanswered payments that the
// database does not know.
func requireNoUnknownPayments(ctx context.Context, tx *store.Tx) error {
	unknown, err := payouts.CountUnansweredLines(ctx, tx)
	if err != nil {
		return err
	}
	if unknown > 0 {
		return apperr.Fail(apperr.CodeStateConflict, "%d payments that the rail reports are unknown here and unanswered; see parapet ops reconciliation-exceptions.", unknown)
	}
	return nil
}

// requireNothingLost refuses while payments may be lost in a restore that was only
// noticed.
func requireNothingLost(ctx context.Context, tx *store.Tx, row *controls.RestoreRow, in RestoreRequest) error {
	if err := requireNoUnknownPayments(ctx, tx); err != nil || in.WithoutReports {
		return err
	}
	database, err := readDatabaseIdentity(ctx, tx, "")
	if err != nil {
		return err
	}
	if lost := row.FileStoreHeartbeat - database.Heartbeat; lost > 0 {
		return apperr.Fail(apperr.CodeStateConflict, "The database lacks %d heartbeats, so commits after %s are lost, and payments may be among them. Compare the bank's statement with parapet ops payouts: "+
			"if it has a payment that is not there, run parapet restore begin; otherwise add --without-reports.", lost, wire.FormatTime(database.HeartbeatAt))
	}
	return nil
}
