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
	"parapet/model"
	"parapet/model/modeltest"
	"parapet/model/money"
)

var errHung = errors.New("nobody answered")

// silent pays and says nothing.
func silent(inner rail.Rail) *acting {
	return &acting{Rail: inner, send: func(ctx context.Context, i rail.Instruction) rail.Result {
		inner.Send(ctx, i)
		return rail.Result{Outcome: rail.Unknown, Err: errHung}
	}}
}

func snoozed(t *testing.T, err error) {
	t.Helper()
	var snooze *rivertype.JobSnoozeError
	require.ErrorAs(t, err, &snooze)
}

// notices is the door of what a rail says on its own.
func (s *shop) notices(by rail.Rail) *Notices {
	return &Notices{Service: s.Service, Rail: by, Log: s.logger()}
}

func TestARailThatForgetsTooSoonIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t)
	for window, refused := range map[time.Duration]bool{0: false, time.Hour: false, leastKeyWindow + keyMargin: true, leastKeyWindow + keyMargin + time.Nanosecond: false, time.Minute: true} {
		_, err := NewWorkers(Config{Pool: s.pool, Service: s.Service, Log: s.logger(), Rail: &acting{Rail: s.rail, able: &rail.Capabilities{KeyWindow: window}}})
		require.Equal(t, refused, errors.Is(err, errForgetful), window)
	}
}

func TestAForgottenKeyIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := open(t)
	job := s.fleet(1)[0]
	forgetful := silent(s.rail)
	forgetful.able = &rail.Capabilities{KeyWindow: time.Hour, Inquirable: true}
	forgetful.inquire = func(context.Context, string) rail.Result { return rail.Result{Outcome: rail.NotFound} }
	snoozed(t, s.releaseBy(forgetful, job))
	require.Equal(t, "reconciling", s.read(job).Status)

	forgetful.send = func(context.Context, rail.Instruction) rail.Result {
		t.Error("sent again under a key that may be forgotten")
		return rail.Result{}
	}
	s.After(time.Hour - keyMargin)
	snoozed(t, s.releaseBy(forgetful, job))
	require.Equal(t, "reconciling", s.read(job).Status)
	require.Equal(t, 1, s.count("payout_attempts where code = $1", codeKeyForgotten))

	key := s.RailKey(job.ID, 1)
	require.NoError(t, s.notices(forgetful).Take(t.Context(), key, s.rail.Inquire(t.Context(), key)))
	s.settled(*s.read(job), promise{})
}

func TestARailThatCannotBeAskedIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := open(t)
	job := s.fleet(1)[0]
	mute := silent(s.rail)
	mute.able = &rail.Capabilities{}
	snoozed(t, s.releaseBy(mute, job))
	s.After(time.Minute)
	mute.send, mute.inquire = nil, func(context.Context, string) rail.Result { panic("it cannot be asked") }
	snoozed(t, s.releaseBy(mute, job))
	require.Equal(t, "reconciling", s.read(job).Status)
	require.Equal(t, 1, s.count("simulator_transfers"))
}

func TestANoticeIsAnAnswer(t *testing.T) {
	t.Parallel()
	s := open(t)
	for name, test := range map[string]struct {
		said   rail.Result
		status string
	}{
		"no news":  {rail.Result{Outcome: rail.Unknown}, "reconciling"},
		"a no":     {rail.Result{Outcome: rail.Refused, Code: "account_closed"}, "reconciling"}, // until an inquiry confirms it
		"another":  {rail.Result{Outcome: rail.Accepted, Paid: money.New(1, "USD"), Payee: "iban ····3000", Reference: "r"}, "blocked"},
		"a yes":    {rail.Result{Outcome: rail.Accepted, Paid: money.New(2_000_000, "USD"), Payee: "iban ····3000", Reference: "r"}, "released"},
		"stranger": {rail.Result{Outcome: rail.Accepted, Paid: money.New(2_000_000, "USD"), Payee: "iban ····9999", Reference: "r"}, "blocked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			job := s.fleet(1)[0]
			snoozed(t, s.releaseBy(silent(s.rail), job))
			for range 2 { // a rail repeats itself
				require.NoError(t, s.notices(s.rail).Take(t.Context(), s.RailKey(job.ID, 1), test.said))
			}
			require.Equal(t, test.status, s.read(job).Status)
		})
	}
	require.Equal(t, model.CodeNotFound, model.CodeOf(s.notices(s.rail).Take(t.Context(), "pay_none.1", rail.Result{Outcome: rail.Accepted})))
}

