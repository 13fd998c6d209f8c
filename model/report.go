package model

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/money"
)

// Report is what a rail says it moved, before its lines.
type Report struct {
	Rail string
	Bank *RailIdentity // that made it; nil where a person brings it: the name of the rail decides
	Name string        // what the rail, or whoever brings it, calls it
	// Lines and Sums, by currency, are what the report says of itself. Nil where the
	// reader vouches for the whole, as a rail's own reader does.
	Lines *int
	Sums  map[string]int64
	// Until is when the report was made: what was released before and never confirmed
	// is missing. Nil looks for nothing.
	Until *time.Time
}

// ReportLine is one line of it.
type ReportLine struct {
	Key       string // ours; empty where the rail did not carry it
	Reference string // the rail's
	Amount    money.Money
	Account   string // that was paid, masked: «iban ····3000»; empty where the report does not tell
	Status    LineStatus
	Code      string // why, in the rail's own word
	At        time.Time
}

// LineStatus is what a line says of its payment.
type LineStatus = string

// What a rail says of a payment.
const (
	LineSettled  LineStatus = "settled"
	LineRejected LineStatus = "rejected"
	LineReturned LineStatus = "returned"
	LineUnderway LineStatus = "underway"
)

// Reconciliation is what became of a report.
type Reconciliation struct {
	ID              string
	AlreadyImported bool               // it had been read before; nothing changed
	Results         map[LineResult]int // lines by result
	Missing         int                // payouts that this report should have confirmed
}

// reportRow is a report that was read whole. Insert-only.
type reportRow struct {
	bun.BaseModel `bun:"table:rail_reports,alias:rr"`

	ID        uuid.UUID `bun:",pk,type:uuid"`
	CreatedAt time.Time
	Rail      string
	Name      string
	Author    personID
	Digest    string
	Lines     int

	RailIdentity *string
}

// Reconcile takes a report and holds every line against its payout. It is taken
// whole or not at all: where its lines are not as many, or their sums not what it
// says, or where read fails, nothing is kept. The same report again changes nothing.
// read hands the lines over one by one and is called once, before any transaction
// begins; however many there are, memory stays bounded. What was taken is matched even if
// this process dies: the sweep goes on. Operators and rails only. Errors:
// validation_failed.
func (s *Service) Reconcile(ctx context.Context, actor Actor, in Report, read func(each func(ReportLine) error) error) (*Reconciliation, error) {
	if err := s.authorize(ctx, actor, ScopeOperator); err != nil {
		return nil, err
	}
	spool, err := readReport(in, read)
	if err != nil {
		return nil, err
	}
	defer func() { _ = spool.close() }()
	row := &reportRow{ID: newID(), Rail: in.Rail, Name: in.Name, Author: actor.personID(), Lines: spool.count, Digest: spool.hexDigest()}
	if in.Bank != nil {
		row.RailIdentity = in.Bank.columnValue()
	}
	again, err := s.saveReport(ctx, actor, row, spool)
	if err != nil {
		return nil, err
	}
	if err := s.matchReports(ctx, untilDone); err != nil {
		return nil, err
	}
	if in.Until != nil { // also again: whoever took it may have died before
		if err := s.InTx(ctx, System(), func(ctx context.Context, tx *Tx) error { return tx.openMissingOfReport(ctx, row, *in.Until) }); err != nil {
			return nil, err
		}
	}
	return s.loadReconciliation(ctx, row.ID, again)
}

// saveReport saves a report and its lines; again is true, and row has the id of the
// report that is there, where it was saved before.
func (s *Service) saveReport(ctx context.Context, actor Actor, row *reportRow, spool *reportSpool) (again bool, err error) {
	known := errors.New("saved before")
	err = s.InTx(ctx, actor, func(ctx context.Context, tx *Tx) error {
		row.CreatedAt = tx.now
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
		if !isNoRows(err) {
			return fmt.Errorf("look for the report: %w", err)
		}
		if err := spool.saveLines(ctx, tx, row.ID, row.Rail); err != nil {
			return err
		}
		tx.describe("", resourceReport.formatID(row.ID), nil)
		return insertRows(ctx, tx, row)
	})
	if errors.Is(err, known) {
		return true, nil
	}
	return false, err
}

func (s *Service) loadReconciliation(ctx context.Context, id uuid.UUID, again bool) (*Reconciliation, error) {
	answer := &Reconciliation{ID: resourceReport.formatID(id), AlreadyImported: again, Results: map[string]int{}}
	var counts []struct {
		Result string
		N      int
	}
	err := s.db.NewRaw("select result, count(*) as n from rail_report_lines where report_id = ? and result is not null group by 1", id).Scan(ctx, &counts)
	if err != nil {
		return nil, translateError(fmt.Errorf("count lines: %w", err))
	}
	for _, c := range counts {
		answer.Results[c.Result] = c.N
	}
	err = s.db.NewRaw("select count(*) from findings where report_id = ? and kind = 'missing'", id).Scan(ctx, &answer.Missing)
	return answer, translateError(err)
}
