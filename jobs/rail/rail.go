// Package rail pays beneficiaries through payment rails behind one interface. A failure
// never looks like a refusal: an unknown outcome is its own outcome, because sending
// again after a lost answer could pay twice.
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

// Rail pays beneficiaries. Implementations are safe for concurrent use and end every call
// when its context ends.
type Rail interface {
	// Name is the provider's name as payouts show it.
	Name() string
	// Identity distinguishes this bank from another one under the same name.
	Identity() Identity
	// Capabilities are the rail's promises; they do not change while it runs.
	Capabilities() Capabilities
	// Verify asks whether the payee's account exists and accepts money. An error means
	// that the answer is unknown now; ask again later.
	Verify(ctx context.Context, payee Payee) (Verification, error)
	// Send pays once per key: the same key again pays nothing and returns the first
	// answer. It returns no error, so that a payment in doubt is never mistaken for a
	// refusal.
	Send(ctx context.Context, instruction Instruction) Result
	// Inquire returns the outcome of a key.
	Inquire(ctx context.Context, key string) Result
	// Void makes the rail promise never to pay under a key. It returns Refused, or
	// Accepted if the rail has already paid. Only rails with Capabilities.CanVoid support
	// it.
	Void(ctx context.Context, key string) Result
	Reporter
}

// Identity is the destination of a rail's orders and the paying account.
type Identity struct {
	Address string // base address or file location; never a secret
	Account string // fingerprint of the paying account; empty if the address implies it
}

// BatchRail accepts many orders at once inside the transaction that releases the payouts,
// so that both commit or neither does.
type BatchRail interface {
	Rail
	// Submit returns the result of each instruction in its place, as Send would, writing
	// in the transaction that is open on conn. An error means that the transaction must
	// be rolled back.
	Submit(ctx context.Context, conn *pgx.Conn, instructions []Instruction) ([]Result, error)
}

// GroupRail takes many orders in one call.
type GroupRail interface {
	Rail
	// GroupSize is the largest number of orders of one call; less than two if this rail
	// takes each order alone.
	GroupSize() int
	// SendGroup pays once per key, as Send does for each instruction, and returns the
	// result of each in its place. A result of one key says nothing about another.
	SendGroup(ctx context.Context, instructions []Instruction) []Result
}

// TakesGroups reports whether a rail takes many orders in one call, and how many.
func TakesGroups(r Rail) (group GroupRail, size int, ok bool) {
	group, ok = r.(GroupRail)
	if !ok || group.GroupSize() < 2 {
		return nil, 0, false
	}
	return group, group.GroupSize(), true
}

// PermitSource permits one file to leave. A stop of releases waits from its return until
// the permit's End. The returned context ends when the permit is lost.
type PermitSource func(ctx context.Context) (leaving context.Context, permit Permit, err error)

// Permit is the result of a PermitSource; End is called once.
type Permit interface {
	// Confirm checks, right before the last byte, that the file may still leave.
	Confirm(ctx context.Context) error
	End()
}

// Capabilities are the properties of a rail that the release of payouts depends on.
type Capabilities struct {
	// KeyWindow is how long the rail remembers a key; sending again later could
	// pay twice. Zero means for ever.
	KeyWindow time.Duration
	// Inquirable reports whether the rail answers inquiries about a key.
	Inquirable bool
	// CanVoid reports whether the rail can void a key for ever. Before the next key of
	// the same debt is used, the earlier ones are voided.
	CanVoid bool
	// SettlementDelay is the time from acceptance to confirmation in the rail's report.
	SettlementDelay time.Duration
	// ReportsReturnsOnly means that the rail's reports contain only returned payments and
	// confirm nothing, so no payout counts as missing from them. Arrival is confirmed by
	// other means.
	ReportsReturnsOnly bool
	// Currencies are the ISO 4217 codes the rail pays. Empty means all.
	Currencies []string
}

// MayForgetKey reports whether a rail may have forgotten a key first used age ago when a
// call that starts within margin arrives.
func (c Capabilities) MayForgetKey(age, margin time.Duration) bool {
	return c.KeyWindow > 0 && age+margin >= c.KeyWindow
}

