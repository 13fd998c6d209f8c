package controls

import (
	"context"
	"time"

	"parapet/model/kernel/store"
)

// These constants bound how long a check waits for turns of bulk work.
const (
	checkTurnWait  = time.Second // before each statement
	checkTurnWaits = time.Minute // in all
)

// turnTaker waits for a turn of bulk work for a statement of a check.
type turnTaker func(context.Context) (leave func())

// takeTurns returns a turnTaker that waits for checkTurnWaits in all. Later statements
// begin without a turn, so that the check ends in time.
func takeTurns(s *store.Store) turnTaker {
	left := checkTurnWaits
	return func(ctx context.Context) (leave func()) {
		began := s.Bulk.Time()
		defer func() { left -= s.Bulk.Time().Sub(began) }()
		return s.Bulk.EnterWithin(ctx, min(left, checkTurnWait))
	}
}

// takeNoTurns is the turnTaker of a check for which an operator waits.
func takeNoTurns(context.Context) (leave func()) { return func() {} }
