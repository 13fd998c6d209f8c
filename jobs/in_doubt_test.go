package jobs

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"parapet/jobs/rail"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/money"
)

var errHung = errors.New("no answer")

// silentLogger is a rail that pays and does not answer.
func silentLogger(inner rail.Rail) *wrappedRail {
	return &wrappedRail{Rail: inner, send: func(ctx context.Context, i rail.Instruction) rail.Result {
		inner.Send(ctx, i)
		return rail.Result{Outcome: rail.Unknown, Err: errHung}
	}}
}

func isSnoozed(t *testing.T, err error) {
	t.Helper()
	var snooze *rivertype.JobSnoozeError
	require.ErrorAs(t, err, &snooze)
}

// noticeRecorder records notices of the rail.
func (s *fixture) noticeRecorder(by rail.Rail) *NoticeRecorder {
	return &NoticeRecorder{Service: s.Service, Rail: by, Log: s.newLogger()}
}

func TestRailWithShortKeyWindowIsRejected(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for window, refused := range map[time.Duration]bool{0: false, time.Hour: false, minKeyWindow + keyMargin: true, minKeyWindow + keyMargin + time.Nanosecond: false, time.Minute: true} {
		_, err := NewWorkers(Config{Pool: s.pool, Service: s.Service, Log: s.newLogger(), Rail: &wrappedRail{Rail: s.rail, able: &rail.Capabilities{KeyWindow: window}}})
		require.Equal(t, refused, errors.Is(err, errKeyWindowTooShort), window)
	}
}

func TestExpiredKeyIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	job := s.createPendingPayouts(1)[0]
	forgetful := silentLogger(s.rail)
	forgetful.able = &rail.Capabilities{KeyWindow: time.Hour, Inquirable: true}
	forgetful.inquire = func(context.Context, string) rail.Result { return rail.Result{Outcome: rail.NotFound} }
	isSnoozed(t, s.runReleaseWith(forgetful, job))
	require.Equal(t, "reconciling", s.readPayout(job).Status)

	forgetful.send = func(context.Context, rail.Instruction) rail.Result {
		t.Error("sent again under a key that may be forgotten")
		return rail.Result{}
	}
	s.AdvanceClock(time.Hour - keyMargin)
	isSnoozed(t, s.runReleaseWith(forgetful, job))
	require.Equal(t, "reconciling", s.readPayout(job).Status)
	require.Equal(t, 1, s.countRows("payout_attempts where code = $1", codeKeyForgotten))

	key := s.RailKey(job.ID, 1)
	require.NoError(t, s.noticeRecorder(forgetful).Record(t.Context(), key, s.rail.Inquire(t.Context(), key)))
	s.settled(*s.readPayout(job), behaviourCase{})
}

func TestNonInquirableRailWaitsForReport(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	job := s.createPendingPayouts(1)[0]
	mute := silentLogger(s.rail)
	mute.able = &rail.Capabilities{}
	isSnoozed(t, s.runReleaseWith(mute, job))
	s.AdvanceClock(time.Minute)
	mute.send, mute.inquire = nil, func(context.Context, string) rail.Result { panic("it cannot be asked") }
	isSnoozed(t, s.runReleaseWith(mute, job))
	require.Equal(t, "reconciling", s.readPayout(job).Status)
	require.Equal(t, 1, s.countRows("simulator_transfers"))
}

func TestANoticeIsAnAnswer(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for name, test := range map[string]struct {
		said   rail.Result
		status string
	}{
		"no news":  {rail.Result{Outcome: rail.Unknown}, "reconciling"},
		"a no":     {rail.Result{Outcome: rail.Refused, Code: "account_closed"}, "reconciling"}, // a refusal counts only after an inquiry confirms it
		"another":  {rail.Result{Outcome: rail.Accepted, Paid: money.New(1, "USD"), Payee: "iban ····3000", Reference: "r"}, "blocked"},
		"a yes":    {rail.Result{Outcome: rail.Accepted, Paid: money.New(2_000_000, "USD"), Payee: "iban ····3000", Reference: "r"}, "released"},
		"stranger": {rail.Result{Outcome: rail.Accepted, Paid: money.New(2_000_000, "USD"), Payee: "iban ····9999", Reference: "r"}, "blocked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			job := s.createPendingPayouts(1)[0]
			isSnoozed(t, s.runReleaseWith(silentLogger(s.rail), job))
			for range 2 { // a rail repeats itself
				require.NoError(t, s.noticeRecorder(s.rail).Record(t.Context(), s.RailKey(job.ID, 1), test.said))
			}
			require.Equal(t, test.status, s.readPayout(job).Status)
		})
	}
	require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(s.noticeRecorder(s.rail).Record(t.Context(), "pay_none.1", rail.Result{Outcome: rail.Accepted})))
}

