package controls

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"parapet/model/audit"
	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
	"parapet/model/wire"
)

// StopRow is a period in which no payout is sent.
type StopRow struct {
	bun.BaseModel `bun:"table:release_stops,alias:rs"`

	ID           uuid.UUID `bun:",pk,type:uuid"`
	StoppedAt    time.Time
	StoppedBy    actor.PersonID
	Reason       string
	ResumedAt    *time.Time
	ResumedBy    *actor.PersonID
	ResumeReason *string
	Acknowledged bool
}

// ReleaseStop is a period in which no payout is sent to a rail. Due payouts wait;
// earlier orders are still inquired about.
type ReleaseStop struct {
	StoppedAt       time.Time
	StoppedBy       string  // an operator, by the issuer's name, or parapet
	StoppedByIssuer *string // nil for parapet
	Reason          string
	ResumedAt       *time.Time // nil while the stop is active
	ResumedBy       *string
	ResumedByIssuer *string
	ResumeReason    *string
	Acknowledged    bool // resumed although an invariant was violated
}

// ToRecord returns the record of a stop.
func (r *StopRow) ToRecord() *ReleaseStop {
	resumedBy, issuer := r.ResumedBy.NameAndIssuer()
	return &ReleaseStop{
		StoppedAt: r.StoppedAt, StoppedBy: r.StoppedBy.Name(), StoppedByIssuer: r.StoppedBy.Issuer(), Reason: r.Reason,
		ResumedAt: r.ResumedAt, ResumedBy: resumedBy, ResumedByIssuer: issuer, ResumeReason: r.ResumeReason, Acknowledged: r.Acknowledged,
	}
}

// StopRequest stops the release of payouts.
type StopRequest struct {
	Reason string // private
}

// ResumeRequest resumes the release of payouts.
type ResumeRequest struct {
	Reason      string // private
	Acknowledge bool   // resume although invariants are violated; these violations then stop nothing any more
}

// ReleasesStopped is the result of StopReleases.
type ReleasesStopped struct {
	Stop *ReleaseStop
	// Leaving lists what may still reach a rail because its sender did not end in time;
	// nil if all sends have ended.
	Leaving *Leaving
}

// StopReleases prevents every send of a payout until ResumeReleases. No later send
// begins; it waits up to a minute for earlier sends, and returns those that have not
// ended. A repeated request waits again. Operators only. Errors: validation_failed,
// state_conflict.
func (s *Service) StopReleases(ctx context.Context, actor actor.Actor, in StopRequest) (*ReleasesStopped, error) {
	stop, err := ChangeStop(ctx, s.Store, actor, in.Reason, func(ctx context.Context, tx *store.Tx, standing *StopRow) (*StopRow, error) {
		if standing != nil {
			return nil, apperr.Fail(apperr.CodeStateConflict, "Releases are stopped already, since %s.", standing.StoppedAt.Format(time.RFC3339))
		}
		row := &StopRow{ID: store.NewID(), StoppedAt: tx.Now, StoppedBy: actor.PersonID(), Reason: in.Reason}
		if err := InsertStop(ctx, tx, row); err != nil {
			return nil, err
		}
		return row, tx.StoreResponse(store.StatusOK, "", &ReleasesStopped{Stop: row.ToRecord()})
	})
	var first *store.Replay
	if err != nil && !errors.As(err, &first) {
		return nil, err
	}
	left, waited := s.waitForSends(ctx)
	if waited != nil || first == nil {
		return &ReleasesStopped{stop, left}, waited
	}
	return nil, withLeaving(first, left)
}

// withLeaving adds the orders leaving now to the stored response of a stop.
func withLeaving(r *store.Replay, left *Leaving) error {
	again, answer := *r, new(ReleasesStopped)
	err := wire.Decode(r.Body, answer)
	if err == nil {
		answer.Leaving = left
		again.Body, err = wire.Encode(answer)
	}
	if err != nil {
		return fmt.Errorf("answer a stop again: %w", err)
	}
	return &again
}

