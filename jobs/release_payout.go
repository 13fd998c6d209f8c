package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"parapet/jobs/rail"
	"parapet/model"
	"parapet/model/payouts"
	"parapet/model/payouts/controls"
	"parapet/model/payouts/release"
)

// minKeyWindow is how long a rail must remember keys at least. A payout in doubt is sent
// again under its key while the rail remembers it; later only a report or an operator
// settles it.
const minKeyWindow = 30 * time.Minute

// keyMargin is the part of the key window, two calls, that must remain when an order is
// sent again.
const keyMargin = 2 * railTimeout

// errKeyWindowTooShort reports a rail whose key window is too short for retries.
var errKeyWindowTooShort = errors.New("the rail forgets keys before payouts in doubt are settled: these payouts would wait for an operator")

// CheckKeyWindow returns an error for a rail that forgets keys too soon.
func CheckKeyWindow(r rail.Rail) error {
	if r.Capabilities().MayForgetKey(minKeyWindow, keyMargin) {
		return fmt.Errorf("%w; rail %s remembers them for %s, more than %s are needed", errKeyWindowTooShort, r.Name(), r.Capabilities().KeyWindow, minKeyWindow+keyMargin)
	}
	return nil
}

// IdentityOf returns the identity of the bank behind a rail.
func IdentityOf(r rail.Rail) payouts.RailIdentity {
	identity := r.Identity()
	return payouts.RailIdentity{Name: r.Name(), Address: identity.Address, Account: identity.Account}
}

// Our own codes of payments in doubt.
const (
	codeKeyForgotten   = "key_forgotten"    // not found, and too late to send again
	codeNotInquirable  = "cannot_ask"       // the rail answers no inquiries
	codeStopped        = "stopped"          // not found, or not sent, and releases are stopped
	codeNotPermitted   = "not_permitted"    // not sent, because the database could not be asked for a stop
	codeNotVoided      = "not_voided"       // not sent: an earlier key of the debt could not be voided
	codeEarlierKeyPaid = "earlier_key_paid" // not sent: the rail paid under an earlier key of the debt
	codeOtherRail      = "other_rail"       // it was sent to a rail that this server no longer uses
)

// refusedByReport resolves a doubt by the rail's report alone.
var refusedByReport = rail.Result{Outcome: rail.Refused, Code: "reported"}

var errOtherRail = errors.New("it was sent to another rail before this server's was changed; only that rail's report or an operator can settle it")

// releaseStep is a point of a release at which a worker may die.
type releaseStep string

const (
	stepBefore   releaseStep = "before intent"
	stepLeased   releaseStep = "after intent"
	stepAnswered releaseStep = "after answer"
	stepRecorded releaseStep = "after commit"
)

// releasePayout pays a payout. It commits the intent before the call and the outcome
// after it. A worker that dies in between leaves the payout in doubt, which only the rail
// can resolve; it never pays twice.
type releasePayout struct {
	river.WorkerDefaults[payouts.ReleasePayout]

	service *model.Service
	rail    rail.Rail
	log     *slog.Logger
	tracer  trace.Tracer      // nil makes no spans
	onStep  func(releaseStep) // tests stop a worker here; nil in production
	now     func() time.Time  // nil is time.Now
	gate    *railGate         // nil never closes
	pace    *railPace         // nil has no limit

	advancedAt atomic.Int64 // when payouts of other partners were last moved ahead, in Unix nanoseconds
}

