package replica

import (
	"sync"
	"time"

	"parapet/model/kernel/wal"
)

// sample is a position that the primary had written at a time.
type sample struct {
	at       time.Time
	position wal.Position
}

// primaryLog keeps what the primary had written during the last MaxStaleness. The age of
// the newest sample that a replica has replayed bounds the staleness of the replica, by
// the clock of this process alone. It is safe for concurrent use.
type primaryLog struct {
	mu      sync.Mutex
	system  int64    // identifier of the database cluster
	samples []sample // of the newest timeline, oldest first
}

// add records a sample. A new timeline, after a promotion, begins a new list.
func (p *primaryLog) add(system int64, s sample) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.samples); n > 0 && (p.samples[n-1].position.Timeline != s.position.Timeline || p.system != system) {
		p.samples = nil
	}
	p.system = system
	p.samples = append(p.samples, s)
	for len(p.samples) > 1 && s.at.Sub(p.samples[0].at) > 2*MaxStaleness {
		p.samples = p.samples[1:]
	}
}

// timeline returns the timeline of the primary; 0 if it is unknown.
func (p *primaryLog) timeline() uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.samples) == 0 {
		return 0
	}
	return p.samples[0].position.Timeline
}

// newestReached returns the newest sample that a server of a database cluster at a
// position contains; a zero one if it contains none.
func (p *primaryLog) newestReached(system int64, position wal.Position) (found sample) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.samples {
		if p.system == system && s.position.Timeline == position.Timeline && s.position.LSN <= position.LSN {
			found = s
		}
	}
	return found
}

func (p *primaryLog) systemIdentifier() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.system
}
