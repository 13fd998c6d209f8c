package rail

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"parapet/model/account"
)

// SimulatorName is the simulator's name as payouts show it.
const SimulatorName = "simulator"

// Codes of the simulator's answers.
const (
	CodeFound               = "account_found"        // verified
	CodeClosed              = "account_closed"       // verification refused; sending too
	CodeRejected            = "account_rejected"     // verified, but sending is refused
	CodeInvalid             = "account_invalid"      // impossible number
	CodeAmountInvalid       = "amount_invalid"       // zero or negative
	CodeCurrencyUnsupported = "currency_unsupported" // not a currency
	CodeAnswerLost          = "answer_lost"          // doubt: whether it was paid is unknown
	CodeStoreUnavailable    = "ledger_unavailable"   // doubt: the store failed
)

var errAnswerLost = errors.New("the rail did not answer in time")

// Simulator is an in-process rail that moves no money. It behaves as a correct rail, one
// payment per key; the numbers of TestNumbers simulate failures.
type Simulator struct {
	store         SimulatorStore
	wait          func(ctx context.Context, d time.Duration) error
	slowDelay     time.Duration
	answerTimeout time.Duration
	groupSize     int
}

// SimulatorOption changes how a simulator behaves.
type SimulatorOption func(*Simulator)

// WithWait replaces waiting in real time. wait returns nil when d has passed, or the
// context's error when that ends first.
func WithWait(wait func(ctx context.Context, d time.Duration) error) SimulatorOption {
	return func(s *Simulator) { s.wait = wait }
}

// WithDelays sets how long slow accounts take to answer (default 3 s) and how long a lost
// answer takes to time out (default 10 s). Keep both below the time that a payout's job
// allows for a call.
func WithDelays(slow, silence time.Duration) SimulatorOption {
	return func(s *Simulator) { s.slowDelay, s.answerTimeout = slow, silence }
}

// WithGroups makes the simulator take up to size orders in one call; without it each
// order is a call.
func WithGroups(size int) SimulatorOption {
	return func(s *Simulator) { s.groupSize = size }
}

// NewSimulator returns a simulator that stores its transfers in ledger.
func NewSimulator(ledger SimulatorStore, options ...SimulatorOption) *Simulator {
	s := &Simulator{store: ledger, wait: sleepFor, slowDelay: 3 * time.Second, answerTimeout: 10 * time.Second}
	for _, option := range options {
		option(s)
	}
	return s
}

// Name implements Rail.
func (s *Simulator) Name() string { return SimulatorName }

// Identity implements Rail.
func (s *Simulator) Identity() Identity { return Identity{} }

// Capabilities implements Rail: keys are kept as long as the store, every key can be
// inquired, and every currency is paid at once.
func (s *Simulator) Capabilities() Capabilities { return Capabilities{Inquirable: true} }

// Verify implements Rail.
func (s *Simulator) Verify(ctx context.Context, payee Payee) (Verification, error) {
	if err := ctx.Err(); err != nil {
		return Verification{}, err
	}
	answer := Verification{Method: SimulatorName, Code: CodeFound, Verified: true}
	switch {
	case len(payee.Number.Validate()) > 0:
		answer.Code, answer.Verified = CodeInvalid, false
	case behaviourOf(payee.Number) == RefuseVerification:
		answer.Code, answer.Verified = CodeClosed, false
	}
	return answer, nil
}

// Send implements Rail. A used key returns its first answer, even if amount or payee
// differ now: Result.Confirms then shows the difference. A refusal would be wrong because
// it means that nothing was paid.
func (s *Simulator) Send(ctx context.Context, instruction Instruction) Result {
	return s.SendGroup(ctx, []Instruction{instruction})[0]
}

// GroupSize implements GroupRail.
func (s *Simulator) GroupSize() int { return s.groupSize }

// SendGroup implements GroupRail. The accounts that simulate failures delay all answers.
func (s *Simulator) SendGroup(ctx context.Context, instructions []Instruction) []Result {
	entries := make([]SimulatedTransfer, len(instructions))
	for i, instruction := range instructions {
		entries[i] = s.newTransfer(instruction)
	}
	results := make([]Result, len(instructions))
	recorded, err := s.store.Record(ctx, entries)
	for i, instruction := range instructions {
		if err != nil {
			results[i] = InDoubt(CodeStoreUnavailable, err)
		} else if failure := s.simulateFailure(ctx, instruction, recorded[i].Known); failure != nil {
			results[i] = InDoubt(CodeAnswerLost, failure)
		} else {
			results[i] = recorded[i].toResult()
		}
	}
	return results
}

