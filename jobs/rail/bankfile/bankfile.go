// Package bankfile pays through files. An accepted order is a row; orders are grouped
// into files, and the bank answers with report files. An order belongs to at most one
// file, the file's content is fixed before it is written, and rewriting gives the same
// name, message id and bytes.
//
// A key stands in one batch at most, a batch is committed before its file is
// written, and a file that is written again has the same name, the same message
// id and the same bytes. So no payout is in two files, wherever a worker dies.
package bankfile

import (
	"context"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/jobs/rail"
	"parapet/model/money"
)

// PaymentFile is what one file holds: orders of one currency, in the order of their
// keys.
type PaymentFile struct {
	ID        string // at most 35 characters; the file's name and its message id
	Number    int64  // counts the batches
	CreatedAt time.Time
	Sealed    bool // its file may have been put already
	Orders    []rail.Instruction
}

// Total is the sum of a batch. Its orders have one currency.
func (b PaymentFile) Total() money.Money {
	var total money.Money
	for _, order := range b.Orders {
		total = money.New(total.Amount+order.Amount.Amount, order.Amount.Currency)
	}
	return total
}

// Format is a kind of file.
type Format interface {
	// Name is the rail's name as payouts show it, Extension the ending of files.
	Name() string
	Extension() string
	// Account is the fingerprint of the paying account.
	Account() string
	// EndToEndID names a key in the files, in as many characters as the format has.
	EndToEndID(key string) string
	// Capabilities are what the bank behind the files promises.
	Capabilities() rail.Capabilities
	// MaxTotal is what the orders of one file may sum to, in minor units; Refuse lets no
	// single one be more.
	MaxTotal() int64
	// RefusalCode says in a word why an order cannot go into a file, empty when it can.
	RefusalCode(rail.Instruction) string
	// Write writes a batch; the same batch always gives the same bytes.
	Write(w io.Writer, b PaymentFile) error
	// Read hands each line of a bank's file to each. Key may be an end-to-end id of the
	// books; a line without a key whose reference is a batch speaks of all of it.
	// What is not a whole file of the format is rail.ErrInvalidReport.
	Read(r io.Reader, each func(rail.Line) error) error
}

// PaymentOrder is a line of the books.
type PaymentOrder struct {
	Key, PayoutID string
	EndToEndID    string // names the key in the files
	Amount        money.Money
	Payee         string // masked
	FileID        string // empty until it is in one
}

// PaymentOrderStore keep what was accepted. They are durable.
type PaymentOrderStore interface {
	// WithConn are the same books, written through the transaction that is open on conn.
	WithConn(conn *pgx.Conn) PaymentOrderStore
	// Add keeps entries whose keys are new, all or none, and returns what the keys
	// have now, in their order.
	Add(ctx context.Context, rail string, entries []PaymentOrder) ([]PaymentOrder, error)
	// Find returns entries by their keys or end-to-end ids; unknown ones are missing.
	Find(ctx context.Context, rail string, keys []string) (map[string]PaymentOrder, error)
	// FileOrders are the entries of a batch by their keys, none of an unknown batch.
	FileOrders(ctx context.Context, rail, batch string) ([]PaymentOrder, error)
	// AssignToFiles commits what is in no batch to batches of one currency, at most most entries
	// and at most largest minor units.
	AssignToFiles(ctx context.Context, rail string, most int, largest int64) error
	// ListUnwritten are the batches whose files may be missing, without their orders.
	ListUnwritten(ctx context.Context, rail string) ([]PaymentFile, error)
	// SetAside takes entries out of a batch that is not sealed: they are in no file until
	// they are readmitted, and those that are settled in none ever. It returns ErrFileSealed
	// where the batch is sealed.
	SetAside(ctx context.Context, batch string, keys, settled []string) error
	// ListSetAside are the keys that were set aside and are not settled.
	ListSetAside(ctx context.Context, rail string) ([]string, error)
	// Readmit lets entries that were set aside into the next batches; those that are
	// settled stay out for ever.
	Readmit(ctx context.Context, rail string, keys, settled []string) error
	// SealFile notes, before a batch's file is put anywhere, the digest of the bytes that it
	// will have for ever, and that they hold that many entries. It returns ErrFileSealed where
	// the batch has another digest or number of entries.
	SealFile(ctx context.Context, batch, digest string, entries int) error
	// MarkWritten notes that a batch's file stands, by the digest of its bytes.
	MarkWritten(ctx context.Context, batch, digest string) error
}

