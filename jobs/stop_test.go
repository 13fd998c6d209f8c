package jobs

import (
	"context"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"parapet/jobs/rail"
	"parapet/model"
)

// sending counts what a rail that writes files and knows no key is asked for.
type sending struct {
	rail.Rail

	sent, written int
}

// Capabilities implements rail.Rail.
func (*sending) Capabilities() rail.Capabilities { return rail.Capabilities{Inquirable: true} }

// Inquire implements rail.Rail.
func (*sending) Inquire(context.Context, string) rail.Result {
	return rail.Result{Outcome: rail.NotFound}
}

// Send implements rail.Rail.
func (s *sending) Send(context.Context, rail.Instruction) rail.Result {
	s.sent++
	return rail.Result{Outcome: rail.Accepted}
}

// WriteDue writes nothing and counts it.
func (s *sending) WriteDue(context.Context) error {
	s.written++
	return nil
}

func TestDuringAStopNothingIsSentAgainAndNoFileIsWritten(t *testing.T) {
	t.Parallel()
	s := open(t)
	to := &sending{Rail: s.rail}
	releases := &releasePayout{rail: to}
	require.Equal(t, codeStopped, releases.settle(t.Context(), &model.Release{Doubt: true, AskOnly: true}, time.Time{}).Code)
	require.Zero(t, to.sent)
	releases.settle(t.Context(), &model.Release{Doubt: true}, time.Time{})
	require.Equal(t, 1, to.sent)

	files := &writeFiles{service: s.Service, rail: to}
	_, err := s.Service.StopReleases(t.Context(), s.Operator, model.StopRequest{Reason: "The bank called."})
	require.NoError(t, err)
	require.NoError(t, files.Work(t.Context(), &river.Job[WriteFiles]{}))
	require.Zero(t, to.written)
	_, err = s.Service.ResumeReleases(t.Context(), s.Operator, model.ResumeRequest{Reason: "All is well."})
	require.NoError(t, err)
	require.NoError(t, files.Work(t.Context(), &river.Job[WriteFiles]{}))
	require.Equal(t, 1, to.written)
}
