package replica

import (
	"sync/atomic"
	"time"
)

// Reason is why a read was answered by a replica or the primary.
type Reason int

// The reasons. All but ReasonCurrent mean that the primary answered.
const (
	ReasonCurrent     Reason = iota // a replica answered
	ReasonBehind                    // it had not replayed the position that the request must see
	ReasonLagging                   // it is older than MaxStaleness
	ReasonTimeline                  // the position or the replica belongs to another timeline than the primary
	ReasonUnreachable               // it does not answer
	ReasonPromoted                  // it is no standby any more
	ReasonForeign                   // it is a copy of another database cluster
	ReasonFailed                    // it failed the read, for example by a conflict with recovery
	reasons                         // the number of reasons
)

var reasonNames = [reasons]string{"current", "behind", "lagging", "timeline", "unreachable", "promoted", "foreign", "failed"}

// String returns the word that metrics show.
func (r Reason) String() string { return reasonNames[r] }

// Reasons lists every reason.
func Reasons() []Reason {
	all := make([]Reason, reasons)
	for i := range all {
		all[i] = Reason(i)
	}
	return all
}

// readCounts counts reads by reason.
type readCounts [reasons]atomic.Int64

func (c *readCounts) add(r Reason) { c[r].Add(1) }

// Reads returns how many reads ended with a reason.
func (s *Set) Reads(why Reason) int64 { return s.counts[why].Load() }

// ServerStats is the state of a replica.
type ServerStats struct {
	Name  string
	State Reason        // ReasonCurrent if it may answer
	Lag   time.Duration // the age of what it shows, at most a second too high; since the start if it shows no sample of the primary yet
}

// Servers returns the state of each replica.
func (s *Set) Servers() []ServerStats {
	if s == nil {
		return nil
	}
	list := make([]ServerStats, len(s.servers))
	for i, r := range s.servers {
		_, reached, why := s.stateOf(r)
		list[i] = ServerStats{Name: r.name, State: why, Lag: time.Since(s.since)}
		if !reached.at.IsZero() {
			list[i].Lag = time.Since(reached.at)
		}
	}
	return list
}