// SentOrder is an accepted order.
type SentOrder struct {
	rail.Instruction

	Settled        bool // the bank reported of it, or an operator resolved it: it goes into no file
	HasSuspectLine bool // it goes into no file until an operator has answered what the bank reports of its policy
}

// FileStore is where files are put and found; see internal/filestore.
type FileStore interface {
	Put(ctx context.Context, key string, r io.Reader) error
	Open(ctx context.Context, key string) (io.ReadCloser, error)
}

// Rail implements rail.Slicer on files.
type Rail struct {
	Format     Format
	OrderStore PaymentOrderStore
	FileStore  FileStore
	// Address is where Store keeps its files.
	Address string
	// LoadOrders are the orders of keys, accounts included: the books hold none.
	LoadOrders func(ctx context.Context, keys []string) (map[string]SentOrder, error)
}

// Name implements rail.Rail.
func (r *Rail) Name() string { return r.Format.Name() }

// Identity implements rail.Rail.
func (r *Rail) Identity() rail.Identity {
	return rail.Identity{Address: r.Address, Account: r.Format.Account()}
}

// Capabilities implements rail.Rail. The books remember keys for ever and can
// always be asked.
func (r *Rail) Capabilities() rail.Capabilities {
	able := r.Format.Capabilities()
	able.KeyWindow, able.Inquirable = 0, true
	return able
}

// codeFormatValid says that a number was checked and its account was not: nobody can be
// asked.
const codeFormatValid = "format_valid"

// Verify implements rail.Rail.
func (r *Rail) Verify(_ context.Context, payee rail.Payee) (rail.Verification, error) {
	order := rail.Instruction{Amount: money.New(1, r.anyCurrency()), Payee: payee}
	if code := r.Format.RefusalCode(order); code != "" {
		return rail.Verification{Method: r.Name(), Code: code}, nil
	}
	return rail.Verification{Verified: true, Method: r.Name(), Code: codeFormatValid}, nil
}

// anyCurrency is one the rail takes.
func (r *Rail) anyCurrency() string {
	if all := r.Format.Capabilities().Currencies; len(all) > 0 {
		return all[0]
	}
	return "EUR"
}

// Send implements rail.Rail.
func (r *Rail) Send(ctx context.Context, i rail.Instruction) rail.Result {
	results, err := r.submitTo(ctx, r.OrderStore, []rail.Instruction{i})
	if err != nil {
		return rail.InDoubt(codeStoreUnavailable, err)
	}
	return results[0]
}

// Submit implements rail.Slicer.
func (r *Rail) Submit(ctx context.Context, conn *pgx.Conn, instructions []rail.Instruction) ([]rail.Result, error) {
	return r.submitTo(ctx, r.OrderStore.WithConn(conn), instructions)
}

// codeStoreUnavailable is the doubt of books that did not answer.
const codeStoreUnavailable = "books_unavailable"

// submitTo accepts what can go into a file.
func (r *Rail) submitTo(ctx context.Context, books PaymentOrderStore, instructions []rail.Instruction) ([]rail.Result, error) {
	results := make([]rail.Result, len(instructions))
	var entries []PaymentOrder
	var places []int
	for at, i := range instructions {
		if code := r.Format.RefusalCode(i); code != "" {
			results[at] = rail.Result{Outcome: rail.Refused, Code: code}
			continue
		}
		places = append(places, at)
		entries = append(entries, PaymentOrder{Key: i.Key, EndToEndID: r.Format.EndToEndID(i.Key), PayoutID: i.PayoutID, Amount: i.Amount, Payee: i.Payee.Number.String()})
	}
	if len(entries) == 0 {
		return results, nil
	}
	kept, err := books.Add(ctx, r.Name(), entries)
	if err != nil {
		return nil, err
	}
	for n, at := range places {
		results[at] = kept[n].toResult()
	}
	return results, nil
}

func (e PaymentOrder) toResult() rail.Result {
	return rail.Result{Outcome: rail.Accepted, Reference: e.EndToEndID, Paid: e.Amount, Payee: e.Payee}
}

// Inquire implements rail.Rail.
func (r *Rail) Inquire(ctx context.Context, key string) rail.Result {
	found, err := r.OrderStore.Find(ctx, r.Name(), []string{key})
	if err != nil {
		return rail.InDoubt(codeStoreUnavailable, err)
	}
	if entry, ok := found[key]; ok {
		return entry.toResult()
	}
	return rail.Result{Outcome: rail.NotFound}
}

// Void implements rail.Rail. A file that is written cannot be taken back.
func (r *Rail) Void(context.Context, string) rail.Result { return rail.CannotVoid() }
