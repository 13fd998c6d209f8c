package model

import (
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// attemptRow is one call to a rail, inserted before the call and completed after it.
type attemptRow struct {
	bun.BaseModel `bun:"table:payout_attempts"`

	PayoutID          uuid.UUID `bun:",pk,type:uuid"`
	Partner           string    `bun:",pk"`
	Number            int       `bun:",pk"`
	Rail              string
	Key               string
	StartedAt         time.Time
	EndedAt           *time.Time
	Outcome           *string
	Code              *string
	ProviderReference *string
}

// ReleaseLease is how long one worker may work on a call before another may take over:
// longer than a call may last. Nothing is sent after its end; a later answer is still
// recorded.
const ReleaseLease = 30 * time.Second
