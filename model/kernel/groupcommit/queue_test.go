package groupcommit_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/groupcommit"
)

// recorder is the Run of a queue of numbers. It keeps each group; the item 0 blocks until
// release is closed.
type recorder struct {
	groupcommit.Queue[int]

	mu      sync.Mutex
	groups  [][]int
	release chan struct{}
}

func newRecorder(parallel, size int) *recorder {
	r := &recorder{release: make(chan struct{})}
	r.Parallel, r.MaxSize = parallel, size
	r.Run = func(_ context.Context, group []int, _ func()) {
		r.mu.Lock()
		r.groups = append(r.groups, append([]int(nil), group...))
		r.mu.Unlock()
		if group[0] == 0 {
			<-r.release
		}
		if group[0] < 0 {
			panic("negative")
		}
	}
	return r
}

// runs returns the number of groups that have begun.
func (r *recorder) runs() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.groups)
}

// call starts a call and waits until it runs or waits.
func (r *recorder) call(ctx context.Context, t *testing.T, item int) (result chan error) {
	t.Helper()
	before := r.runs() + r.Waiting()
	result = make(chan error, 1)
	go func() {
		defer func() {
			if recover() != nil {
				close(result)
			}
		}()
		result <- r.Do(ctx, item)
	}()
	require.Eventually(t, func() bool { return r.runs()+r.Waiting() > before }, 10*time.Second, time.Millisecond)
	return result
}

func TestCallsThatWaitRunAsGroupsInTheirOrder(t *testing.T) {
	t.Parallel()
	r := newRecorder(1, 3)
	results := []chan error{r.call(t.Context(), t, 0)}
	for item := 1; item <= 5; item++ {
		results = append(results, r.call(t.Context(), t, item))
	}
	close(r.release)
	for _, result := range results {
		require.NoError(t, <-result)
	}
	require.Equal(t, [][]int{{0}, {1, 2, 3}, {4, 5}}, r.groups)
	require.NoError(t, r.Do(t.Context(), 6), "the turn is free again")
	require.Equal(t, []int{6}, r.groups[3])
}

func TestGroupsRunAtOnceUpToTheBound(t *testing.T) {
	t.Parallel()
	r := newRecorder(2, 9)
	one, two := r.call(t.Context(), t, 0), r.call(t.Context(), t, 0)
	require.Equal(t, 2, r.runs(), "both run")
	three := r.call(t.Context(), t, 3)
	require.Equal(t, 1, r.Waiting())
	close(r.release)
	for _, result := range []chan error{one, two, three} {
		require.NoError(t, <-result)
	}
	require.Equal(t, [][]int{{0}, {0}, {3}}, r.groups)
}

func TestCallLeavesOnlyBeforeItsGroupBegins(t *testing.T) {
	t.Parallel()
	r := newRecorder(1, 9)
	first := r.call(t.Context(), t, 0)
	ctx, cancel := context.WithCancel(t.Context())
	leaves, stays := r.call(ctx, t, 1), r.call(t.Context(), t, 2)
	cancel()
	require.ErrorIs(t, <-leaves, context.Canceled)
	close(r.release)
	require.NoError(t, <-first)
	require.NoError(t, <-stays)
	require.Equal(t, [][]int{{0}, {2}}, r.groups)
}

func TestCallWhoseGroupRunsWaitsForIt(t *testing.T) {
	t.Parallel()
	r := newRecorder(1, 9)
	began, finish := make(chan struct{}), make(chan struct{})
	run := r.Run
	r.Run = func(ctx context.Context, group []int, endTurn func()) {
		run(ctx, group, endTurn)
		if len(group) == 2 {
			close(began)
			<-finish
		}
	}
	first := r.call(t.Context(), t, 0)
	ctx, cancel := context.WithCancel(t.Context())
	leader, follower := r.call(t.Context(), t, 1), r.call(ctx, t, 2)
	close(r.release)
	require.NoError(t, <-first)
	<-began
	cancel()
	select {
	case err := <-follower:
		t.Fatalf("returned %v before its group ended", err)
	case <-time.After(20 * time.Millisecond):
	}
	close(finish)
	require.NoError(t, <-follower)
	require.NoError(t, <-leader)
}

func TestPanicOfAGroupFreesItsTurn(t *testing.T) {
	t.Parallel()
	r := newRecorder(1, 2)
	first := r.call(t.Context(), t, 0)
	leader, follower := r.call(t.Context(), t, -1), r.call(t.Context(), t, 2)
	next := r.call(t.Context(), t, 3)
	close(r.release)
	require.NoError(t, <-first)
	_, open := <-leader
	require.False(t, open, "the panic reaches the caller that ran the group")
	require.NoError(t, <-follower)
	require.NoError(t, <-next)
	require.Equal(t, [][]int{{0}, {-1, 2}, {3}}, r.groups)
}

func TestTurnEndsOnceBeforeItsGroup(t *testing.T) {
	t.Parallel()
	r := newRecorder(1, 9)
	run := r.Run
	r.Run = func(ctx context.Context, group []int, endTurn func()) {
		endTurn()
		endTurn()
		run(ctx, group, endTurn)
	}
	blocked := r.call(t.Context(), t, 0)
	require.NoError(t, r.Do(t.Context(), 1), "it runs while the group whose turn has ended still runs")
	close(r.release)
	require.NoError(t, <-blocked)
	require.Equal(t, [][]int{{0}, {1}}, r.groups)
}

type valueKey struct{}

func TestContextOfAGroupLastsAsLongAsOneCaller(t *testing.T) {
	t.Parallel()
	r := newRecorder(1, 9)
	run := r.Run
	oneLeft, allLeft := make(chan struct{}), make(chan struct{})
	r.Run = func(ctx context.Context, group []int, endTurn func()) {
		run(ctx, group, endTurn)
		if len(group) == 2 {
			require.Equal(t, "first", ctx.Value(valueKey{}))
			close(oneLeft)
			<-ctx.Done()
			close(allLeft)
		}
	}
	first := r.call(t.Context(), t, 0)
	one, leaveOne := context.WithCancel(context.WithValue(t.Context(), valueKey{}, "first"))
	other, leaveOther := context.WithCancel(t.Context())
	results := []chan error{first, r.call(one, t, 1), r.call(other, t, 2)}
	close(r.release)
	<-oneLeft
	leaveOne()
	select {
	case <-allLeft:
		t.Fatal("the context ended although a caller waits")
	case <-time.After(20 * time.Millisecond):
	}
	leaveOther()
	<-allLeft
	for _, result := range results {
		require.NoError(t, <-result)
	}
}
