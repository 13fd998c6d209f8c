package jobs

import (
	"context"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"parapet/model/payouts"
)

// TestGroupOfBlockedPayoutsIsFollowedByTheNext blocks all payouts of the first group.
func TestGroupOfBlockedPayoutsIsFollowedByTheNext(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b, fleet := s.openGroupBank(2, 4)
	s.execSQL("update claims set retraction = 'held' where id in (select claim_id from payouts order by id limit 2)")
	s.execSQL("update payouts set next_attempt_at = next_attempt_at - interval '1 minute' where claim_id in (select id from claims where retraction = 'held')")
	require.NoError(t, s.runReleaseBatch(b.newRail()))
	require.Equal(t, []string{"blocked", "blocked", "released", "released"}, s.statusesOf(fleet))
}

// shrinkingContext is a context whose deadline is near once any order was sent.
type shrinkingContext struct {
	context.Context //nolint:containedctx // it changes one method

	sends func() int
}

func (c shrinkingContext) Deadline() (time.Time, bool) {
	left := jobTimeout
	if c.sends() > 0 {
		left = groupTime - time.Millisecond
	}
	return time.Now().Add(left), true
}

func TestGroupsStopBeforeTheirJobEnds(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b, fleet := s.openGroupBank(2, 4)
	worker := &releaseBatch{service: s.Service, rail: b.newRail(), log: s.newLogger(), single: &releasePayout{service: s.Service, rail: b.newRail(), log: s.newLogger()}}
	isSnoozed(t, worker.Work(shrinkingContext{t.Context(), b.Sends}, &river.Job[payouts.ReleaseBatch]{}))
	require.Equal(t, []int{2}, b.Groups(), "the time of the job is too short for another call")
	require.Equal(t, []string{"released", "released", "pending", "pending"}, s.statusesOf(fleet))
	require.NoError(t, s.runReleaseBatch(b.newRail()))
	require.Equal(t, []int{2, 2}, b.Groups())
}