// Work implements river.Worker.
func (w *releasePayout) Work(ctx context.Context, job *river.Job[payouts.ReleasePayout]) error {
	w.reachStep(stepBefore)
	if wait := w.gate.waitTime(ctx, w.rail); wait > 0 {
		return river.JobSnooze(wait)
	}
	taken, ok := w.pace.acquire(ctx, 1)
	if !ok {
		return river.JobSnooze(0)
	}
	unused := taken.orders
	defer func() { w.pace.giveBack(taken, unused) }()
	w.advanceOthers(ctx, job.Args.Partner)
	intended := w.readClock() // before the lease begins, hence never later than it
	order, wait, err := w.service.Releases.BeginRelease(ctx, IdentityOf(w.rail), job.Args.Partner, job.Args.ID)
	switch {
	case err != nil:
		return err
	case wait > 0:
		return postpone(job, wait)
	case order == nil:
		return nil
	}
	w.reachStep(stepLeased)
	unused = 0
	answer := w.callRail(ctx, order, intended.Add(order.Lease))
	w.reachStep(stepAnswered)
	ended, err := recordAnswer(ctx, w.service, w.log, w.rail, order, answer)
	if err != nil {
		return err
	}
	w.reachStep(stepRecorded)
	if ended.RetryAfter > 0 {
		return postpone(job, ended.RetryAfter)
	}
	return nil
}

func (w *releasePayout) reachStep(at releaseStep) {
	if w.onStep != nil {
		w.onStep(at)
	}
}

func (w *releasePayout) readClock() time.Time {
	if w.now == nil {
		return time.Now()
	}
	return w.now()
}

// callRail calls the rail. It sends nothing from expires on.
func (w *releasePayout) callRail(ctx context.Context, order *release.Release, expires time.Time) payouts.RailAnswer {
	ctx, cancel := context.WithTimeout(ctx, railTimeout)
	defer cancel()
	ctx, ended := startSpan(ctx, w.tracer, "rail "+w.rail.Name(), trace.SpanKindClient, attribute.String("parapet.payout", order.PayoutID))
	defer ended()
	var result rail.Result
	if order.InDoubt {
		result = w.resolveInDoubt(ctx, order, expires)
	} else {
		result = w.sendOrder(ctx, order, expires)
	}
	return observeResult(ctx, w.log, w.rail, order, result)
}

// sendOrder sends an order unless it has expired or releases were stopped since
// BeginRelease: a suspended worker may resume after another worker or an operator has
// decided otherwise. A stop of releases waits for the end of the call.
func (w *releasePayout) sendOrder(ctx context.Context, order *release.Release, expires time.Time) rail.Result {
	ctx, sending, err := w.service.Controls.BeginSend(ctx)
	if err != nil {
		return notPermitted(err)
	}
	defer sending.End() //nolint:contextcheck // the lock is released even after ctx ends
	if done, result := w.voidSupersededKeys(ctx, order); !done {
		return result
	}
	i := toInstruction(order)
	i.ExpiresAt = expires
	if i.Expired(w.readClock()) {
		return rail.Result{Outcome: rail.NotSent, Code: rail.CodeExpired}
	}
	result := w.rail.Send(ctx, i)
	w.gate.recordResults(result)
	return result
}

// notPermitted is the result of an order for which BeginSend returned an error.
func notPermitted(err error) rail.Result {
	if errors.Is(err, controls.ErrReleasesStopped) {
		return rail.Result{Outcome: rail.NotSent, Code: codeStopped}
	}
	return rail.Result{Outcome: rail.NotSent, Code: codeNotPermitted, Err: err}
}

// voidSupersededKeys makes the rail void the earlier keys of the debt, if it can, before
// the next key is used. done means that none of them can be paid any more.
func (w *releasePayout) voidSupersededKeys(ctx context.Context, order *release.Release) (done bool, result rail.Result) {
	if !w.rail.Capabilities().CanVoid {
		return true, rail.Result{}
	}
	for _, key := range order.SupersededKeys {
		said := w.rail.Void(ctx, key)
		switch said.Outcome { //nolint:exhaustive // other outcomes leave the key as it is
		case rail.Refused:
			if err := w.service.Releases.RecordVoid(ctx, key); err != nil {
				return false, rail.Result{Outcome: rail.NotSent, Code: codeNotVoided, Err: err}
			}
		case rail.Accepted:
			return false, w.recordPaidSuperseded(ctx, order, key, said)
		default:
			return false, rail.Result{Outcome: rail.NotSent, Code: codeNotVoided, Err: said.Err}
		}
	}
	return true, rail.Result{}
}

