package modeltest

import (
	"context"
	"errors"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/kernel/store"
)

// RailName is the rail's name in payouts.
const RailName = "scripted"

// ScriptedRail is the rail's identity.
var ScriptedRail = model.RailIdentity{Name: RailName}

// Rail gives the answers that a test sets. The zero value accepts every account and
// every payout.
type Rail struct {
	Verify func(*model.PayeeAccount) (verified bool, code string)
	Answer func(*model.Release) model.RailAnswer
	Orders []model.Release // every call, in order
}

func (r *Rail) answerVerification(payee *model.PayeeAccount) (bool, string) {
	if r.Verify == nil {
		return true, "account_found"
	}
	return r.Verify(payee)
}

func (r *Rail) answerOrder(order *model.Release) model.RailAnswer {
	r.Orders = append(r.Orders, *order)
	if r.Answer == nil {
		return Accepted
	}
	return r.Answer(order)
}

// Answers of the rail.
var (
	Accepted   = model.RailAnswer{Outcome: model.OutcomeAccepted, Code: "accepted", Reference: "ref-1"}
	Refused    = model.RailAnswer{Outcome: model.OutcomeRefused, Code: "account_rejected"}
	Unknown    = model.RailAnswer{Outcome: model.OutcomeUnknown, Code: "answer_lost"}
	Mismatched = model.RailAnswer{Outcome: model.OutcomeMismatch, Code: "accepted", Reference: "ref-2"}
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
		_, check := job.(store.VerifyPayoutMethod)
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
	case store.EvaluateOccurrences:
		b.retryUntilBarrier(func() error { return b.Service.Evaluate(b.ctx, job) })
	case model.EvaluatePolicies:
		require.NoError(b.t, b.Service.EvaluatePolicies(b.ctx, job))
	case store.VerifyPayoutMethod:
		b.runVerification(job)
	case store.ReevaluatePayouts:
		require.NoError(b.t, b.Service.ReevaluatePayouts(b.ctx, job))
	case store.ReleasePayout:
		return b.runRelease(job)
	case store.DeleteFiles:
		require.NoError(b.t, b.Service.DeleteFiles(b.ctx, job.Keys))
	case model.DeliverEndpoint:
		b.deliverDue(job)
	case store.SweepWork:
		require.NoError(b.t, b.Service.SweepDue(b.ctx, job.Work))
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
	for ; errors.Is(err, model.ErrBarrierPending) && ctx.Err() == nil; err = pass() {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	require.NoError(b.t, err)
}

func (b *Bundle) runVerification(job store.VerifyPayoutMethod) {
	b.t.Helper()
	payee, err := b.Service.BeginVerification(b.ctx, job.Partner, job.ID)
	require.NoError(b.t, err)
	if payee == nil {
		return
	}
	verified, code := b.Rail.answerVerification(payee)
	require.NoError(b.t, b.Service.RecordVerification(b.ctx, job.Partner, job.ID, RailName, code, verified))
}

func (b *Bundle) runRelease(job store.ReleasePayout) bool {
	b.t.Helper()
	order, wait, err := b.Service.BeginRelease(b.ctx, ScriptedRail, job.Partner, job.ID)
	require.NoError(b.t, err)
	if wait > 0 || order == nil {
		return wait == 0
	}
	ended, err := b.Service.EndRelease(b.ctx, RailName, order, b.Rail.answerOrder(order))
	require.NoError(b.t, err)
	return ended.RetryAfter == 0
}