func TestRefusalNoticeWaitsForCallInFlight(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	job := s.createPendingPayouts(1)[0]
	_, _, err := s.Service.Releases.BeginRelease(t.Context(), IdentityOf(s.rail), job.Partner, job.ID)
	require.NoError(t, err)
	key, no := s.RailKey(job.ID, 1), rail.Result{Outcome: rail.Refused}
	require.ErrorIs(t, s.noticeRecorder(s.rail).Record(t.Context(), key, no), ErrInFlight)
	require.Equal(t, "releasing", s.readPayout(job).Status)
}

// TestARefusalThatComesLaterEndsItsKey makes the rail refuse an order in doubt by a
// notice and confirm it at an inquiry: the payout is sent under the next key, which the
// invariants allow.
func TestARefusalThatComesLaterEndsItsKey(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	claim, job := s.createPendingPayout(numberFor(rail.Accept))
	unheard := &wrappedRail{Rail: s.rail, send: func(context.Context, rail.Instruction) rail.Result {
		return rail.Result{Outcome: rail.Unknown, Err: errHung}
	}}
	isSnoozed(t, s.runReleaseWith(unheard, job))
	refused := rail.Result{Outcome: rail.Refused, Code: "account_closed"}
	require.NoError(t, s.noticeRecorder(s.rail).Record(t.Context(), s.RailKey(job.ID, 1), refused))
	require.Equal(t, "reconciling", s.readPayout(job).Status)
	unheard.inquire = func(context.Context, string) rail.Result { return refused }
	require.NoError(t, s.runReleaseWith(unheard, job), "it is asked at once")
	require.Equal(t, "rail_rejected", *s.readPayout(job).BlockedReason)
	other := s.RecordPayoutMethod(modeltest.IBANMethod(claim))
	require.NoError(t, s.Service.Payouts.RecordVerification(t.Context(), "acme", other.ID, s.rail.Name(), rail.CodeFound, true))
	require.NoError(t, s.runRelease(job))
	require.Equal(t, 1, s.countRows("simulator_transfers where key = $1", s.RailKey(job.ID, 2)))
	require.Empty(t, s.Violations())
}

// TestPaymentMismatchRaisesAlarm makes a rail report that a refused key was paid after
// all, when the payout was already sent under the next one.
func TestPaymentMismatchRaisesAlarm(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	job := s.createPendingPayouts(1)[0]
	astray := &wrappedRail{Rail: named{s.rail, "astray"}}
	require.NoError(t, s.runReleaseWith(&wrappedRail{Rail: astray, send: func(context.Context, rail.Instruction) rail.Result {
		return rail.Result{Outcome: rail.Refused, Code: "account_closed"}
	}}, job))
	require.Equal(t, "rail_rejected", *s.readPayout(job).BlockedReason)
	yes := rail.Result{Outcome: rail.Accepted, Paid: s.readPayout(job).Amount, Payee: numberFor(rail.Accept).String(), Reference: "late"}
	require.NoError(t, s.noticeRecorder(astray).Record(t.Context(), s.RailKey(job.ID, 1), yes))
	require.Equal(t, "rail_mismatch", *s.readPayout(job).BlockedReason)
	require.InDelta(t, 1, testutil.ToFloat64(mismatchCount.WithLabelValues("astray")), 0)
	require.Contains(t, s.log.String(), `"msg":"rail mismatch"`)
}

// named is a rail under another name, so that the test has metrics of its own.
type named struct {
	rail.Rail

	name string
}

func (n named) Name() string { return n.name }
