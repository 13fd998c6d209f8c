package ledger

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/optional"
	"parapet/model/kernel/store"
	"parapet/model/money"
	"parapet/model/partners"
)

// ledgerRow is one entry with the type of its event.
type ledgerRow struct {
	bun.BaseModel `bun:"table:ledger_entries,alias:le"`

	EventID  uuid.UUID `bun:",pk,type:uuid"`
	Partner  string    `bun:",pk"`
	Account  Account
	PolicyID uuid.UUID  `bun:"type:uuid"`
	ClaimID  *uuid.UUID `bun:"type:uuid"`
	PayoutID *uuid.UUID `bun:"type:uuid"`
	Currency string
	Amount   int64
	At       time.Time
	Type     event.Type `bun:",scanonly"`
}

// Entry is one entry of a posting set.
type Entry struct {
	At       time.Time
	EventID  string // identifies the posting set
	Type     event.Type
	Account  Account
	Partner  string
	PolicyID string
	ClaimID  *string
	PayoutID *string
	Amount   money.Money // a debit is positive, a credit negative
}

func (r *ledgerRow) toRecord() Entry {
	return Entry{
		At: r.At, EventID: store.ResourceEvent.FormatID(r.EventID), Type: r.Type, Account: r.Account, Partner: r.Partner, PolicyID: store.ResourcePolicy.FormatID(r.PolicyID),
		ClaimID: store.ResourceClaim.FormatOptionalID(r.ClaimID), PayoutID: store.ResourcePayout.FormatOptionalID(r.PayoutID), Amount: money.New(r.Amount, r.Currency),
	}
}

// Statement shows the entries of the ledger in [From, To) with the balances before and
// after. Each part is read when it is requested, in its own snapshot.
type Statement struct {
	From, To time.Time

	untilNow bool // the caller gave no end: To is when the statement was opened
	*ledgerQuery
}

// OpenStatement validates the request for a statement. Without to it ends now, without
// from it begins with the first entry. Errors: parameter_invalid, not_found for an
// unknown partner, partner_mismatch.
func (s *Service) OpenStatement(ctx context.Context, actor actor.Actor, f Filter, from, to *time.Time) (*Statement, error) {
	view, err := s.newLedgerQuery(ctx, actor, f)
	if err != nil {
		return nil, err
	}
	// An empty statement for an unknown partner would hide a misspelt name.
	if f.Partner != "" {
		if err := partners.LoadPartner(ctx, s.DB.NewSelect().Model(new(partners.PartnerRow)), f.Partner); err != nil {
			return nil, store.TranslateError(err)
		}
	}
	if f.Currency != "" && !money.IsCurrency(f.Currency) {
		return nil, apperr.InvalidParameter("currency", "Use an ISO 4217 code in capitals, such as USD.")
	}
	now, err := s.ReadClock(ctx)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("read clock: %w", err))
	}
	statement := &Statement{From: optional.Or(from, time.Unix(0, 0)).UTC(), To: optional.Or(to, now).UTC(), untilNow: to == nil, ledgerQuery: view}
	if !statement.From.Before(statement.To) {
		return nil, apperr.InvalidParameter("from", "It must be before to.")
	}
	return statement, nil
}

// Opening returns the balances at the start of the statement.
func (t *Statement) Opening(ctx context.Context) ([]Balance, error) {
	return t.sumBalances(ctx, t.svc.DB, false, &t.From)
}

// Closing returns the balances at the end of the statement.
func (t *Statement) Closing(ctx context.Context) ([]Balance, error) {
	return t.sumBalances(ctx, t.svc.DB, false, &t.To)
}

// entriesQuery selects the statement's entries, oldest first.
func (t *Statement) entriesQuery(db bun.IDB) *bun.SelectQuery {
	return t.applyFilter(db.NewSelect().Model((*ledgerRow)(nil))).Where("le.at >= ?", t.From).Where("le.at < ?", t.To).
		ColumnExpr("le.*, e.type").Join("join events as e on e.id = le.event_id and e.partner = le.partner").
		OrderExpr("le.at, le.event_id, le.account")
}

