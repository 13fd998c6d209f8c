package model

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
)

// ReleaseResumption is a run that ends a stop of releases and makes the waiting payouts
// due.
type ReleaseResumption struct {
	ID              string
	State           string // a ResumptionState
	StartedAt       time.Time
	StartedBy       string  // an operator, by the issuer's name
	StartedByIssuer *string // nil if the token names none
	Reason          string
	Acknowledge     bool       // violated invariants were acknowledged
	Done            int        // waiting payouts that are due now
	Total           int        // payouts that waited when the stop ended; zero before
	FinishedAt      *time.Time // nil while it runs
	Refusal         *string    // why releases stay stopped
}

// resumptionRow is a run that ends a stop and makes the waiting payouts due.
type resumptionRow struct {
	bun.BaseModel `bun:"table:release_resumptions,alias:rr"`

	ID          uuid.UUID `bun:",pk,type:uuid"`
	StopID      uuid.UUID `bun:",type:uuid"`
	State       ResumptionState
	StartedAt   time.Time
	StartedBy   actor.PersonID
	Reason      string
	Acknowledge bool
	Done        int
	Total       int
	FinishedAt  *time.Time
	Refusal     *string
}

func (r *resumptionRow) toRecord() *ReleaseResumption {
	return &ReleaseResumption{
		ID: store.ResourceReleaseResumption.FormatID(r.ID), State: string(r.State), StartedAt: r.StartedAt, StartedBy: r.StartedBy.Name(), StartedByIssuer: r.StartedBy.Issuer(), Reason: r.Reason,
		Acknowledge: r.Acknowledge, Done: r.Done, Total: r.Total, FinishedAt: r.FinishedAt, Refusal: r.Refusal,
	}
}

// stopResumption ends the unfinished run, for a new stop.
func stopResumption(ctx context.Context, tx *store.Tx) error {
	run, err := unfinishedResumption(ctx, tx)
	if err != nil || run == nil {
		return err
	}
	run.finish(tx.Now, ResumptionStopped)
	return saveResumption(ctx, tx, run)
}
