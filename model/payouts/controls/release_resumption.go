package controls

import (
	"context"
	"fmt"
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

// ResumptionRow is a run that ends a stop and makes the waiting payouts due.
type ResumptionRow struct {
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

// ToRecord returns the record of a resumption.
func (r *ResumptionRow) ToRecord() *ReleaseResumption {
	return &ReleaseResumption{
		ID: store.ResourceReleaseResumption.FormatID(r.ID), State: string(r.State), StartedAt: r.StartedAt, StartedBy: r.StartedBy.Name(), StartedByIssuer: r.StartedBy.Issuer(), Reason: r.Reason,
		Acknowledge: r.Acknowledge, Done: r.Done, Total: r.Total, FinishedAt: r.FinishedAt, Refusal: r.Refusal,
	}
}

// stopResumption ends the unfinished run, for a new stop.
func stopResumption(ctx context.Context, tx *store.Tx) error {
	run, err := UnfinishedResumption(ctx, tx)
	if err != nil || run == nil {
		return err
	}
	run.Finish(tx.Now, ResumptionStopped)
	return SaveResumption(ctx, tx, run)
}

// ResumptionState is the state of a resumption of releases.
type ResumptionState string

// States of a resumption. The last three are final.
const (
	ResumptionChecking  ResumptionState = "checking"  // the invariants are checked; releases are still stopped
	ResumptionResuming  ResumptionState = "resuming"  // the stop has ended; waiting payouts are made due
	ResumptionCompleted ResumptionState = "completed" // all waiting payouts are due
	ResumptionRefused   ResumptionState = "refused"   // the stop stays active; Refusal gives the reason
	ResumptionStopped   ResumptionState = "stopped"   // releases were stopped again before all payouts were due
)

// UnfinishedResumption locks the unfinished run; nil if there is none.
func UnfinishedResumption(ctx context.Context, tx *store.Tx) (*ResumptionRow, error) {
	row := new(ResumptionRow)
	err := tx.NewSelect().Model(row).Where("rr.finished_at is null").For("UPDATE").Scan(ctx)
	if store.IsNoRows(err) {
		return nil, nil //nolint:nilnil // no resumption is running
	}
	return row, err
}

// SaveResumption saves the progress of a resumption that the caller has locked.
func SaveResumption(ctx context.Context, tx *store.Tx, run *ResumptionRow) error {
	_, err := tx.NewUpdate().Model(run).Column("state", "done", "total", "finished_at", "refusal").WherePK().Exec(ctx)
	if err != nil {
		return fmt.Errorf("save a resumption: %w", err)
	}
	return nil
}

// Finish ends a run.
func (r *ResumptionRow) Finish(at time.Time, state ResumptionState) {
	r.State, r.FinishedAt = state, &at
}