// recordPaidSuperseded records that a superseded key has paid, which blocks the order. If
// the earlier order's account was erased, the rail's answer is recorded against the order
// that would be sent.
func (w *releasePayout) recordPaidSuperseded(ctx context.Context, order *release.Release, key string, said rail.Result) rail.Result {
	sent, err := w.service.Releases.SentOrders(ctx, IdentityOf(w.rail), []string{key})
	earlier := sent[key]
	if earlier == nil {
		unread := *order
		unread.Key, unread.Attempt = key, 0 // no attempt of the current order ends
		earlier = &unread
	}
	if err == nil {
		_, err = recordAnswer(ctx, w.service, w.log, w.rail, earlier, toRailAnswer(said, toInstruction(earlier)))
	}
	return rail.Result{Outcome: rail.NotSent, Code: codeEarlierKeyPaid, Err: err}
}

// observeResult counts and logs a rail's result and converts it to the answer for the
// order.
func observeResult(ctx context.Context, log *slog.Logger, from rail.Rail, order *release.Release, result rail.Result) payouts.RailAnswer {
	said := toRailAnswer(result, toInstruction(order))
	callCount.WithLabelValues(from.Name(), string(said.Outcome)).Inc()
	if window := from.Capabilities().KeyWindow; window > 0 {
		said.KeyValidFor = max(0, window-keyMargin-order.KeyAge)
	}
	words := map[bool]string{true: "rail not reached", false: "rail outcome unknown"}
	if result.Err != nil {
		log.WarnContext(ctx, words[said.Outcome == payouts.OutcomeNotSent], "order", toInstruction(order), "attempt", order.Attempt, "code", result.Code, "error", result.Err)
	}
	return said
}

// resolveInDoubt inquires the outcome of an order in doubt. NotFound is no refusal: the
// order is sent again under the same key, which pays at most once within the key window.
func (w *releasePayout) resolveInDoubt(ctx context.Context, order *release.Release, expires time.Time) rail.Result {
	able := w.rail.Capabilities()
	switch askable := order.OtherRail == nil && able.Inquirable; {
	case !askable && order.RefusalReported:
		return refusedByReport
	case order.OtherRail != nil:
		return rail.InDoubt(codeOtherRail, errOtherRail)
	case !askable:
		return rail.Result{Outcome: rail.Unknown, Code: codeNotInquirable}
	}
	result := w.rail.Inquire(ctx, order.Key)
	w.gate.recordResults(result)
	switch {
	case result.Outcome != rail.NotFound:
		return result
	case order.RefusalReported:
		return refusedByReport
	case order.InquireOnly:
		return rail.Result{Outcome: rail.NotFound, Code: codeStopped}
	case able.MayForgetKey(order.KeyAge, keyMargin):
		return rail.Result{Outcome: rail.NotFound, Code: codeKeyForgotten}
	default:
		return w.sendOrder(ctx, order, expires)
	}
}

func toInstruction(order *release.Release) rail.Instruction {
	return rail.Instruction{
		Key: order.Key, PayoutID: order.PayoutID, Amount: order.Amount,
		Payee: rail.Payee{Beneficiary: order.Beneficiary, Number: order.Number},
	}
}

func toRailAnswer(result rail.Result, instruction rail.Instruction) payouts.RailAnswer {
	said := payouts.RailAnswer{Outcome: payouts.OutcomeUnknown, Code: result.Code, Reference: result.Reference}
	switch result.Outcome {
	case rail.Accepted:
		said.Outcome = payouts.OutcomeAccepted
		if !result.Confirms(instruction) {
			said.Outcome = payouts.OutcomeMismatch
		}
	case rail.Refused:
		said.Outcome = payouts.OutcomeRefused
	case rail.NotSent:
		said.Outcome = payouts.OutcomeNotSent
	case rail.Unknown, rail.NotFound:
	}
	return said
}
