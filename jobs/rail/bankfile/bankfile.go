// Package bankfile pays through files. An accepted order is a row; orders are grouped
// into files, and the bank answers with report files. An order belongs to at most one
// file. The file is committed before it is written, its content is fixed, and writing it
// again gives the same name, message id and bytes. So no payout is in two files, even
// when a worker dies.
package bankfile

import (
	"context"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/jobs/rail"
	"parapet/model/money"
)

// PaymentFile is the content of one file: orders of one currency in key order.
type PaymentFile struct {
	ID        string // at most 35 characters; the file name and message id
	Number    int64  // sequence number of the file
	CreatedAt time.Time
	Sealed    bool // its file may have been stored already
	Orders    []rail.Instruction
}

// Total returns the sum of the orders, which have one currency.
func (b PaymentFile) Total() money.Money {
	var total money.Money
	for _, order := range b.Orders {
		total = money.New(total.Amount+order.Amount.Amount, order.Amount.Currency)
	}
	return total
}

// Format is a payment file format.
type Format interface {
	// Name is the rail's name as payouts show it; Extension is the file name extension.
	Name() string
	Extension() string
	// Account is the fingerprint of the paying account.
	Account() string
	// EndToEndID returns the id of a key in the files, within the length that the format
	// allows.
	EndToEndID(key string) string
	// Capabilities are the promises of the bank that takes the files.
	Capabilities() rail.Capabilities
	// MaxTotal is the largest sum of one file, in minor units. RefusalCode refuses a
	// single order above it.
	MaxTotal() int64
	// RefusalCode returns why an order cannot go into a file, empty when it can.
	RefusalCode(rail.Instruction) string
	// Write writes a file; the same PaymentFile always gives the same bytes.
	Write(w io.Writer, b PaymentFile) error
	// Read passes each line of a bank's report file to each. Key may be an end-to-end id.
	// A line without a key whose reference is a file id concerns every order of that
	// file. An incomplete or foreign file returns rail.ErrInvalidReport.
	Read(r io.Reader, each func(rail.Line) error) error
}

// PaymentOrder is an accepted order.
type PaymentOrder struct {
	Key, PayoutID string
	EndToEndID    string // identifies the key in the files
	Amount        money.Money
	Payee         string // masked
	FileID        string // empty until the order is in a file
}

// PaymentOrderStore stores accepted orders. It is durable.
type PaymentOrderStore interface {
	// WithConn returns the same store, writing in the transaction that is open on conn.
	WithConn(conn *pgx.Conn) PaymentOrderStore
	// Add stores the entries with new keys, all or none, and returns the stored entries
	// of all keys in their order.
	Add(ctx context.Context, rail string, entries []PaymentOrder) ([]PaymentOrder, error)
	// Find returns orders by their keys or end-to-end ids; unknown ones are missing.
	Find(ctx context.Context, rail string, keys []string) (map[string]PaymentOrder, error)
	// FileOrders returns the orders of a file by key, none for an unknown file.
	FileOrders(ctx context.Context, rail, batch string) ([]PaymentOrder, error)
	// AssignToFiles commits unassigned orders to files of one currency with at most most
	// orders and a sum of at most largest minor units.
	AssignToFiles(ctx context.Context, rail string, most int, largest int64) error
	// ListUnwritten returns the files that may not be written yet, without their orders.
	ListUnwritten(ctx context.Context, rail string) ([]PaymentFile, error)
	// SetAside removes orders from an unsealed file. They are in no file until Readmit;
	// settled ones are never in a file again. It returns ErrFileSealed for a sealed file.
	SetAside(ctx context.Context, batch string, keys, settled []string) error
	// ListSetAside returns the keys that were set aside and are not settled.
	ListSetAside(ctx context.Context, rail string) ([]string, error)
	// Readmit allows orders that were set aside into the next files; settled ones stay
	// out for ever.
	Readmit(ctx context.Context, rail string, keys, settled []string) error
	// SealFile records the final digest of a file's bytes and its number of orders,
	// before the file is stored anywhere. It returns ErrFileSealed when the file has
	// another digest or number of orders.
	SealFile(ctx context.Context, batch, digest string, entries int) error
	// MarkWritten records that a file is stored, with the digest of its bytes.
	MarkWritten(ctx context.Context, batch, digest string) error
}

// SentOrder is an accepted order.
type SentOrder struct {
	rail.Instruction

	Settled        bool // the bank reported it, or an operator resolved it: it goes into no file
	HasSuspectLine bool // it goes into no file until an operator has resolved a reported payment for its policy
}

// FileStore stores files; see internal/filestore.
type FileStore interface {
	Put(ctx context.Context, key string, r io.Reader) error
	Open(ctx context.Context, key string) (io.ReadCloser, error)
}

// Rail implements rail.BatchRail on files.
type Rail struct {
	Format     Format
	OrderStore PaymentOrderStore
	FileStore  FileStore
	// Address is the location of FileStore.
	Address string
	// LoadOrders returns the orders of keys, including accounts: OrderStore holds no
	// accounts.
	LoadOrders func(ctx context.Context, keys []string) (map[string]SentOrder, error)
}

// Name implements rail.Rail.
func (r *Rail) Name() string { return r.Format.Name() }

// Identity implements rail.Rail.
func (r *Rail) Identity() rail.Identity {
	return rail.Identity{Address: r.Address, Account: r.Format.Account()}
}

// Capabilities implements rail.Rail. The order store keeps keys for ever and always
// answers inquiries.
func (r *Rail) Capabilities() rail.Capabilities {
	able := r.Format.Capabilities()
	able.KeyWindow, able.Inquirable = 0, true
	return able
}

// codeFormatValid is the code of a number whose format was checked, because no bank can
// be asked about the account itself.
const codeFormatValid = "format_valid"

// Verify implements rail.Rail.
func (r *Rail) Verify(_ context.Context, payee rail.Payee) (rail.Verification, error) {
	order := rail.Instruction{Amount: money.New(1, r.anyCurrency()), Payee: payee}
	if code := r.Format.RefusalCode(order); code != "" {
		return rail.Verification{Method: r.Name(), Code: code}, nil
	}
	return rail.Verification{Verified: true, Method: r.Name(), Code: codeFormatValid}, nil
}

// anyCurrency returns a currency that the rail supports.
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

// Submit implements rail.BatchRail.
func (r *Rail) Submit(ctx context.Context, conn *pgx.Conn, instructions []rail.Instruction) ([]rail.Result, error) {
	return r.submitTo(ctx, r.OrderStore.WithConn(conn), instructions)
}

// codeStoreUnavailable is the code of a payment in doubt because the order store failed.
const codeStoreUnavailable = "books_unavailable"

// submitTo stores the orders that can go into a file and refuses the others.
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

// Void implements rail.Rail. A written file cannot be withdrawn.
func (r *Rail) Void(context.Context, string) rail.Result { return rail.CannotVoid() }
