package model

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"maps"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"parapet/model/account"
	"parapet/model/money"
)

// Report is what a rail says it moved, before its lines.
type Report struct {
	Rail string
	Name string // what the rail, or whoever brings it, calls it
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
	ID      string
	Again   bool               // it had been read before; nothing changed
	Results map[LineResult]int // lines by result
	Missing int                // payouts that this report should have confirmed
}

// reportRow is a report that was read whole. Insert-only.
type reportRow struct {
	bun.BaseModel `bun:"table:rail_reports,alias:rr"`

	ID        uuid.UUID `bun:",pk,type:uuid"`
	CreatedAt time.Time
	Rail      string
	Name      string
	Author    string
	Digest    string
	Lines     int
}

// Reconcile takes a report and holds every line against its payout. It is taken
// whole or not at all: where its lines are not as many, or their sums not what it
// says, or where read fails, nothing is kept. The same report again changes nothing.
// read hands the lines over one by one, from the beginning each time it is called;
// however many there are, memory stays bounded. What was taken is matched even if
// this process dies: the sweep goes on. Operators and rails only. Errors:
// validation_failed.
func (s *Service) Reconcile(ctx context.Context, actor Actor, in Report, read func(each func(ReportLine) error) error) (*Reconciliation, error) {
	if err := s.authorize(ctx, actor, ScopeOperator); err != nil {
		return nil, err
	}
	row := &reportRow{ID: newID(), Rail: in.Rail, Name: in.Name, Author: actor.Name}
	known := errors.New("read before")
	err := s.change(ctx, actor, func(ctx context.Context, u *unit) error {
		row.CreatedAt = u.now
		if _, err := u.NewRaw("select pg_advisory_xact_lock(hashtext('rail report'), hashtext(?))", in.Rail).Exec(ctx); err != nil {
			return fmt.Errorf("lock reports: %w", err)
		}
		t := taking{unit: u, row: row, sum: sha256.New(), sums: map[string]int64{}}
		if err := t.take(ctx, in, read); err != nil {
			return err
		}
		var earlier uuid.UUID
		err := u.NewSelect().Model((*reportRow)(nil)).Column("id").Where("rail = ?", in.Rail).Where("digest = ?", row.Digest).Scan(ctx, &earlier)
		if err == nil {
			row.ID = earlier
			return known
		}
		if !absent(err) {
			return fmt.Errorf("look for the report: %w", err)
		}
		u.about("", nounReport.id(row.ID), nil)
		return insert(ctx, u, row)
	})
	again := errors.Is(err, known)
	if err != nil && !again {
		return nil, err
	}
	if err := s.drain(ctx, (*unit).matchLines); err != nil {
		return nil, err
	}
	if in.Until != nil { // also again: whoever took it may have died before
		if err := s.change(ctx, System(), func(ctx context.Context, u *unit) error { return u.missing(ctx, row, *in.Until) }); err != nil {
			return nil, err
		}
	}
	return s.reconciliation(ctx, row.ID, again)
}

// taking reads a report into the database.
type taking struct {
	*unit

	row  *reportRow
	sum  hash.Hash
	sums map[string]int64
	rows [][]any
}

// takeSize is how many lines are in memory at once.
const takeSize = 1000

func (t *taking) take(ctx context.Context, in Report, read func(each func(ReportLine) error) error) error {
	t.row.Lines = 0
	err := read(func(line ReportLine) error {
		if err := t.line(line); err != nil || len(t.rows) < takeSize {
			return err
		}
		return t.keep(ctx)
	})
	if err == nil {
		err = t.keep(ctx)
	}
	if err != nil {
		return err
	}
	switch {
	case in.Lines != nil && *in.Lines != t.row.Lines:
		return Invalid(wrong("/line_count", "value", fmt.Sprintf("The report says %d lines and has %d; send all of it.", *in.Lines, t.row.Lines)))
	case in.Sums != nil && !maps.Equal(in.Sums, t.sums):
		return Invalid(wrong("/sums", "value", "The sums of the lines, by currency, are not what the report says; send all of it, unchanged."))
	}
	if t.row.Lines == 0 { // what tells one empty report from another is its name
		fmt.Fprintf(t.sum, "nothing in %q\n", in.Name)
	}
	t.row.Digest = hex.EncodeToString(t.sum.Sum(nil))
	return nil
}