// Inquire implements Rail.
func (s *Simulator) Inquire(ctx context.Context, key string) Result {
	entry, found, err := s.store.Find(ctx, key)
	switch {
	case err != nil:
		return InDoubt(CodeStoreUnavailable, err)
	case !found:
		return Result{Outcome: NotFound}
	default:
		return entry.toResult()
	}
}

// Void implements Rail.
func (s *Simulator) Void(context.Context, string) Result { return CannotVoid() }

// Report implements Rail: every payment of that day is reported, unless a report within the
// day has it.
func (s *Simulator) Report(ctx context.Context, day time.Time, each func(Line) error) error {
	entries, err := s.store.ListDay(ctx, day)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Outcome != Accepted {
			continue
		}
		if err := each(entry.ReportLine(entry.Reported, day)); err != nil {
			return err
		}
	}
	return nil
}

// The outcomes that a report may have for a transfer.
const (
	ReportSettled  = "settle"
	ReportReturned = "return"
	ReportMismatch = "mismatch"
)

// ReportLine returns the line of a report with an outcome; an empty one is ReportSettled.
func (e SimulatedTransfer) ReportLine(outcome string, at time.Time) Line {
	line := Line{Key: e.Key, Reference: e.Reference, Amount: e.Amount, Payee: e.Payee, Status: Settled, Date: at}
	switch outcome {
	case ReportReturned:
		line.Status, line.Code = Returned, "returned"
	case ReportMismatch:
		line.Amount.Amount++
	}
	return line
}

// newTransfer returns the entry of a new key.
func (s *Simulator) newTransfer(i Instruction) SimulatedTransfer {
	entry := SimulatedTransfer{
		Key: i.Key, PayoutID: i.PayoutID, Amount: i.Amount,
		Payee: i.Payee.Number.Normalize().String(), Outcome: Refused,
	}
	switch behaviour := behaviourOf(i.Payee.Number); {
	case i.Amount.Amount <= 0:
		entry.Code = CodeAmountInvalid
	case !s.Capabilities().SupportsCurrency(i.Amount.Currency):
		entry.Code = CodeCurrencyUnsupported
	case len(i.Payee.Number.Validate()) > 0:
		entry.Code = CodeInvalid
	case behaviour == RefuseVerification:
		entry.Code = CodeClosed
	case behaviour == RejectAtSend:
		entry.Code = CodeRejected
	default:
		entry.Outcome, entry.Reference = Accepted, referenceOf(i.Key)
		entry.Reported = map[Behaviour]string{ReturnAfterPaying: ReportReturned, ReportOtherAmount: ReportMismatch}[behaviour]
	}
	return entry
}

// simulateFailure simulates the account's failure after the transfer is stored, so that a
// caller that gives up was still paid. An answer is lost only once: an inquiry returns
// it.
func (s *Simulator) simulateFailure(ctx context.Context, i Instruction, known bool) error {
	switch behaviour := behaviourOf(i.Payee.Number); {
	case behaviour == Slow:
		return s.wait(ctx, s.slowDelay)
	case behaviour == TimeOutAfterPaying && !known:
		return errors.Join(errAnswerLost, s.wait(ctx, s.answerTimeout))
	default:
		return ctx.Err()
	}
}

func (e SimulatedTransfer) toResult() Result {
	if e.Outcome != Accepted {
		return Result{Outcome: e.Outcome, Code: e.Code}
	}
	return Result{Outcome: Accepted, Reference: e.Reference, Paid: e.Amount, Payee: e.Payee}
}

// referenceOf derives the rail's id from the key, so that repeated writes agree.
func referenceOf(key string) string {
	digest := sha256.Sum256([]byte(key))
	return "sim_" + hex.EncodeToString(digest[:8])
}

// SleepFor waits in real time.
func sleepFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func behaviourOf(number account.Number) Behaviour {
	canonical := number.Canonical()
	for _, test := range testNumbers {
		if test.matchesAccount(number.Type, canonical) {
			return test.Behaviour
		}
	}
	return Accept
}
