package reconciliation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/money"
	"parapet/model/payouts"
)

// Report is the header of a rail's report of its payments, without the lines.
type Report struct {
	Rail string
	Bank *payouts.RailIdentity // the bank that made it; nil for a report that a person imports: the rail's name decides
	Name string                // name given by the rail, or by the person who imports it
	// Lines and Sums, by currency, are the totals stated in the report. Nil if the
	// reader guarantees completeness, as a rail's own reader does.
	Lines *int
	Sums  map[string]int64
	// Until is the time of the report: payouts released before it and never confirmed
	// are missing. Nil skips that check.
	Until *time.Time
}

// ReportLine is one line of a report.
type ReportLine struct {
	Key       string // our key; empty if the rail did not carry it
	Reference string // the rail's reference
	Amount    money.Money
	Account   string // the paid account, masked: «iban ····3000»; empty if the report has none
	Status    LineStatus
	Code      string // the rail's reason code
	At        time.Time
}

// LineStatus is the status of a payment in a report line.
type LineStatus = string

// Statuses of a payment in a report.
const (
	LineSettled  LineStatus = "settled"
	LineRejected LineStatus = "rejected"
	LineReturned LineStatus = "returned"
	LineUnderway LineStatus = "underway"
)

// Reconciliation is the result of importing a report.
type Reconciliation struct {
	ID              string
	AlreadyImported bool                       // the report was imported before; nothing changed
	Results         map[payouts.LineResult]int // lines by result
	Missing         int                        // payouts that this report should have confirmed
}

// reportRow is a completely read report. Insert-only.
type reportRow struct {
	bun.BaseModel `bun:"table:rail_reports,alias:rr"`

	ID        uuid.UUID `bun:",pk,type:uuid"`
	CreatedAt time.Time
	Rail      string
	Name      string
	Author    actor.PersonID
	Digest    string
	Lines     int

	RailIdentity *string
}

// Reconcile imports a report and matches each line with its payout. It imports all or
// nothing: if the number of lines or their sums differ from the stated totals, or if
// read fails, nothing is stored. Importing the same report again changes nothing. read
// passes on the lines one by one and is called once, before any transaction begins;
// memory is bounded for any number of lines. Imported lines are matched even if this
// process dies, because the sweep continues. Operators and rails only. Errors:
// validation_failed.
func (s *Service) Reconcile(ctx context.Context, caller actor.Actor, in Report, read func(each func(ReportLine) error) error) (*Reconciliation, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	spool, err := readReport(in, read)
	if err != nil {
		return nil, err
	}
	defer func() { _ = spool.close() }()
	row := &reportRow{ID: store.NewID(), Rail: in.Rail, Name: in.Name, Author: caller.PersonID(), Lines: spool.count, Digest: spool.hexDigest()}
	if in.Bank != nil {
		row.RailIdentity = in.Bank.ColumnValue()
	}
	again, err := s.saveReport(ctx, caller, row, spool)
	if err != nil {
		return nil, err
	}
	if err := MatchReports(ctx, s.Store, UntilDone); err != nil {
		return nil, err
	}
	if in.Until != nil { // on a repeated import too: the first importer may have died before
		if err := s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error { return openMissingOfReport(ctx, tx, row, *in.Until) }); err != nil {
			return nil, err
		}
	}
	return s.loadReconciliation(ctx, row.ID, again)
}

// saveReport saves a report and its lines. If the report was saved before, again is
// true and row gets the id of the saved report.
func (s *Service) saveReport(ctx context.Context, actor actor.Actor, row *reportRow, spool *reportSpool) (again bool, err error) {
	known := errors.New("saved before")
	err = s.InTx(ctx, actor, func(ctx context.Context, tx *store.Tx) error {
		row.CreatedAt = tx.Now
		if _, err := tx.NewRaw("select pg_advisory_xact_lock(hashtext('rail report'), hashtext(?))", row.Rail).Exec(ctx); err != nil {
			return fmt.Errorf("lock reports: %w", err)
		}
		var earlier uuid.UUID
		err := tx.NewSelect().Model((*reportRow)(nil)).Column("id").Where("rail = ?", row.Rail).Where("digest = ?", row.Digest).
			Where("rail_identity is not distinct from ?", row.RailIdentity).Scan(ctx, &earlier)
		if err == nil {
			row.ID = earlier
			return known
		}
		if !store.IsNoRows(err) {
			return fmt.Errorf("look for the report: %w", err)
		}
		if err := spool.saveLines(ctx, tx, row.ID, row.Rail); err != nil {
			return err
		}
		tx.Describe("", store.ResourceReport.FormatID(row.ID), nil)
		return store.InsertRows(ctx, tx, row)
	})
	if errors.Is(err, known) {
		return true, nil
	}
	return false, err
}

func (s *Service) loadReconciliation(ctx context.Context, id uuid.UUID, again bool) (*Reconciliation, error) {
	answer := &Reconciliation{ID: store.ResourceReport.FormatID(id), AlreadyImported: again, Results: map[string]int{}}
	var counts []struct {
		Result string
		N      int
	}
	err := s.DB.NewRaw("select match_result as result, count(*) as n from rail_report_lines where report_id = ? and match_result is not null group by 1", id).Scan(ctx, &counts)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("count lines: %w", err))
	}
	for _, c := range counts {
		answer.Results[c.Result] = c.N
	}
	err = s.DB.NewRaw("select count(*) from reconciliation_exceptions where report_id = ? and kind = 'missing'", id).Scan(ctx, &answer.Missing)
	return answer, store.TranslateError(err)
}
