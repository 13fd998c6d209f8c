package jobs

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/riverqueue/river"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"parapet/jobs/rail"
	"parapet/model/payouts"
	"parapet/model/payouts/release"
)

// releaseGroup pays up to size due payouts by one call. As for a single payout, it commits
// the orders before the call and the outcomes after it. A worker that dies in between
// leaves the payouts in doubt, and the rail is then asked about each key. It reports
// whether more payouts may be due.
func (w *releasePayout) releaseGroup(ctx context.Context, to rail.GroupRail, size int) (more bool, err error) {
	w.reachStep(stepBefore)
	if wait := w.gate.waitTime(ctx, to); wait > 0 {
		return false, river.JobSnooze(wait)
	}
	group, intended, err := w.beginGroup(ctx, to, size)
	switch {
	case err != nil:
		return false, err
	case len(group.Orders) == 0:
		return group.More, group.Stuck
	}
	w.reachStep(stepLeased)
	answers := w.callGroup(ctx, to, group.Orders, intended)
	w.reachStep(stepAnswered)
	leave := w.service.Bulk.EnterWithin(ctx, answerTurnWait)
	defer leave()
	ended, err := w.service.Releases.EndReleaseGroup(ctx, to.Name(), group.Orders, answers)
	for i, end := range ended {
		reportMismatch(ctx, w.log, to, group.Orders[i], end)
	}
	if err = errors.Join(err, group.Stuck); err != nil {
		return false, err
	}
	w.reachStep(stepRecorded)
	unsent := slices.ContainsFunc(answers, func(a payouts.RailAnswer) bool { return a.Outcome == payouts.OutcomeNotSent })
	return unsent || group.More, nil // while the rail cannot be reached, the gate delays the next call
}

// beginGroup stores the orders of a group in a turn of bulk work, as many as the rail's
// pace allows. intended is an instant before their leases begin.
func (w *releasePayout) beginGroup(ctx context.Context, to rail.GroupRail, size int) (group release.ReleaseGroup, intended time.Time, err error) {
	allowed, leave, ok := w.pace.acquireInTurn(ctx, size, w.service.Bulk.Enter)
	if !ok {
		return group, intended, river.JobSnooze(0)
	}
	defer leave()
	defer func() { w.pace.giveBack(allowed, allowed.orders-len(group.Orders)) }()
	if !w.hasTimeForGroup(ctx) {
		return group, intended, river.JobSnooze(0)
	}
	intended = w.readClock()
	group, err = w.service.Releases.BeginReleaseGroup(ctx, IdentityOf(to), allowed.orders)
	return group, intended, err
}

// groupTime is the time that a group may take: the call, the transactions before and after
// it, and the wait for a turn between.
const groupTime = railTimeout + answerTurnWait + saveTimeout

// answerTurnWait is how long the answers of a group wait for a turn of bulk work.
const answerTurnWait = 2 * time.Second

// hasTimeForGroup reports whether a job may begin another group before its deadline. An
// answer that arrives after the deadline is not recorded, and its payouts stay in doubt.
func (w *releasePayout) hasTimeForGroup(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return !limited || deadline.Sub(w.readClock()) >= groupTime
}

// callGroup sends orders in one call, unless releases were stopped since the orders were
// stored. It sends no order whose lease, counted from intended, has ended.
func (w *releasePayout) callGroup(ctx context.Context, to rail.GroupRail, orders []*release.Release, intended time.Time) []payouts.RailAnswer {
	ctx, cancel := context.WithTimeout(ctx, railTimeout)
	defer cancel()
	ctx, ended := startSpan(ctx, w.tracer, "rail "+to.Name(), trace.SpanKindClient, attribute.Int("parapet.orders", len(orders)))
	defer ended()
	results := w.sendGroup(ctx, to, orders, intended)
	answers := make([]payouts.RailAnswer, len(orders))
	for i, order := range orders {
		answers[i] = observeResult(ctx, w.log, to, order, results[i])
	}
	return answers
}

func (w *releasePayout) sendGroup(ctx context.Context, to rail.GroupRail, orders []*release.Release, intended time.Time) []rail.Result {
	ctx, sending, err := w.service.Controls.BeginSend(ctx)
	if err != nil {
		return slices.Repeat([]rail.Result{notPermitted(err)}, len(orders))
	}
	defer sending.End() //nolint:contextcheck // the lock is released even after ctx ends
	instructions := make([]rail.Instruction, len(orders))
	for i, order := range orders {
		instructions[i] = toInstruction(order)
		instructions[i].ExpiresAt = intended.Add(order.Lease)
		if instructions[i].Expired(w.readClock()) { // all leases began together, so all have ended
			return slices.Repeat([]rail.Result{{Outcome: rail.NotSent, Code: rail.CodeExpired}}, len(orders))
		}
	}
	results := to.SendGroup(ctx, instructions)
	w.gate.recordResults(results...)
	return results
}
