package model

import (
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
)

// exceptionRow is a difference between a rail report and our payouts, or a payout that
// was made twice.
type exceptionRow struct {
	bun.BaseModel `bun:"table:reconciliation_exceptions,alias:fi"`

	ID              uuid.UUID `bun:",pk,type:uuid"`
	CreatedAt       time.Time
	Kind            string
	Rail            *string    // nil if no rail is involved
	ReportID        *uuid.UUID `bun:"type:uuid"`
	Line            *int
	Partner         *string
	PolicyID        *uuid.UUID `bun:"type:uuid"`
	PayoutID        *uuid.UUID `bun:"type:uuid"`
	RelatedPayoutID *uuid.UUID `bun:"type:uuid"` // the earlier payout for the same event
	Detail          *string
	ClosedAt        *time.Time
	ClosedBy        *actor.PersonID
	ClosedReason    *string
}

// ReconciliationExceptionKind is the kind of a difference: the result of a report line,
// or a missing line.
type ReconciliationExceptionKind = string
