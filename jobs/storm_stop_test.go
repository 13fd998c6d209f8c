package jobs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
	"parapet/model/payouts/controls"
)

// The test stops releases while the slices of a large event are decided and its payouts
// go out in groups. Between the answer to the stop and the resumption the bank gets
// nothing; at the end it has paid every payout once.
func TestReleaseStopDuringAStormSendsNothing(t *testing.T) {
	t.Parallel()
	const policies, group = 2_000, 25
	s := newFixtureWith(t, noWait, modeltest.WithoutChecks())
	s.resetService(true)
	b := openBank(t)
	b.groups = group
	s.CopyPolicies(policies)
	s.Observe(modeltest.Quake("us1", s.Now().Add(-time.Hour), modeltest.Epicentre, "6.9"))
	s.startWorkersWith(b.newRail())
	s.requireEventually(func() bool { return b.Sends() > 0 }, "the first group goes out")
	stop, err := s.Service.Controls.StopReleases(t.Context(), s.Operator, controls.StopRequest{Reason: "A drill."})
	require.NoError(t, err)
	require.Nil(t, stop.Leaving)
	sent, decided := b.Sends(), s.countRows("claims")
	require.Less(t, sent, policies)
	s.requireEventually(func() bool {
		return s.countRows("claims where status = 'approved'") == policies && s.countRows("payouts where status = 'pending' and next_attempt_at is not null") == 0
	}, "every claim is decided, and no payout is due")
	require.Equal(t, sent, b.Sends(), "nothing was sent after the stop")
	require.Equal(t, sent, s.countRows("payouts where status = 'released'"))
	require.NoError(t, modeltest.ResumeReleases(t, s.Bundle, false))
	s.requireEventually(func() bool { return s.countRows("payouts where status = 'released'") == policies }, "the others go out")
	require.Equal(t, policies, b.Sends(), "each once")
	t.Logf("stopped after %d of %d decisions and %d payments", decided, policies, sent)
	s.waitUntilIdle()
	s.Relay()
	require.Empty(t, s.Violations())
}
