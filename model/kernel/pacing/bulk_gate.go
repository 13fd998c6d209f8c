// Package pacing limits the bulk work of a process while the process answers requests.
//
// A large event occupies every processor of its machine and of a small database server:
// on two cores, POST /quotes took a second at the 99th percentile during an event of
// 20,000 claims. One piece of bulk work at a time, with a rest after it, leaves processors
// and the disk to requests, and the event takes up to twice as long until it is paid.
// BenchmarkStorm/Pay/Quotes of make bench/storm measures both.
package pacing

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync"
	"time"
)

// A process answers requests while it has counted minRequests or more in the present and
// the previous period.
const (
	period      = time.Second
	minRequests = 3
)

// ErrBusy is the error of Enter when other pieces of bulk work have had all turns for too
// long: the caller leaves its piece to a later job.
var ErrBusy = errors.New("other bulk work has all turns")

// defaultMaxWait is how long a piece of bulk work waits: far below the time of a job.
const defaultMaxWait = 10 * time.Second

// restShare is the part of a piece's time for which its turn rests afterwards, up to maxRest:
// the disk and the processors are free for requests meanwhile.
const (
	restShare = 0.4
	maxRest   = time.Second
)

// BulkGate admits pieces of bulk work, such as a slice of an event, a group of payouts or
// a large batch of events to number: one for every two processors while the process answers
// requests, any number otherwise. A turn is free again when it has rested. The zero value is ready. A BulkGate may be used concurrently and must not be copied.
type BulkGate struct {
	// Now returns the time; nil means time.Now. Set it before the first use.
	Now func() time.Time
	// MaxWait is how long Enter waits; zero means ten seconds. Set it before the first use.
	MaxWait time.Duration

	turnsMade sync.Once
	turns     chan struct{}

	mu                sync.Mutex
	began             time.Time // of the present period
	present, previous int       // requests
}

// CountRequest counts a request of a client.
func (g *BulkGate) CountRequest() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.movePeriod()
	g.present++
}

// Enter waits until a piece of bulk work may begin. The caller calls leave when the piece
// ends, and holds no transaction while it waits. Errors: ErrBusy, and that of ctx.
func (g *BulkGate) Enter(ctx context.Context) (leave func(), err error) {
	if !g.AnswersRequests() {
		return func() {}, ctx.Err()
	}
	waited := time.NewTimer(cmp.Or(g.MaxWait, defaultMaxWait))
	defer waited.Stop()
	g.turnsMade.Do(func() { g.turns = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)) })
	select {
	case g.turns <- struct{}{}:
		began := g.Time()
		return func() {
			rest := time.Duration(restShare * float64(g.Time().Sub(began)))
			time.AfterFunc(min(rest, maxRest), func() { <-g.turns })
		}, nil
	case <-waited.C:
		return nil, ErrBusy
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// EnterWithin is Enter for a piece of bulk work for which others wait, or that must not get
// lost: it begins without a turn when none is free within limit.
func (g *BulkGate) EnterWithin(ctx context.Context, limit time.Duration) (leave func()) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	leave, err := g.Enter(ctx)
	if err != nil {
		return func() {}
	}
	return leave
}

// AnswersRequests reports whether the process answers requests.
func (g *BulkGate) AnswersRequests() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.movePeriod()
	return g.present+g.previous >= minRequests
}

// movePeriod begins a new period when the present one has ended. The caller holds mu.
func (g *BulkGate) movePeriod() {
	now := g.Time()
	switch age := now.Sub(g.began); {
	case age >= 2*period:
		g.previous, g.present, g.began = 0, 0, now
	case age >= period:
		g.previous, g.present, g.began = g.present, 0, g.began.Add(period)
	}
}

// Time returns the time by which the gate works.
func (g *BulkGate) Time() time.Time {
	if g.Now != nil {
		return g.Now()
	}
	return time.Now()
}
