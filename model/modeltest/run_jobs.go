package modeltest

import (
	"context"
	"errors"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims/adjudication"
	"parapet/model/events/webhooks"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
	"parapet/model/payouts/release"
)

// RailName is the rail's name in payouts.
const RailName = "scripted"

// ScriptedRail is the rail's identity.
var ScriptedRail = payouts.RailIdentity{Name: RailName}

// Rail gives the answers that a test sets. The zero value accepts every account and
// every payout.
type Rail struct {
	Verify func(*payouts.PayeeAccount) (verified bool, code string)
	Answer func(*release.Release) payouts.RailAnswer
	Orders []release.Release // every call, in order
}

func (r *Rail) answerVerification(payee *payouts.PayeeAccount) (bool, string) {
	if r.Verify == nil {
		return true, "account_found"
	}
	return r.Verify(payee)
}

func (r *Rail) answerOrder(order *release.Release) payouts.RailAnswer {
	r.Orders = append(r.Orders, *order)
	if r.Answer == nil {
		return Accepted
	}
	return r.Answer(order)
}

// Answers of the rail.
var (
	Accepted   = payouts.RailAnswer{Outcome: payouts.OutcomeAccepted, Code: "accepted", Reference: "ref-1"}
	Refused    = payouts.RailAnswer{Outcome: payouts.OutcomeRefused, Code: "account_rejected"}
	Unknown    = payouts.RailAnswer{Outcome: payouts.OutcomeUnknown, Code: "answer_lost"}
	Mismatched = payouts.RailAnswer{Outcome: payouts.OutcomeMismatch, Code: "accepted", Reference: "ref-2"}
)

// RunJobs runs the enqueued jobs in order until none is left. A job that must wait
// stays for the next RunJobs; see After.
func (b *Bundle) RunJobs() {
	b.t.Helper()
	b.runMatchingJobs(func(store.Job) bool { return true })
}

// RunAccountChecks runs only the checks of payout methods, so that payouts become
// ready.
func (b *Bundle) RunAccountChecks() {
	b.t.Helper()
	b.runMatchingJobs(func(job store.Job) bool {
		_, check := job.(payouts.VerifyPayoutMethod)
		return check
	})
}

func (b *Bundle) runMatchingJobs(wanted func(store.Job) bool) {
	b.t.Helper()
	for at := int64(0); ; {
		ordinal, job, err := Queue{}.nextJob(b.ctx, b.DB.Pool, at)
		require.NoError(b.t, err)
		if job == nil {
			return
		}
		at = ordinal
		if wanted(job) && b.runJob(job) {
			require.NoError(b.t, Queue{}.markDone(b.ctx, b.DB.Pool, ordinal))
		}
	}
}

// runJob runs one job; false if it must wait.
func (b *Bundle) runJob(job store.Job) bool {
	b.t.Helper()
	switch job := job.(type) {
	case occurrence.EvaluateOccurrences:
		b.retryUntilBarrier(func() error { return b.Service.Adjudication.Evaluate(b.ctx, job) })
	case adjudication.DecideSlices:
		for more := true; more; {
			var err error
			more, err = b.Service.Adjudication.DecideSlices(b.ctx)
			require.NoError(b.t, err)
		}
	case adjudication.EvaluatePolicies:
		require.NoError(b.t, b.Service.Adjudication.EvaluatePolicies(b.ctx, job))
	case payouts.VerifyPayoutMethod:
		b.runVerification(job)
	case payouts.ReevaluatePayouts:
		require.NoError(b.t, b.Service.Payouts.Reevaluate(b.ctx, job))
	case payouts.ReleasePayout:
		return b.runRelease(job)
	case store.DeleteFiles:
		require.NoError(b.t, b.Service.Privacy.DeleteFiles(b.ctx, job.Keys))
	case webhooks.DeliverEndpoint:
		b.deliverDue(job)
	case store.SweepWork:
		require.NoError(b.t, b.Service.Operations.SweepDue(b.ctx, job.Work))
	}
	return true
}

// retryUntilBarrier repeats a second pass until the transactions of the first have
// ended: they may be another test's, on the same server.
func (b *Bundle) retryUntilBarrier(pass func() error) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	err := pass()
	for ; errors.Is(err, adjudication.ErrBarrierPending) && ctx.Err() == nil; err = pass() {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	require.NoError(b.t, err)
}

func (b *Bundle) runVerification(job payouts.VerifyPayoutMethod) {
	b.t.Helper()
	payee, err := b.Service.Payouts.BeginVerification(b.ctx, job.Partner, job.ID)
	require.NoError(b.t, err)
	if payee == nil {
		return
	}
	verified, code := b.Rail.answerVerification(payee)
	require.NoError(b.t, b.Service.Payouts.RecordVerification(b.ctx, job.Partner, job.ID, RailName, code, verified))
}

func (b *Bundle) runRelease(job payouts.ReleasePayout) bool {
	b.t.Helper()
	order, wait, err := b.Service.Releases.BeginRelease(b.ctx, ScriptedRail, job.Partner, job.ID)
	require.NoError(b.t, err)
	if wait > 0 || order == nil {
		return wait == 0
	}
	ended, err := b.Service.Releases.EndRelease(b.ctx, RailName, order, b.Rail.answerOrder(order))
	require.NoError(b.t, err)
	return ended.RetryAfter == 0
}