// SupportsCurrency reports whether the rail pays a currency.
func (c Capabilities) SupportsCurrency(currency string) bool {
	return money.IsCurrency(currency) && (len(c.Currencies) == 0 || slices.Contains(c.Currencies, currency))
}

// Payee is the beneficiary and the account. Both parts redact themselves in logs.
type Payee struct {
	Beneficiary account.Beneficiary
	Number      account.Number
}

// LogValue shows the type and the last digits of the account number, and nothing about
// the person.
func (p Payee) LogValue() slog.Value { return p.Number.LogValue() }

// Instruction is one payment order.
type Instruction struct {
	// Key is `<policy id>.<digest>.<n>`: the digest identifies the debt; n grows only
	// after a definite refusal, a confirmed return, or an operator's evidence that nothing
	// was paid.
	Key      string
	PayoutID string
	Amount   money.Money
	Payee    Payee
	// ExpiresAt is when the order must no longer be sent or executed; zero is never. It
	// may carry a monotonic clock reading, which is then compared too.
	ExpiresAt time.Time
}

// Expired reports whether the instruction is too old to be sent. It checks both clocks: a
// suspended machine stops its monotonic clock, and a clock correction moves the wall
// clock.
func (i Instruction) Expired(now time.Time) bool {
	return !i.ExpiresAt.IsZero() && (!now.Before(i.ExpiresAt) || !now.Round(0).Before(i.ExpiresAt.Round(0)))
}

// LogValue returns the parts of an instruction that may be logged.
func (i Instruction) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("key", i.Key),
		slog.String("amount", i.Amount.String()),
		slog.Any("payee", i.Payee),
	)
}

// Verification is a rail's answer about an account.
type Verification struct {
	Verified bool
	Method   string // the rail's name of the check
	Code     string // account_found, or why the account does not accept money
}

// Outcome is the outcome of a call.
type Outcome string

const (
	// Accepted means that the rail pays or has paid.
	Accepted Outcome = "accepted"
	// Refused is definite: nothing was paid under this key and nothing will be.
	Refused Outcome = "refused"
	// Unknown is an outcome in doubt: a timeout, a lost connection, an unreadable answer.
	// Only an inquiry or a report resolves it.
	Unknown Outcome = "unknown"
	// NotFound answers an inquiry only. It is not a refusal: the instruction may still be
	// in flight. It may be sent again under the same key within the key window.
	NotFound Outcome = "not_found"
	// NotSent means that the call failed before the rail could have read it: no
	// connection, or an expired order. The rail knows nothing of this call.
	NotSent Outcome = "not_sent"
)

// CodeExpired is the code of an order that was not sent or executed because it had
// expired.
const CodeExpired = "expired"

// Result is the outcome of a call and the rail's answer.
type Result struct {
	Outcome   Outcome
	Reference string      // the rail's own id, when Accepted
	Code      string      // the reason, when Refused or Unknown
	Paid      money.Money // the amount the rail says it pays, when Accepted
	Payee     string      // the payee the rail says it pays, masked, when Accepted
	Digest    string      // the AccountDigest of the payee the rail says it pays, if given
	Err       error       // cause of the doubt, for the log
}

// Confirms reports whether an accepted result matches this instruction exactly. If not,
// the rail paid something else: that is a mismatch for an operator, never a reason to pay
// again.
func (r Result) Confirms(i Instruction) bool {
	return r.Outcome == Accepted && r.Paid == i.Amount && r.Payee == i.Payee.Number.Normalize().String() &&
		(r.Digest == "" || r.Digest == AccountDigest(i.Key, i.Payee.Number))
}

// CodeVoided is the code of a key that the rail has voided.
const CodeVoided = "voided"

// CannotVoid is the result of rails that cannot void keys.
func CannotVoid() Result { return Result{Outcome: Unknown, Code: "cannot_void"} }

// InDoubt is the result of a call whose answer was lost or is not trustworthy.
func InDoubt(code string, err error) Result { return Result{Outcome: Unknown, Code: code, Err: err} }