// ChangeStop runs an operator's change of the stop in a transaction.
func ChangeStop(ctx context.Context, s *store.Store, caller actor.Actor, reason string, do func(context.Context, *store.Tx, *StopRow) (*StopRow, error)) (*ReleaseStop, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	v := apperr.Validator{}
	audit.RequireNote(&v, &reason, "/reason")
	if len(v.FieldErrors) > 0 {
		return nil, apperr.Invalid(v.FieldErrors...)
	}
	var stop *ReleaseStop
	err := s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		standing, err := LockActiveStop(ctx, tx)
		if err != nil {
			return err
		}
		row, err := do(ctx, tx, standing)
		if err != nil {
			return err
		}
		stop = row.ToRecord()
		tx.Describe("", "", &reason)
		return nil
	})
	return stop, err
}

// InsertStop begins a stop; it ends an unfinished resumption.
func InsertStop(ctx context.Context, tx *store.Tx, row *StopRow) error {
	if err := store.InsertRows(ctx, tx, row); err != nil {
		return err
	}
	return stopResumption(ctx, tx)
}

// LockActiveStop locks the active stop; nil if there is none. A constraint of the table
// makes the second of two concurrent stops fail.
func LockActiveStop(ctx context.Context, tx *store.Tx) (*StopRow, error) {
	row := new(StopRow)
	err := tx.NewSelect().Model(row).Where("rs.resumed_at is null").For("UPDATE").Scan(ctx)
	if store.IsNoRows(err) {
		return nil, nil //nolint:nilnil // no stop is active
	}
	return row, err
}

// QueueStopCheck queues a read of whether releases are stopped. An intent that misses a
// stop holds a lock for which the stop waits.
func QueueStopCheck(tx *store.Tx, stopped *bool) {
	tx.Batch.Queue(lockIntentSQL)
	tx.Batch.Queue(isStoppedSQL).QueryRow(func(row pgx.Row) error { return row.Scan(stopped) })
}

// DescribeViolations lists the violated invariants that are not acknowledged; empty if
// there are none.
func DescribeViolations(ctx context.Context, tx *store.Tx) (text string, err error) {
	err = tx.NewRaw(`select coalesce(string_agg(format('%s of %s records', says, n), '; ' order by name), '') from (
		select v.name, v.name || coalesce(' (' || rtrim(obj_description(to_regclass(v.name), 'pg_class'), '.') || ')', '') as says, count(*) as n
		from invariant_violations v where v.acknowledged_at is null group by v.name) as violated`).Scan(ctx, &text)
	if err != nil {
		return "", fmt.Errorf("read violations: %w", err)
	}
	if text != "" {
		text += "."
	}
	return text, nil
}

// stopOnViolation stops releases when an unacknowledged invariant violation exists.
func stopOnViolation(ctx context.Context, tx *store.Tx) error {
	violated, err := DescribeViolations(ctx, tx)
	if err != nil || violated == "" {
		return err
	}
	if standing, err := LockActiveStop(ctx, tx); err != nil || standing != nil {
		return err
	}
	_, err = tx.NewInsert().Model(&StopRow{ID: store.NewID(), StoppedAt: tx.Now, StoppedBy: tx.Actor.PersonID(), Reason: "An invariant is violated: " + violated}).
		On("conflict do nothing").Exec(ctx)
	if err != nil {
		return fmt.Errorf("stop releases: %w", err)
	}
	return stopResumption(ctx, tx)
}

// AreReleasesStopped reports whether the release of payouts is stopped now, for senders
// that send after the release, such as file writers.
func (s *Service) AreReleasesStopped(ctx context.Context) (stopped bool, err error) {
	err = s.DB.NewRaw("select exists (select from release_stops where resumed_at is null)").Scan(ctx, &stopped)
	return stopped, store.TranslateError(err)
}

// Reasons why a due payout waits.
const (
	StoppedSentence     = "Parapet has stopped sending payouts for the moment; this one is sent when it resumes."
	SuspectLineSentence = "The rail reports an unknown payment for the policy; this payout waits until an operator has clarified it."
)

// PostponePayout makes a due payout wait for the end of a stop, or of its policy's
// suspect lines, and adds the reason to the timeline.
func PostponePayout(tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow, sentence string) error {
	row.NextAttemptAt = nil
	tx.BumpVersion(&row.RowHeader)
	return payouts.RecordPayoutEvent(tx, claim, row, payouts.LedgerTransfer(row), event.PayoutUpdated, sentence)
}