// Entries returns a page of the statement's entries, oldest first. Without a given end,
// the pages after the first end where the first ended: their cursors carry the time.
// Errors: parameter_invalid, cursor_invalid.
func (t *Statement) Entries(ctx context.Context, in store.PageRequest) (*store.Page[Entry], error) {
	shown, end := *t, strconv.FormatInt(t.To.UnixMicro(), 10)
	if t.untilNow {
		end = "now"
	}
	p, err := t.svc.ParsePage(t.actor, in, fmt.Sprintf("statement/%q/%v/%q/%d/%s", t.partner, t.policy, t.currency, t.From.UnixMicro(), end), store.SortOldestFirst)
	if err != nil {
		return nil, err
	}
	parts := strings.Split(p.After, "/")
	if t.untilNow && len(parts) == 4 {
		if shown.To, err = time.Parse(time.RFC3339Nano, parts[3]); err != nil {
			return nil, fmt.Errorf("cursor of a statement: %w", err)
		}
	}
	p.Count = t.svc.NewCounter(t.applyFilter(t.svc.DB.NewSelect().Model((*ledgerRow)(nil))).ColumnExpr("1").Where("le.at >= ?", shown.From).Where("le.at < ?", shown.To))
	q := shown.entriesQuery(t.svc.DB).Limit(p.FetchLimit())
	if len(parts) >= 3 {
		at, err := time.Parse(time.RFC3339Nano, parts[0])
		if err != nil {
			return nil, fmt.Errorf("cursor of a statement: %w", err)
		}
		q = q.Where("(le.at, le.event_id, le.account) > (?, ?::uuid, ?)", at, parts[1], parts[2])
	}
	var rows []ledgerRow
	if err := q.Scan(ctx, &rows); err != nil {
		return nil, store.TranslateError(fmt.Errorf("read the ledger: %w", err))
	}
	return store.NewPage(p, rows, func(r *ledgerRow) string {
		key := fmt.Sprintf("%s/%s/%s", r.At.Format(time.RFC3339Nano), r.EventID, r.Account)
		if t.untilNow {
			key += "/" + shown.To.Format(time.RFC3339Nano)
		}
		return key
	}, (*ledgerRow).toRecord)
}

// statementColumns are the columns of a statement in CSV.
var statementColumns = []string{"at", "event_id", "event_type", "account", "currency", "amount", "balance", "partner", "policy_id", "claim_id", "payout_id"}

// These mark the lines of a statement that are not entries.
const (
	statementOpening = "opening_balance"
	statementClosing = "closing_balance"
)

// WriteCSV writes the whole statement, of any length, as RFC 4180 text: the opening
// balance of each account, every entry with the balance after it, and the closing
// balances. Amounts are whole minor units; a debit is positive. It reads one snapshot, so
// that the balances always agree with the entries.
func (t *Statement) WriteCSV(ctx context.Context, to io.Writer) error {
	return t.svc.ReadSnapshot(ctx, func(ctx context.Context, tx bun.Tx, _ time.Time) error {
		opening, err := t.sumBalances(ctx, tx, false, &t.From)
		if err != nil {
			return err
		}
		out := statementWriter{Writer: csv.NewWriter(to), balances: map[string]int64{}}
		out.UseCRLF = true
		out.writeLine(statementColumns...)
		for _, b := range opening {
			out.balances[string(b.Account)+b.Balance.Currency] = b.Balance.Amount
			out.writeBalance(t.From, statementOpening, b)
		}
		rows, err := t.entriesQuery(tx).Rows(ctx)
		if err != nil {
			return fmt.Errorf("read the ledger: %w", err)
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var row ledgerRow
			if err := t.svc.DB.ScanRow(ctx, rows, &row); err != nil {
				return fmt.Errorf("read an entry: %w", err)
			}
			out.writeEntry(row.toRecord())
		}
		if err := rows.Err(); err != nil {
			return fmt.Errorf("read the ledger: %w", err)
		}
		closing, err := t.sumBalances(ctx, tx, false, &t.To)
		if err != nil {
			return err
		}
		for _, b := range closing {
			out.writeBalance(t.To, statementClosing, b)
		}
		out.Flush()
		return out.Error()
	})
}

// maxStatementBytes is the maximum length of a statement that is returned as one text.
const maxStatementBytes = 4 << 20

// boundedText is a text buffer with a maximum length.
type boundedText struct{ strings.Builder }

// Write returns an error when the text would become too long.
func (b *boundedText) Write(text []byte) (int, error) {
	if b.Len()+len(text) > maxStatementBytes {
		return 0, apperr.InvalidParameter("from", "The statement is longer than 4 MiB of text; ask for a shorter period, or for one policy.")
	}
	return b.Builder.Write(text)
}

// CSV returns the output of WriteCSV. Errors: parameter_invalid when it is too long.
func (t *Statement) CSV(ctx context.Context) (string, error) {
	text := new(boundedText)
	err := t.WriteCSV(ctx, text)
	return text.String(), err
}

// statementWriter tracks the running balance of each account and currency.
type statementWriter struct {
	*csv.Writer

	balances map[string]int64
}

// writeLine writes one record; csv keeps the first error for Error.
func (w *statementWriter) writeLine(fields ...string) { _ = w.Write(fields) }

func (w *statementWriter) writeBalance(at time.Time, kind string, b Balance) {
	w.writeLine(at.Format(time.RFC3339Nano), "", kind, string(b.Account), b.Balance.Currency, "", strconv.FormatInt(b.Balance.Amount, 10), "", "", "", "")
}

func (w *statementWriter) writeEntry(e Entry) {
	account := string(e.Account) + e.Amount.Currency
	w.balances[account] += e.Amount.Amount
	w.writeLine(e.At.UTC().Format(time.RFC3339Nano), e.EventID, string(e.Type), string(e.Account), e.Amount.Currency,
		strconv.FormatInt(e.Amount.Amount, 10), strconv.FormatInt(w.balances[account], 10), e.Partner, e.PolicyID, optional.OrZero(e.ClaimID), optional.OrZero(e.PayoutID))
}