func (t *taking) line(line ReportLine) error {
	t.row.Lines++
	at := fmt.Sprintf("/lines/%d", t.row.Lines-1)
	c := fieldCheck{}
	c.that(line.Key != "" || line.Reference != "", at+"/key", "required", "Give the payment's key or the rail's reference.")
	for name, text := range map[string]string{"/key": line.Key, "/reference": line.Reference, "/code": line.Code} {
		c.that(len(text) <= maxRailReference && storable(text), at+name, "length", fmt.Sprintf("Use at most %d bytes.", maxRailReference))
	}
	c.that(line.Account == "" || account.IsMasked(line.Account), at+"/account", "format", "Write the account masked, as iban ····3000: nothing else of it is kept.")
	c.that(money.Known(line.Amount.Currency), at+"/amount/currency", "value", "Use an ISO 4217 code in capitals, such as USD.")
	c.that(line.Amount.Amount >= 0, at+"/amount/amount", "minimum", "Amounts are not negative; the status tells the way.")
	switch line.Status {
	case LineSettled, LineRejected, LineReturned, LineUnderway:
	default:
		c.that(false, at+"/status", "enum", "Use settled, rejected, returned or underway.")
	}
	if len(c.fields) > 0 {
		return Invalid(c.fields...)
	}
	t.sums[line.Amount.Currency] += line.Amount.Amount
	if line.Account != "" { // a report that was taken when lines had none is the same without
		fmt.Fprintf(t.sum, "%q ", line.Account)
	}
	fmt.Fprintf(t.sum, "%q %q %d %s %s %q %s\n", line.Key, line.Reference, line.Amount.Amount, line.Amount.Currency, line.Status, line.Code, line.At.UTC().Format(time.RFC3339Nano))
	t.rows = append(t.rows, []any{
		t.row.ID, t.row.Lines, t.row.Rail, line.Key, line.Reference, line.Amount.Amount, line.Amount.Currency, line.Account, line.Status, line.Code, line.At,
	})
	return nil
}

func (t *taking) keep(ctx context.Context) error {
	columns := []string{"report_id", "number", "rail", "key", "reference", "amount", "currency", "account", "status", "code", "at"}
	_, err := t.pg.CopyFrom(ctx, pgx.Identifier{"rail_report_lines"}, columns, pgx.CopyFromRows(t.rows))
	t.rows = t.rows[:0]
	if err != nil {
		return fmt.Errorf("keep lines: %w", err)
	}
	return nil
}

// missing finds the payouts that went out before the report was made and that no
// report has confirmed. What a report misses it misses once: a finding of it that was
// closed stays closed.
func (u *unit) missing(ctx context.Context, row *reportRow, until time.Time) error {
	_, err := u.NewRaw(`insert into findings (id, created_at, kind, rail, report_id, partner, payout_id)
		select gen_random_uuid(), ?0, 'missing', ?1, ?2, po.partner, po.id from payouts po
		where po.status = 'released' and po.provider = ?1 and po.released_at < ?3
			and not exists (select from findings f where f.payout_id = po.id and f.partner = po.partner and f.kind = 'missing' and f.report_id = ?2)
		on conflict (payout_id, partner) where kind = 'missing' and closed_at is null do nothing`, u.now, row.Rail, row.ID, until).Exec(ctx)
	if err != nil {
		return fmt.Errorf("find what is missing: %w", err)
	}
	return nil
}

func (s *Service) reconciliation(ctx context.Context, id uuid.UUID, again bool) (*Reconciliation, error) {
	answer := &Reconciliation{ID: nounReport.id(id), Again: again, Results: map[string]int{}}
	var counts []struct {
		Result string
		N      int
	}
	err := s.db.NewRaw("select result, count(*) as n from rail_report_lines where report_id = ? and result is not null group by 1", id).Scan(ctx, &counts)
	if err != nil {
		return nil, explain(fmt.Errorf("count lines: %w", err))
	}
	for _, c := range counts {
		answer.Results[c.Result] = c.N
	}
	err = s.db.NewRaw("select count(*) from findings where report_id = ? and kind = 'missing'", id).Scan(ctx, &answer.Missing)
	return answer, explain(err)
}
