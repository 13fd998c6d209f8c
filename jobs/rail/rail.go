// Package rail pays beneficiaries through payment rails behind one interface. A failure
// never looks like a refusal: an unknown outcome is an outcome of its own, because
// sending again after a lost answer could pay twice.
package rail

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/model/account"
	"parapet/model/money"
)

// Rail is a way to pay. Implementations are safe for concurrent use and end
// every call when its context ends.
type Rail interface {
	// Name is the provider's name as payouts show it.
	Name() string
	// Identity tells this bank from another one under the same name.
	Identity() Identity
	// Capabilities are what the rail promises; they do not change while it runs.
	Capabilities() Capabilities
	// Verify asks whether the payee's account exists and takes money. An error
	// means that it is not known now; ask again later.
	Verify(ctx context.Context, payee Payee) (Verification, error)
	// Send pays once per key: the same key again pays nothing and gives the
	// first answer. It returns no error, so that doubt cannot be mistaken for a
	// refusal.
	Send(ctx context.Context, instruction Instruction) Result
	// Inquire tells what became of a key.
	Inquire(ctx context.Context, key string) Result
	// Void has the rail promise never to pay under a key: Refused, or Accepted where it
	// has paid already. Only rails that say so in their capabilities can.
	Void(ctx context.Context, key string) Result
	Reporter
}

// Identity is where a rail's orders go, and who pays them.
type Identity struct {
	Address string // base address, or where files are written; never a secret
	Account string // fingerprint of the paying account; empty where the address implies it
}

// BatchRail accepts many orders at once inside the transaction that releases the payouts,
// so that both commit or neither does.
type BatchRail interface {
	Rail
	// Submit answers each instruction in its place, as Send would, through the
	// transaction that is open on conn. An error means that it has to be undone.
	Submit(ctx context.Context, conn *pgx.Conn, instructions []Instruction) ([]Result, error)
}

// PermitSource lets one file leave: from its return to the permit's End a stop of releases
// waits for it. The context it returns ends when the permit is lost.
type PermitSource func(ctx context.Context) (leaving context.Context, permit Permit, err error)

// Permit is what Permits gives; it is ended once.
type Permit interface {
	// Confirm says, right before the last byte, whether the file may still leave.
	Confirm(ctx context.Context) error
	End()
}

// Capabilities are what the release of payouts has to respect.
type Capabilities struct {
	// KeyWindow is how long the rail remembers a key; sending again later could
	// pay twice. Zero means for ever.
	KeyWindow time.Duration
	// Inquirable tells whether the rail can be asked what became of a key.
	Inquirable bool
	// CanVoid tells whether the rail can void a key for ever. Before a next key of the same
	// debt is used, the earlier ones are voided.
	CanVoid bool
	// SettlementDelay is how long after acceptance the rail's report confirms.
	SettlementDelay time.Duration
	// ReportsReturnsOnly tells that the rail's reports have what came back and confirm nothing:
	// no payout is missing from them. What arrived is told another way.
	ReportsReturnsOnly bool
	// Currencies are the ISO 4217 codes the rail pays. Empty means all.
	Currencies []string
}

// MayForgetKey tells whether a rail may have forgotten a key that was first used age
// ago, by the time a call that starts within margin arrives.
func (c Capabilities) MayForgetKey(age, margin time.Duration) bool {
	return c.KeyWindow > 0 && age+margin >= c.KeyWindow
}

// SupportsCurrency tells whether the rail pays a currency.
func (c Capabilities) SupportsCurrency(currency string) bool {
	return money.IsCurrency(currency) && (len(c.Currencies) == 0 || slices.Contains(c.Currencies, currency))
}

// Payee is who is paid and where. Both parts hide themselves from logs.
type Payee struct {
	Beneficiary account.Beneficiary
	Number      account.Number
}

// LogValue shows the kind and the end of the number and nothing of the person.
func (p Payee) LogValue() slog.Value { return p.Number.LogValue() }

// Instruction is one payment to make.
type Instruction struct {
	// Key is `<policy id>.<digest>.<n>`: the digest names the debt, n grows only after
	// a definite refusal or a confirmed return.
	Key      string
	PayoutID string
	Amount   money.Money
	Payee    Payee
	// ExpiresAt is when the order must not be sent or executed any more; zero is never.
	// It may carry a monotonic reading, which is then compared too.
	ExpiresAt time.Time
}

// Expired reports whether the instruction is too old to be sent. A suspended machine
// stops its monotonic clock and a corrected one moves its wall clock, so both count.
func (i Instruction) Expired(now time.Time) bool {
	return !i.ExpiresAt.IsZero() && (!now.Before(i.ExpiresAt) || !now.Round(0).Before(i.ExpiresAt.Round(0)))
}

// LogValue is what a log may hold of an instruction.
func (i Instruction) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("key", i.Key),
		slog.String("amount", i.Amount.String()),
		slog.Any("payee", i.Payee),
	)
}

// Verification is what a rail knows of an account.
type Verification struct {
	Verified bool
	Method   string // how it was checked: the rail's name for it
	Code     string // account_found, or why the account does not take money
}

// Outcome is how a call ended.
type Outcome string

const (
	// Accepted means that the rail pays, or has paid.
	Accepted Outcome = "accepted"
	// Refused is definite: nothing was paid under this key and nothing will be.
	Refused Outcome = "refused"
	// Unknown is doubt: a time-out, a lost connection, an answer that cannot be
	// read. Only an inquiry or a report resolves it.
	Unknown Outcome = "unknown"
	// NotFound is an inquiry's answer only and no refusal: the instruction may
	// still be on its way. It may be sent again under the same key, inside the
	// key window.
	NotFound Outcome = "not_found"
	// NotSent means that the call failed before the rail could have read it: no
	// connection, or an order that had expired. The rail knows nothing of this call.
	NotSent Outcome = "not_sent"
)

// CodeExpired is the code of an order that was not sent, or not executed, because it
// had expired.
const CodeExpired = "expired"

// Result is how a call ended and what the rail said.
type Result struct {
	Outcome   Outcome
	Reference string      // the rail's own id, when Accepted
	Code      string      // why, when Refused or Unknown
	Paid      money.Money // what the rail says it pays, when Accepted
	Payee     string      // whom the rail says it pays, masked, when Accepted
	Digest    string      // the AccountDigest of whom the rail says it pays, where it tells
	Err       error       // the cause of doubt, for the log
}

// Confirms tells whether an accepted result is about exactly this instruction.
// Where it is not, the rail paid something else: that is a mismatch for an
// operator, never a reason to pay again.
func (r Result) Confirms(i Instruction) bool {
	return r.Outcome == Accepted && r.Paid == i.Amount && r.Payee == i.Payee.Number.Normalize().String() &&
		(r.Digest == "" || r.Digest == AccountDigest(i.Key, i.Payee.Number))
}

// CodeVoided is the code of a key that the rail has voided.
const CodeVoided = "voided"

// CannotVoid is the answer of rails that void no keys.
func CannotVoid() Result { return Result{Outcome: Unknown, Code: "cannot_void"} }

// InDoubt is the result of a call whose answer did not arrive or cannot be believed.
func InDoubt(code string, err error) Result { return Result{Outcome: Unknown, Code: code, Err: err} }