func TestARefusalWaitsForTheCallUnderWay(t *testing.T) {
	t.Parallel()
	s := open(t)
	job := s.fleet(1)[0]
	_, _, err := s.Service.BeginRelease(t.Context(), IdentityOf(s.rail), job.Partner, job.ID)
	require.NoError(t, err)
	key, no := s.RailKey(job.ID, 1), rail.Result{Outcome: rail.Refused}
	require.ErrorIs(t, s.notices(s.rail).Take(t.Context(), key, no), ErrUnderway)
	require.Equal(t, "releasing", s.read(job).Status)
}

// TestARefusalThatComesLaterEndsItsKey lets the rail refuse by a notice what its answer
// left in doubt, and confirm it when it is asked: the payout goes out under the next
// key, which the invariants allow.
func TestARefusalThatComesLaterEndsItsKey(t *testing.T) {
	t.Parallel()
	s := open(t)
	claim, job := s.owed(numberFor(rail.Accept))
	unheard := &acting{Rail: s.rail, send: func(context.Context, rail.Instruction) rail.Result {
		return rail.Result{Outcome: rail.Unknown, Err: errHung}
	}}
	snoozed(t, s.releaseBy(unheard, job))
	refused := rail.Result{Outcome: rail.Refused, Code: "account_closed"}
	require.NoError(t, s.notices(s.rail).Take(t.Context(), s.RailKey(job.ID, 1), refused))
	require.Equal(t, "reconciling", s.read(job).Status)
	unheard.inquire = func(context.Context, string) rail.Result { return refused }
	require.NoError(t, s.releaseBy(unheard, job), "it is asked at once")
	require.Equal(t, "rail_rejected", *s.read(job).BlockedReason)
	other := s.Record(modeltest.IBAN(claim))
	require.NoError(t, s.Service.RecordVerification(t.Context(), "acme", other.ID, s.rail.Name(), rail.CodeFound, true))
	require.NoError(t, s.release(job))
	require.Equal(t, 1, s.count("simulator_transfers where key = $1", s.RailKey(job.ID, 2)))
	require.Empty(t, s.Violations())
}

// TestMoneyAstrayIsAlarmed lets a rail confess that a key which it had refused was
// paid nonetheless, when the payout already went out under the next one.
func TestMoneyAstrayIsAlarmed(t *testing.T) {
	t.Parallel()
	s := open(t)
	job := s.fleet(1)[0]
	astray := &acting{Rail: named{s.rail, "astray"}}
	require.NoError(t, s.releaseBy(&acting{Rail: astray, send: func(context.Context, rail.Instruction) rail.Result {
		return rail.Result{Outcome: rail.Refused, Code: "account_closed"}
	}}, job))
	require.Equal(t, "rail_rejected", *s.read(job).BlockedReason)
	yes := rail.Result{Outcome: rail.Accepted, Paid: s.read(job).Amount, Payee: numberFor(rail.Accept).String(), Reference: "late"}
	require.NoError(t, s.notices(astray).Take(t.Context(), s.RailKey(job.ID, 1), yes))
	require.Equal(t, "rail_mismatch", *s.read(job).BlockedReason)
	require.InDelta(t, 1, testutil.ToFloat64(mismatchCount.WithLabelValues("astray")), 0)
	require.Contains(t, s.log.String(), `"msg":"rail mismatch"`)
}

// named is a rail under another name, so that its figures are the test's own.
type named struct {
	rail.Rail

	name string
}

func (n named) Name() string { return n.name }
